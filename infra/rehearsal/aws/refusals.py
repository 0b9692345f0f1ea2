"""What AWS says when it refuses: an error code and a sentence, as the real provider shows them."""

from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from infra.errors import GangwayError


class AwsError(GangwayError):
    """A refusal of an AWS call."""

    def __init__(self, *, operation: str, code: str, reason: str) -> None:
        super().__init__(f"{operation}: {code}: {reason}")
        self.operation = operation
        self.code = code
        self.reason = reason


class NotReadyError(GangwayError):
    """AWS made the resource, but it did not come up in time; it exists and is kept in the state."""

    def __init__(self, resource_id: str, outputs: Mapping[str, Any], reason: str) -> None:
        super().__init__(reason)
        self.resource_id = resource_id
        self.outputs = outputs
        self.reason = reason


def from_client(error: ClientError) -> AwsError:
    """Return moto's refusal in the same shape as ours."""
    details = error.response.get("Error", {})
    return AwsError(
        operation=error.operation_name,
        code=details.get("Code", "Unknown"),
        reason=details.get("Message", str(error)),
    )


def is_absent(error: ClientError) -> bool:
    """Return whether the refusal says that the thing is not there."""
    code = str(error.response.get("Error", {}).get("Code", ""))
    words = ("NotFound", "NoSuch", "404")
    return any(word in code for word in words)
