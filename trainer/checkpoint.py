"""Checkpoints in S3: written whole, found again by step, and only believed when complete.

An object is one line of JSON (format, step, payload's size and SHA-256, the caller's notes) and
the payload. S3 shows an object whole or not at all; size and hash catch whatever else can go
wrong, and a checkpoint that fails them is skipped for the one before it.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from trainer.exits import StorageError
from trainer.storage import Storage

FORMAT: Final = "gangway-checkpoint-1"
STEP: Final = re.compile(r"/step-(\d{10})\.ckpt$")


class MalformedCheckpointError(Exception):
    """The object is not a complete checkpoint."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Checkpoint:
    """A state to resume from: the step it was taken after, the caller's notes, the payload."""

    key: str
    notes: Mapping[str, Any]
    payload: bytes
    step: int


@dataclass(slots=True)
class Checkpoints:
    """The checkpoints of one job; a new job of the same name starts afresh."""

    storage: Storage
    job_name: str
    job_uid: str
    skipped: list[dict[str, str]] = field(default_factory=list)
    """Objects that were not complete, each with the reason."""

    @property
    def folder(self) -> str:
        """Where this job keeps what a restart needs."""
        return f"{self.storage.prefix}checkpoints/{self.job_name}/{self.job_uid}"

    def save(self, step: int, payload: bytes, notes: Mapping[str, Any] | None = None) -> str:
        """Write the state after `step` and return its key."""
        key = f"{self.folder}/step-{step:010d}.ckpt"
        self.storage.put(key, pack(step, payload, notes or {}))
        return key

    def latest(self) -> Checkpoint | None:
        """Return the newest complete checkpoint, or None; malformed ones are noted and skipped."""
        found = [key for key in self.storage.keys(f"{self.folder}/step-") if STEP.search(key)]
        for key in sorted(found, reverse=True):
            body = self.storage.get(key)
            try:
                return unpack(key, body or b"")
            except MalformedCheckpointError as error:
                self.skipped.append({"key": key, "reason": str(error)})
        return None

    def note(self, name: str, document: Mapping[str, Any]) -> None:
        """Keep a small JSON document beside the checkpoints."""
        body = json.dumps(document, sort_keys=True).encode()
        self.storage.put(f"{self.folder}/{name}.json", body, "application/json")

    def read_note(self, name: str) -> dict[str, Any] | None:
        """Read a document that `note` kept, or None."""
        body = self.storage.get(f"{self.folder}/{name}.json")
        if body is None:
            return None
        try:
            document = json.loads(body)
        except ValueError as error:
            message = f"{self.folder}/{name}.json is not JSON"
            raise StorageError(message) from error
        return document if isinstance(document, dict) else None

    def note_names(self, under: str) -> list[str]:
        """List the names of the kept documents that start with `under`."""
        start = f"{self.folder}/"
        keys = self.storage.keys(start + under)
        return [key.removeprefix(start).removesuffix(".json") for key in keys]


def pack(step: int, payload: bytes, notes: Mapping[str, Any]) -> bytes:
    """Put header and payload into one body."""
    header = {
        "format": FORMAT,
        "notes": dict(notes),
        "sha256": hashlib.sha256(payload).hexdigest(),
        "size": len(payload),
        "step": step,
    }
    return json.dumps(header, sort_keys=True).encode() + b"\n" + payload


def unpack(key: str, body: bytes) -> Checkpoint:
    """Take a body apart, or raise MalformedCheckpointError saying what is wrong with it."""
    first, _, payload = body.partition(b"\n")
    try:
        header = json.loads(first)
        wanted = (header["format"], header["size"], header["sha256"])
        step, notes = int(header["step"]), dict(header["notes"])
    except (ValueError, KeyError, TypeError) as error:
        message = "its header is not that of a checkpoint"
        raise MalformedCheckpointError(message) from error
    if wanted[0] != FORMAT:
        message = f"its format is {wanted[0]!r}, not {FORMAT!r}"
    elif wanted[1] != len(payload):
        message = f"it holds {len(payload)} of {wanted[1]} bytes"
    elif wanted[2] != hashlib.sha256(payload).hexdigest():
        message = "its bytes do not match its hash"
    else:
        return Checkpoint(key=key, notes=notes, payload=payload, step=step)
    raise MalformedCheckpointError(message)
