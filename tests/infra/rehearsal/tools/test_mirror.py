from pathlib import Path

import pytest

from infra.rehearsal.tools.mirror import MirrorFile, parse_sums
from infra.rehearsal.tools.model import SourceError
from infra.rehearsal.tools.settings import Machine
from infra.rehearsal.tools.web import Web
from tests.support.tools import Reply, SilentStep, sha256, tar_of, tiny_web, workshop_in

ARCHIVE = tar_of({"./thing": b"program", "./beside.json": b"{}"}, "w:xz")


def mirror_in(folder: Path, content: bytes = ARCHIVE, listed: str = "") -> Path:
    mirror = folder / "mirror"
    (mirror / "bin").mkdir(parents=True)
    (mirror / "bin" / "thing.tar.xz").write_bytes(content)
    line = listed or f"{sha256(content)}  bin/thing.tar.xz\n"
    (mirror / "SHA256SUMS").write_text(line, encoding="utf-8")
    return mirror


def source(**changes: object) -> MirrorFile:
    values: dict[str, object] = {
        "path": "bin/thing.tar.xz",
        "sha256": sha256(ARCHIVE),
        "entry": "thing",
        "members": ("thing", "beside.json"),
        **changes,
    }
    return MirrorFile(**values)  # type: ignore[arg-type]


def fetched(folder: Path, mirror: Path | str, web: Web | None = None) -> Path:
    target = folder / "target"
    target.mkdir()
    source().fetch(target, workshop_in(folder, mirror=mirror, web=web), SilentStep())
    return target


def test_gives_every_member_of_an_archive(tmp_path: Path) -> None:
    target = fetched(tmp_path, mirror_in(tmp_path))
    assert (target / "thing").read_bytes() == b"program"
    assert (target / "beside.json").read_bytes() == b"{}"


def test_places_a_file_that_is_the_tool_itself(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    source(members=()).fetch(tmp_path, workshop_in(tmp_path, mirror=mirror), SilentStep())
    assert (tmp_path / "thing").read_bytes() == ARCHIVE


@pytest.mark.enable_socket
def test_a_mirror_may_be_served_over_http(tmp_path: Path) -> None:
    sums = f"{sha256(ARCHIVE)}  bin/thing.tar.xz\n".encode()
    routes = {"/SHA256SUMS": Reply(sums), "/bin/thing.tar.xz": Reply(ARCHIVE)}
    with tiny_web(routes) as web:
        target = fetched(tmp_path, web.url, Web())
    assert (target / "thing").read_bytes() == b"program"


def refusal(folder: Path, mirror: Path | str | None, **changes: object) -> str:
    with pytest.raises(SourceError) as caught:
        source(**changes).probe(workshop_in(folder, mirror=mirror))
    return str(caught.value)


def test_rejects_having_no_mirror(tmp_path: Path) -> None:
    assert refusal(tmp_path, None) == "no mirror (set GANGWAY_MIRROR)"


def test_rejects_a_file_that_the_sums_do_not_list(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path, listed="00  bin/other\n")
    assert refusal(tmp_path, mirror).endswith("/SHA256SUMS does not list bin/thing.tar.xz")


def test_rejects_a_listed_file_that_is_not_there(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    (mirror / "bin" / "thing.tar.xz").unlink()
    assert refusal(tmp_path, mirror).endswith("is listed in SHA256SUMS but not there")


def test_rejects_a_mirror_whose_sum_is_not_the_pinned_one(tmp_path: Path) -> None:
    said = refusal(tmp_path, mirror_in(tmp_path), sha256="0" * 64)
    assert said.endswith("gives bin/thing.tar.xz another sum than the pinned one")


def test_rejects_a_file_that_was_altered(tmp_path: Path) -> None:
    mirror = mirror_in(tmp_path)
    (mirror / "bin" / "thing.tar.xz").write_bytes(ARCHIVE[:-1])
    with pytest.raises(SourceError, match=r"bin/thing\.tar\.xz differs from its checksum"):
        fetched(tmp_path, mirror)


def test_rejects_an_unreachable_mirror(tmp_path: Path) -> None:
    said = refusal(tmp_path, "https://mirror.example.org")
    assert said == (
        "the mirror https://mirror.example.org cannot be read "
        "(mirror.example.org cannot be reached (offline))"
    )


def test_rejects_a_machine_that_it_carries_nothing_for(tmp_path: Path) -> None:
    mac = Machine(system="darwin", architecture="arm64")
    with pytest.raises(SourceError, match="carries linux/amd64 only, this is darwin/arm64"):
        source().probe(workshop_in(tmp_path, mirror=mirror_in(tmp_path), machine=mac))


def test_what_runs_anywhere_is_given_to_any_machine(tmp_path: Path) -> None:
    mac = Machine(system="darwin", architecture="arm64")
    workshop = workshop_in(tmp_path, mirror=mirror_in(tmp_path), machine=mac)
    assert source(any_machine=True).probe(workshop).endswith("bin/thing.tar.xz")


def test_reads_sums_of_any_sha256sum_style() -> None:
    assert parse_sums("AA  ./a\nbb *b\n\nbroken\n") == {"a": "aa", "b": "bb"}
