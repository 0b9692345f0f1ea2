import errno
import threading
from pathlib import Path

import pytest

from infra.errors import GangwayError, MissingToolError
from infra.rehearsal.tools.model import Tool
from infra.rehearsal.tools.resolve import Resolver, link_programs
from tests.support.tools import Listener, StubSource, nowhere, tool_of, workshop_in


def resolver(folder: Path, *tools: Tool, listener: Listener | None = None) -> Resolver:
    return Resolver(
        workshop=workshop_in(folder),
        reporter=listener or Listener(),
        catalogue={tool.name: tool for tool in tools},
        which=nowhere,
    )


def test_a_tool_is_got_once_and_then_kept(tmp_path: Path) -> None:
    source = StubSource()
    for _ in range(2):
        paths = resolver(tmp_path, tool_of(source)).resolve(["thing"])
    assert paths["thing"].read_bytes() == b"program"
    assert source.fetched == 1


def test_an_altered_tool_is_got_anew(tmp_path: Path) -> None:
    source = StubSource()
    path = resolver(tmp_path, tool_of(source)).resolve(["thing"])["thing"]
    path.write_bytes(b"pro")
    again = resolver(tmp_path, tool_of(source)).resolve(["thing"])["thing"]
    assert again.read_bytes() == b"program"
    assert source.fetched == 2


def test_a_source_that_fails_on_the_way_gives_way_to_the_next(tmp_path: Path) -> None:
    broken, listener = StubSource(kind="release", failure="the line broke"), Listener()
    tool = tool_of(broken, StubSource(kind="build", content=b"built"))
    paths = resolver(tmp_path, tool, listener=listener).resolve(["thing"])
    assert paths["thing"].read_bytes() == b"built"
    assert listener.remarks == ["thing: release failed: the line broke"]


def test_rejects_when_every_source_fails(tmp_path: Path) -> None:
    tool = tool_of(StubSource(kind="release", failure="other bytes than published"))
    with pytest.raises(MissingToolError, match=r"thing 1\.2\.3: .*release: other bytes"):
        resolver(tmp_path, tool).resolve(["thing"])
    cache = workshop_in(tmp_path).settings.cache
    assert not (cache / "thing").exists()
    assert list((cache / ".partial").iterdir()) == []


def test_rejects_missing_tools_before_getting_any(tmp_path: Path) -> None:
    slow = StubSource()
    tools = tool_of(slow, name="slow"), tool_of(StubSource(refusal="gone"), name="missing")
    with pytest.raises(MissingToolError, match="1 tool of the rehearsal cannot be had"):
        resolver(tmp_path, *tools).resolve(["slow", "missing"])
    assert slow.fetched == 0


def test_an_interrupted_download_leaves_nothing_and_the_next_run_gets_it(tmp_path: Path) -> None:
    def interrupt() -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolver(tmp_path, tool_of(StubSource(while_fetching=interrupt))).resolve(["thing"])
    cache = workshop_in(tmp_path).settings.cache
    assert list(cache.rglob("thing")) == []
    path = resolver(tmp_path, tool_of(StubSource())).resolve(["thing"])["thing"]
    assert path.read_bytes() == b"program"


def test_two_runs_at_once_get_a_tool_once(tmp_path: Path) -> None:
    gate = threading.Barrier(2, timeout=5)
    waiting = threading.Event()
    source = StubSource(while_fetching=lambda: assert_waited(waiting))
    found: list[Path] = []

    class Second(Listener):
        def remark(self, text: str) -> None:
            waiting.set()

    def run() -> None:
        gate.wait()
        found.append(
            resolver(tmp_path, tool_of(source), listener=Second()).resolve(["thing"])["thing"]
        )

    threads = [threading.Thread(target=run) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=10)
    assert found == [found[0], found[0]]
    assert source.fetched == 1


def assert_waited(event: threading.Event) -> None:
    assert event.wait(timeout=5)


def test_rejects_a_source_that_gives_something_else(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="stub: it gave no thing"):
        resolver(tmp_path, tool_of(StubSource(entry="other"))).resolve(["thing"])


def test_rejects_a_cache_that_cannot_be_a_folder(tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("in the way", encoding="utf-8")
    with pytest.raises(
        GangwayError, match=r"the tool cache \S+/tools cannot be used: .*set GANGWAY_CACHE to"
    ):
        resolver(tmp_path, tool_of(StubSource())).resolve(["thing"])


def test_rejects_a_cache_that_cannot_be_written(tmp_path: Path) -> None:
    def refuse() -> None:
        raise PermissionError(errno.EACCES, "Permission denied", "/cache/tools/thing")

    with pytest.raises(GangwayError) as caught:
        resolver(tmp_path, tool_of(StubSource(while_fetching=refuse))).resolve(["thing"])
    assert str(caught.value) == (
        f"the tool cache {tmp_path}/cache/tools cannot be used: Permission denied "
        "(at /cache/tools/thing); set GANGWAY_CACHE to a folder that can be written"
    )
    assert caught.value.exit_code == 1


def test_rejects_a_disk_that_fills_up_on_the_way(tmp_path: Path) -> None:
    def fill() -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(GangwayError, match=r"No space left on device; free some space there"):
        resolver(tmp_path, tool_of(StubSource(while_fetching=fill))).resolve(["thing"])
    assert list(workshop_in(tmp_path).settings.cache.rglob("thing")) == []


def test_rejects_too_little_space_before_getting_any(tmp_path: Path) -> None:
    source = StubSource()
    small = Resolver(
        workshop=workshop_in(tmp_path),
        reporter=Listener(),
        catalogue={"thing": tool_of(source)},
        which=nowhere,
        free_bytes=lambda _: 1_500_000,
    )
    with pytest.raises(GangwayError, match=r"has 1 MB free, 2 MB are needed: free some, or set"):
        small.resolve(["thing"])
    assert source.fetched == 0


def test_the_answer_keeps_the_order_of_the_names(tmp_path: Path) -> None:
    tools = [tool_of(StubSource(entry=name), name=name) for name in ("a", "b")]
    assert list(resolver(tmp_path, *tools).resolve(["b", "a"])) == ["b", "a"]


def test_programs_are_linked_under_their_tool_names(tmp_path: Path) -> None:
    program = tmp_path / "pulumi-3"
    program.write_bytes(b"program")
    for _ in range(2):
        link_programs({"pulumi": program}, tmp_path / "bin")
    assert (tmp_path / "bin" / "pulumi").resolve() == program
