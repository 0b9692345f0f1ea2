"""The state folder of one rehearsal: what runs, where, and who drives it."""

import contextlib
import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from filelock import FileLock, Timeout

from infra.errors import GangwayError, UsageError

SCHEMA_VERSION: Final = 1
STATE_FILE: Final = "rehearsal.json"
DEFAULT_ROOT: Final = Path(".gangway/rehearsals")

NAME: Final = re.compile(r"[a-z0-9]([a-z0-9-]{0,38}[a-z0-9])?")


class OlderStateError(GangwayError):
    """The state folder was written by another version of this program."""


class BusyError(GangwayError):
    """Another process drives the same rehearsal."""


class StateFolder:
    """Paths below one rehearsal's folder and its `rehearsal.json`.

    The document holds a live token, so it is readable by its owner only. Every write replaces the
    file in one step; several processes may merge sections at the same time.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()

    @classmethod
    def named(cls, name: str, root: Path = DEFAULT_ROOT) -> "StateFolder":
        """The folder of the rehearsal called `name`, which need not exist yet."""
        if not NAME.fullmatch(name):
            message = (
                f"rehearsal name {name!r} is not usable: give 1 to 40 lower-case letters, digits "
                "or dashes, for example dev"
            )
            raise UsageError(message)
        return cls(root / name)

    @property
    def name(self) -> str:
        """The rehearsal's name: its folder's."""
        return self.path.name

    @property
    def down_command(self) -> str:
        """What a user types to take this rehearsal away, whatever state it is in."""
        return f"gangway rehearse down --force --name {self.name}"

    @property
    def exists(self) -> bool:
        """Whether something was written here and not taken away since."""
        return self.document_path.exists()

    @property
    def document_path(self) -> Path:
        """Path of `rehearsal.json`."""
        return self.path / STATE_FILE

    def folder(self, name: str) -> Path:
        """A folder of the rehearsal (`kwok`, `aws`, `logs`, `pods`, ...), made when missing."""
        folder = self.path / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GangwayError(write_failure(folder, error)) from error
        return folder

    def document(self) -> dict[str, Any]:
        """The content of `rehearsal.json`; empty when there is none.

        Raises OlderStateError when another schema version wrote it.
        """
        try:
            document: dict[str, Any] = json.loads(self.document_path.read_text(encoding="utf-8"))
            found = document.get("schema_version")
        except FileNotFoundError:
            return {}
        except (AttributeError, ValueError) as error:
            message = (
                f"{self.document_path} is not readable ({error}); `{self.down_command}` clears it"
            )
            raise OlderStateError(message) from error
        if found != SCHEMA_VERSION:
            message = (
                f"rehearsal {self.name} was written with state schema {found}, this version reads "
                f"{SCHEMA_VERSION}: run `{self.down_command}` and start again"
            )
            raise OlderStateError(message)
        return document

    def section(self, name: str) -> dict[str, Any]:
        """One section of the document, for example `kubernetes`; empty when not written yet."""
        section: dict[str, Any] = self.document().get(name, {})
        return section

    def merge(self, **sections: Any) -> None:
        """Write the given top-level sections, keep the others."""
        self.folder(".")
        try:
            with FileLock(self.path / f"{STATE_FILE}.lock", timeout=30):
                document = self.document() or {"schema_version": SCHEMA_VERSION, "name": self.name}
                write_atomically(self.document_path, json.dumps(document | sections, indent=2))
        except OSError as error:
            raise GangwayError(write_failure(self.document_path, error)) from error

    @contextlib.contextmanager
    def driven(self) -> Iterator[None]:
        """Hold the rehearsal for one driver; a second one is refused with the first one's pid."""
        self.folder(".")
        holder = self.path / "driver.pid"
        lock = FileLock(self.path / "driver.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout as error:
            pid = holder.read_text(encoding="utf-8").strip() if holder.exists() else "unknown"
            message = (
                f"rehearsal {self.name} is being driven by process {pid}: wait until it ends, or "
                "take another name"
            )
            raise BusyError(message) from error
        try:
            write_atomically(holder, str(os.getpid()))
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()


def write_atomically(path: Path, text: str) -> None:
    """Replace the file's content in one step; only the owner may read it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}.draft")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_failure(path: Path, error: OSError) -> str:
    """A sentence about a folder or file that cannot be written."""
    return (
        f"cannot write {path} ({error.strerror}): free space there, or name a folder that can be "
        "written in GANGWAY_REHEARSALS, then run the command again"
    )
