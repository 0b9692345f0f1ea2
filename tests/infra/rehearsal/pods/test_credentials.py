from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
import urllib3

from infra.errors import GangwayError
from infra.rehearsal.pods.credentials import CredentialServer
from tests.infra.rehearsal.pods.test_variables import POD

pytestmark = pytest.mark.enable_socket

ROLES = {("training", "trainer"): "arn:aws:iam::123456789012:role/trainer"}


def _assume(role: str, session: str) -> Mapping[str, str]:
    if session.endswith("refused"):
        message = "AccessDenied"
        raise GangwayError(message)
    return {"AccessKeyId": role, "SecretAccessKey": session, "Token": "t", "Expiration": "e"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[CredentialServer]:
    server = CredentialServer(tmp_path, lambda *key: ROLES.get(key), _assume)
    server.start()
    yield server
    server.stop()


def _ask(variables: Mapping[str, str], token: str | None = None) -> urllib3.BaseHTTPResponse:
    own = Path(variables["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"]).read_text(encoding="utf-8")
    return urllib3.request(
        "GET",
        variables["AWS_CONTAINER_CREDENTIALS_FULL_URI"],
        headers={"Authorization": token or own},
    )


def test_a_pod_gets_the_credentials_of_its_accounts_role(server: CredentialServer) -> None:
    answer = _ask(server.variables(POD))
    assert answer.status == 200
    assert answer.json()["AccessKeyId"] == "arn:aws:iam::123456789012:role/trainer"
    assert answer.json()["SecretAccessKey"] == "eks-gang-train-master-0"


def test_a_pod_without_an_association_gets_nothing(server: CredentialServer) -> None:
    other = {**POD, "spec": {**POD["spec"], "serviceAccountName": "default"}}
    assert server.variables(other) == {}


def test_rejects_a_token_that_is_no_pods(server: CredentialServer) -> None:
    answer = _ask(server.variables(POD), "guessed")
    assert (answer.status, answer.json()["message"][:6]) == (403, "no pod")


def test_a_refusal_of_aws_reaches_the_pod(server: CredentialServer) -> None:
    refused = {**POD, "metadata": {**POD["metadata"], "name": "refused"}}
    answer = _ask(server.variables(refused))
    assert (answer.status, answer.json()["message"]) == (500, "AccessDenied")
