"""Taking single files out of archives, never a path that the archive chooses."""

import gzip
import hashlib
import shutil
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import IO

from infra.rehearsal.tools.model import SourceError

_EXECUTABLE = 0o755


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in lower-case hex."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def place_file(source: Path, target: Path) -> None:
    """Copy a program as it is."""
    shutil.copyfile(source, target)
    target.chmod(_EXECUTABLE)


def unpack_members(archive: Path, members: Mapping[str, str], folder: Path) -> None:
    """Write each archive member of `members` (member: file name) into `folder`.

    Takes .tar (any compression Python reads) and .zip; raises SourceError for a member that is
    not there or an archive that cannot be read.
    """
    try:
        left = (
            _from_zip(archive, dict(members), folder)
            if zipfile.is_zipfile(archive)
            else (_from_tar(archive, dict(members), folder))
        )
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, gzip.BadGzipFile) as error:
        message = f"{archive.name} is no readable archive ({error})"
        raise SourceError(message) from error
    if left:
        message = f"{archive.name} holds no {', '.join(sorted(left))}"
        raise SourceError(message)


def _from_tar(archive: Path, wanted: dict[str, str], folder: Path) -> dict[str, str]:
    with tarfile.open(archive, "r:*") as tar:
        for member in tar:
            name = wanted.pop(_plain(member.name), None) if member.isfile() else None
            content = tar.extractfile(member) if name else None
            if name and content:
                _write(content, folder / name)
            if not wanted:
                break
    return wanted


def _from_zip(archive: Path, wanted: dict[str, str], folder: Path) -> dict[str, str]:
    with zipfile.ZipFile(archive) as packed:
        for info in packed.infolist():
            name = wanted.pop(_plain(info.filename), None)
            if name:
                with packed.open(info) as content:
                    _write(content, folder / name)
    return wanted


def _write(content: IO[bytes], target: Path) -> None:
    with content, target.open("wb") as file:
        shutil.copyfileobj(content, file, 1 << 20)
    target.chmod(_EXECUTABLE)


def _plain(name: str) -> str:
    return name.removeprefix("./").lstrip("/")
