"""The tool cache: finished tools by name and version, each with a receipt that vouches for it."""

import json
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Final

from filelock import FileLock, Timeout

from infra.rehearsal.tools.archive import sha256_of
from infra.rehearsal.tools.model import Reporter, Tool

RECEIPT: Final = ".receipt.json"


@dataclass(frozen=True, kw_only=True, slots=True)
class CachedTool:
    """A tool found whole in the cache."""

    path: Path
    version: str
    origin: str
    needs: str | None


class ToolCache:
    """`<root>/<name>/<version>/<file>`, written by rename only, so never half."""

    def __init__(self, root: Path):
        self.root = root

    def find(self, tool: Tool) -> CachedTool | None:
        """Return the tool if a version that will do is there and unaltered."""
        found = (self._whole(tool, version) for version in tool.versions())
        return next(filter(None, found), None)

    def altered(self, tool: Tool) -> bool:
        """Tell whether the cache holds the tool, but not as it was put there."""
        return self.find(tool) is None and any(
            self._folder(tool, version).exists() for version in tool.versions()
        )

    @contextmanager
    def workplace(self, tool: Tool, version: str, origin: str, needs: str | None) -> Iterator[Path]:
        """Give an empty folder whose files become the tool when the block ends well."""
        folder = self._new_partial()
        try:
            yield folder
            self._seal(folder, origin, needs)
            self._publish(folder, self._folder(tool, version))
        finally:
            shutil.rmtree(folder, ignore_errors=True)

    @contextmanager
    def lock(self, tool: Tool, reporter: Reporter) -> Iterator[None]:
        """Hold the tool against other runs; says so when it has to wait for one."""
        locks = self.root / ".locks"
        locks.mkdir(parents=True, exist_ok=True)
        lock = FileLock(locks / f"{tool.name}.lock")
        try:
            lock.acquire(timeout=0)
        except Timeout:
            reporter.remark(f"{tool.name}: another run is getting it, waiting for that")
            lock.acquire()
        try:
            yield
        finally:
            lock.release()

    def sweep(self) -> None:
        """Remove what killed runs left half done."""
        for folder in (self.root / ".partial").glob("run-*"):
            owner = folder.name.split("-")[1]
            if owner.isdigit() and not _is_alive(int(owner)):
                shutil.rmtree(folder, ignore_errors=True)

    def _new_partial(self) -> Path:
        parent = self.root / ".partial"
        parent.mkdir(parents=True, exist_ok=True)
        return Path(mkdtemp(prefix=f"run-{os.getpid()}-", dir=parent))

    def _folder(self, tool: Tool, version: str) -> Path:
        return self.root / tool.name / version

    def _whole(self, tool: Tool, version: str) -> CachedTool | None:
        folder = self._folder(tool, version)
        receipt = _read_receipt(folder)
        files = receipt.get("files", {})
        if tool.entry not in files:
            return None
        changed = [name for name, seal in files.items() if not _untouched(folder / name, seal)]
        if not all(_same_content(folder / name, files[name]) for name in changed):
            return None
        return CachedTool(
            path=folder / tool.entry,
            version=version,
            origin=str(receipt.get("origin", "")),
            needs=receipt.get("needs"),
        )

    @staticmethod
    def _seal(folder: Path, origin: str, needs: str | None) -> None:
        files = {path.name: _seal_of(path) for path in sorted(folder.iterdir())}
        receipt = {"files": files, "needs": needs, "origin": origin}
        (folder / RECEIPT).write_text(json.dumps(receipt, indent=2) + "\n", encoding="utf-8")

    def _publish(self, folder: Path, target: Path) -> None:
        target.parent.mkdir(parents=True, exist_ok=True)
        if target.exists():
            retired = self._new_partial()
            target.rename(retired / "old")
            folder.rename(target)
            shutil.rmtree(retired, ignore_errors=True)
        else:
            folder.rename(target)


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _seal_of(path: Path) -> dict[str, Any]:
    return {"sha256": sha256_of(path), **_stamp(path)}


def _stamp(path: Path) -> dict[str, int]:
    status = path.stat()
    return {
        "ctime_ns": status.st_ctime_ns,
        "inode": status.st_ino,
        "mtime_ns": status.st_mtime_ns,
        "size": status.st_size,
    }


def _untouched(path: Path, seal: dict[str, Any]) -> bool:
    """No write since the seal: the kernel moves ctime at every one, and nobody can set it."""
    try:
        return _stamp(path).items() <= seal.items()
    except OSError:
        return False


def _same_content(path: Path, seal: dict[str, Any]) -> bool:
    try:
        same_size = path.stat().st_size == seal["size"]
        return bool(same_size and sha256_of(path) == seal["sha256"])
    except (OSError, KeyError):
        return False


def _read_receipt(folder: Path) -> dict[str, Any]:
    try:
        receipt = json.loads((folder / RECEIPT).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return receipt if isinstance(receipt, dict) else {}
