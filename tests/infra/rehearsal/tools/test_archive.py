import zipfile
from pathlib import Path

import pytest

from infra.rehearsal.tools.archive import place_file, sha256_of, unpack_members
from infra.rehearsal.tools.model import SourceError
from tests.support.tools import sha256, tar_of


def written(folder: Path, content: bytes) -> Path:
    path = folder / "archive"
    path.write_bytes(content)
    return path


@pytest.mark.parametrize("mode", ["w", "w:gz", "w:xz", "w:bz2"])
def test_takes_members_from_a_tar_of_any_compression(tmp_path: Path, mode: str) -> None:
    archive = written(tmp_path, tar_of({"./a/tool": b"1", "other": b"2"}, mode))
    unpack_members(archive, {"a/tool": "tool"}, tmp_path)
    assert (tmp_path / "tool").read_bytes() == b"1"
    assert (tmp_path / "tool").stat().st_mode & 0o111
    assert not (tmp_path / "other").exists()


def test_takes_members_from_a_zip(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "archive", "w") as packed:
        packed.writestr("bin/tool", "1")
    unpack_members(tmp_path / "archive", {"bin/tool": "tool"}, tmp_path)
    assert (tmp_path / "tool").read_bytes() == b"1"


def test_rejects_an_archive_without_the_member(tmp_path: Path) -> None:
    archive = written(tmp_path, tar_of({"other": b"2"}))
    with pytest.raises(SourceError, match="archive holds no tool"):
        unpack_members(archive, {"tool": "tool"}, tmp_path)


@pytest.mark.parametrize(
    "content", [b"no archive", tar_of({"tool": b"1" * 9000})[:60]], ids=["text", "cut short"]
)
def test_rejects_what_is_no_archive(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(SourceError, match="archive is no readable archive"):
        unpack_members(written(tmp_path, content), {"tool": "tool"}, tmp_path)


def test_a_placed_file_can_be_run(tmp_path: Path) -> None:
    place_file(written(tmp_path, b"1"), tmp_path / "tool")
    assert (tmp_path / "tool").stat().st_mode & 0o777 == 0o755


def test_the_sum_is_that_of_the_content(tmp_path: Path) -> None:
    assert sha256_of(written(tmp_path, b"abc")) == sha256(b"abc")
