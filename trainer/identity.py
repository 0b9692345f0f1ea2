"""Who the pod is on AWS, checked before anything is written with it."""

import re
from dataclasses import dataclass
from typing import Any, Final

from trainer.exits import ConfigurationError, NoIdentityError, StorageError
from trainer.storage import make_client, persist

DEADLINE_SECONDS: Final = 60.0
"""Pod identity is eventually consistent; credentials come within seconds of the first try."""
ASSUMED: Final = re.compile(r"^arn:aws[a-z-]*:sts::(\d{12}):assumed-role/([^/]+)/.+$")
ROLE: Final = re.compile(r"^arn:aws[a-z-]*:iam::(\d{12}):role/(?:.*/)?([^/]+)$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """The account and role that the pod's credentials belong to."""

    account: str
    role: str


def check_identity(
    expected_role_arn: str,
    region: str,
    *,
    client: Any = None,
    deadline_seconds: float = DEADLINE_SECONDS,
) -> Identity:
    """Return who the caller is, or refuse to go on as anyone but the expected role."""

    def ask() -> str:
        # A client keeps the lack of credentials that it was made with, so each try has its own.
        return str((client or make_client("sts", region)).get_caller_identity()["Arn"])

    try:
        arn = persist("asking STS who this pod is", ask, deadline_seconds=deadline_seconds)
    except StorageError as error:
        message = f"no identity as {expected_role_arn}: {error}"
        raise NoIdentityError(message) from error
    actual = role_of(arn)
    if actual is None or actual != role_of(expected_role_arn):
        message = (
            f"this pod is {arn}, expected {expected_role_arn}; it writes nothing. Check the pod "
            "identity association of its service account and the agent on its node."
        )
        raise ConfigurationError(message)
    return actual


def role_of(arn: str) -> Identity | None:
    """Read account and role name from a role's ARN or from that of a session of it."""
    match = ASSUMED.match(arn) or ROLE.match(arn)
    return Identity(account=match[1], role=match[2]) if match else None
