"""The stack's state as the engine's file backend keeps it, read without starting the engine."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra.errors import GangwayError

RELEASE: Final = "kubernetes:helm.sh/v3:Release"
OF_THE_ENGINE: Final = ("pulumi:pulumi:Stack", "pulumi:providers:")
"""Types that hold nothing in the world."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Checkpoint:
    """One stack's checkpoint in a backend folder, as it is at each look.

    Raises GangwayError naming the `remedy` when it was cut short.
    """

    backend: Path
    stack: str
    remedy: str

    @property
    def exists(self) -> bool:
        """Whether an `up` or `preview` made the stack's state."""
        return any(self._files())

    def resources(self) -> list[str]:
        """URNs that the state still holds of the world; empty without a state."""
        return [
            resource["urn"]
            for latest in self._latest()
            for resource in latest.get("resources") or ()
            if not resource["type"].startswith(OF_THE_ENGINE)
        ]

    def unfinished_releases(self) -> list[tuple[str, str]]:
        """Namespace and name of Helm releases that a killed engine was installing."""
        return [
            (inputs["namespace"], inputs["name"])
            for latest in self._latest()
            for pending in latest.get("pending_operations") or ()
            if is_unfinished_release(pending)
            for inputs in [pending["resource"]["inputs"]]
        ]

    def _latest(self) -> Iterator[Mapping[str, Any]]:
        for path in self._files():
            try:
                document = json.loads(path.read_text(encoding="utf-8"))
                yield document.get("checkpoint", {}).get("latest") or {}
            except (AttributeError, ValueError) as error:
                message = (
                    f"the stack's state {path} is not readable ({error}): `{self.remedy}` clears it"
                )
                raise GangwayError(message) from error

    def _files(self) -> Iterator[Path]:
        return (self.backend / ".pulumi" / "stacks").rglob(f"{self.stack}.json")


def is_unfinished_release(pending: Mapping[str, Any]) -> bool:
    """Whether a pending operation is a Helm release being created."""
    return bool(pending["resource"]["type"] == RELEASE and pending["type"] == "creating")
