"""Reads the API server's audit log into events: one clock, microseconds, nothing missed.

Watches and polls see states, late and merged; the audit log has each request once, with the
moment at which the one API server received it.
"""

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO, Final

from infra.errors import GangwayError
from infra.rehearsal.scenarios.events import (
    Bound,
    Created,
    Deleted,
    Ended,
    Event,
    GangRefused,
    PodName,
    Refused,
    Started,
    to_micros,
)

GANG_LABEL: Final = "gangway.dev/gang"
"""Label by which a scenario's pods name their gang."""

VOLCANO_JOB_LABEL: Final = "volcano.sh/job-name"
"""Label that Volcano puts on the pods of its jobs (volcano apis batch/v1alpha1)."""

Record = Mapping[str, Any]


class AuditLogMissingError(GangwayError):
    """The API server writes no audit log where one was expected."""


class AuditLog:
    """Follows the audit log across rotation; a line that is still being written waits.

    Starts at the log's present end, so that only what happens from now on is seen.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._rest = b""
        self._file = self._open()
        self._file.seek(0, os.SEEK_END)

    def read(self) -> list[Event]:
        """The events since the last call, in the order of the log."""
        return list(events(self._lines()))

    def close(self) -> None:
        """Give the file back."""
        self._file.close()

    def _open(self) -> BinaryIO:
        try:
            return self._path.open("rb")
        except OSError as error:
            message = (
                f"the API server's audit log {self._path} cannot be read ({error.strerror}): "
                "take the rehearsal down and up again"
            )
            raise AuditLogMissingError(message) from error

    def _lines(self) -> Iterator[bytes]:
        yield from self._complete_lines()
        if self._was_replaced():
            # The old file is read to its end first: a rename does not close it for us.
            yield from self._complete_lines()
            self._file.close()
            self._file = self._open()
            self._rest = b""
            yield from self._complete_lines()

    def _complete_lines(self) -> Iterator[bytes]:
        *lines, self._rest = (self._rest + self._file.read()).split(b"\n")
        yield from lines

    def _was_replaced(self) -> bool:
        try:
            present = self._path.stat()
        except FileNotFoundError:
            return False  # between the rename and the new file
        followed = os.fstat(self._file.fileno())
        is_another = (present.st_ino, present.st_dev) != (followed.st_ino, followed.st_dev)
        return is_another or present.st_size < self._file.tell()


def events(lines: Iterable[str | bytes]) -> Iterator[Event]:
    """The events in audit log lines; lines that are cut or tell nothing about pods give none."""
    for line in lines:
        record = _record(line)
        if record is None:
            continue
        is_accepted = record["responseStatus"]["code"] < 300  # noqa: PLR2004 - HTTP success
        for kind in _PARSERS.get(_address(record), ()):
            # The scheduler has answered even where its mark is kept from the pod, as
            # components/whole_gangs.py has it.
            event = kind(record) if is_accepted or kind is _refused else None
            if event is not None:
                yield event


def _record(line: str | bytes) -> Record | None:
    """The record of one finished request; None for anything else."""
    try:
        record = json.loads(line)
        is_done = record["stage"] == "ResponseComplete"
        int(record["responseStatus"]["code"])
        to_micros(record["requestReceivedTimestamp"])
    except (ValueError, KeyError, TypeError):
        return None
    return record if is_done else None


def _address(record: Record) -> tuple[str, str, str]:
    reference = record.get("objectRef") or {}
    return (
        str(reference.get("resource", "")),
        str(reference.get("subresource", "")),
        str(record.get("verb", "")),
    )


def _at(record: Record) -> int:
    return to_micros(record["requestReceivedTimestamp"])


def _sent(record: Record) -> Mapping[str, Any]:
    sent = record.get("requestObject")
    return sent if isinstance(sent, Mapping) else {}


def _answered(record: Record) -> Mapping[str, Any]:
    answered = record.get("responseObject")
    return answered if isinstance(answered, Mapping) else {}


def _pod(record: Record) -> PodName:
    reference = record["objectRef"]
    named = _answered(record).get("metadata") or _sent(record).get("metadata") or {}
    name = reference.get("name") or named.get("name", "")
    return PodName(namespace=reference.get("namespace", ""), name=name)


def _created(record: Record) -> Event | None:
    metadata = (_answered(record) or _sent(record)).get("metadata") or {}
    labels = metadata.get("labels") or {}
    gang = labels.get(GANG_LABEL) or labels.get(VOLCANO_JOB_LABEL) or ""
    return Created(at=_at(record), gang=gang, pod=_pod(record))


def _bound(record: Record) -> Event | None:
    node = (_sent(record).get("target") or {}).get("name", "")
    return Bound(at=_at(record), node=node, pod=_pod(record)) if node else None


def _phase(record: Record) -> Event | None:
    phase = (_sent(record).get("status") or {}).get("phase")
    if phase == "Running":
        return Started(at=_at(record), pod=_pod(record))
    if phase in ("Succeeded", "Failed"):
        return Ended(at=_at(record), pod=_pod(record), succeeded=phase == "Succeeded")
    return None


def _refused(record: Record) -> Event | None:
    for condition in (_sent(record).get("status") or {}).get("conditions") or ():
        is_placement = condition.get("type") == "PodScheduled"
        if is_placement and condition.get("status") == "False":
            message = str(condition.get("message", ""))
            return Refused(at=_at(record), message=message, pod=_pod(record))
    return None


def _gang_refused(record: Record) -> Event | None:
    body = _sent(record)
    metadata = body.get("metadata") or {}
    owners = metadata.get("ownerReferences") or ()
    gang = next((o.get("name", "") for o in owners if o.get("kind") == "Job"), "")
    message = _refusal(body.get("status") or {})
    if message is None:
        return None
    return GangRefused(
        at=_at(record),
        gang=gang or metadata.get("name", ""),
        message=message,
        namespace=record["objectRef"].get("namespace", ""),
    )


def _refusal(status: Mapping[str, Any]) -> str | None:
    """Why a pod group's status has it waiting; None when it does not say so."""
    if status.get("phase") == "Pending":
        return "not admitted to its queue yet, so its pods do not exist"
    if status.get("phase") == "Running":
        return None  # what it once was refused for stays among its conditions
    for condition in status.get("conditions") or ():
        if condition.get("type") == "Unschedulable" and condition.get("status") == "True":
            return str(condition.get("message", ""))
    return None


def _deleted(record: Record) -> Event | None:
    # A pod without a node goes at once; one with a node stays until its kubelet deletes it
    # again with no grace.
    final = _sent(record).get("gracePeriodSeconds") == 0
    return Deleted(at=_at(record), final=final, pod=_pod(record))


_PARSERS: Final[Mapping[tuple[str, str, str], tuple[Callable[[Record], Event | None], ...]]] = {
    ("pods", "", "create"): (_created,),
    ("pods", "binding", "create"): (_bound,),
    ("pods", "status", "patch"): (_phase, _refused),
    ("pods", "status", "update"): (_phase, _refused),
    ("pods", "", "delete"): (_deleted,),
    ("podgroups", "", "update"): (_gang_refused,),
    ("podgroups", "status", "update"): (_gang_refused,),
    ("podgroups", "status", "patch"): (_gang_refused,),
}
