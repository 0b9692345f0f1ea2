from typing import Any

import pytest
from botocore.exceptions import NoCredentialsError

from tests.support.pod_environment import ROLE_ARN
from trainer import identity
from trainer.exits import ConfigurationError, ExitCode, NoIdentityError
from trainer.identity import Identity, check_identity, role_of


class Sts:
    """Answers with an ARN, or fails."""

    def __init__(self, answer: str | Exception) -> None:
        self.answer = answer

    def get_caller_identity(self) -> dict[str, Any]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return {"Arn": self.answer}


def check(answer: str | Exception) -> Identity:
    return check_identity(ROLE_ARN, "us-east-1", client=Sts(answer), deadline_seconds=0.01)


def test_a_session_of_the_expected_role_is_accepted_whatever_the_roles_path() -> None:
    found = check("arn:aws:sts::123456789012:assumed-role/trainer/eks-gangway-dev-gang-train")
    assert found == Identity(account="123456789012", role="trainer")


@pytest.mark.parametrize(
    "actual",
    [
        "arn:aws:sts::123456789012:assumed-role/node/i-0abc",
        "arn:aws:sts::210987654321:assumed-role/trainer/x",
        "arn:aws:iam::123456789012:user/somebody",
        "arn:aws:iam::123456789012:root",
    ],
    ids=["node", "another account", "user", "root"],
)
def test_rejects_anyone_else_and_names_both(actual: str) -> None:
    with pytest.raises(ConfigurationError) as refusal:
        check(actual)
    assert actual in str(refusal.value)
    assert ROLE_ARN in str(refusal.value)


def test_no_credentials_within_the_deadline_is_a_cause_of_its_own() -> None:
    with pytest.raises(NoIdentityError, match=f"no identity as {ROLE_ARN}") as failure:
        check(NoCredentialsError())
    assert failure.value.exit_code is ExitCode.NO_IDENTITY


def test_credentials_that_come_late_are_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    late = "arn:aws:sts::123456789012:assumed-role/trainer/pod"
    clients = iter([Sts(NoCredentialsError()), Sts(late)])
    monkeypatch.setattr(identity, "make_client", lambda *_: next(clients))
    assert check_identity(ROLE_ARN, "us-east-1").role == "trainer"


def test_other_partitions_are_known() -> None:
    arn = "arn:aws-us-gov:sts::123456789012:assumed-role/trainer/x"
    assert role_of(arn) == Identity(account="123456789012", role="trainer")
