import json
import os
import threading
from pathlib import Path

import pytest

from infra.rehearsal.tools.cache import RECEIPT, ToolCache
from tests.support.tools import Listener, StubSource, tool_of

TOOL = tool_of(StubSource(), StubSource(version="0.9"))


def filled(folder: Path, version: str = "1.2.3", content: bytes = b"program") -> ToolCache:
    cache = ToolCache(folder / "tools")
    with cache.workplace(TOOL, version, "a test", None) as workplace:
        (workplace / "thing").write_bytes(content)
        (workplace / "beside").write_bytes(b"companion")
    return cache


def path_in(cache: ToolCache, name: str = "thing") -> Path:
    return cache.root / "thing" / "1.2.3" / name


def test_an_empty_cache_has_nothing(tmp_path: Path) -> None:
    assert ToolCache(tmp_path / "tools").find(TOOL) is None


def test_what_was_put_is_found_by_name_and_version(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    found = cache.find(TOOL)
    assert found is not None
    assert found.path == path_in(cache)
    assert (found.version, found.origin) == ("1.2.3", "a test")


def test_a_stand_in_version_is_found(tmp_path: Path) -> None:
    found = filled(tmp_path, version="0.9").find(TOOL)
    assert found is not None
    assert found.version == "0.9"


def test_another_version_is_not_found(tmp_path: Path) -> None:
    assert filled(tmp_path, version="1.2.4").find(TOOL) is None


@pytest.mark.parametrize("name", ["thing", "beside"])
def test_a_file_cut_short_is_detected(tmp_path: Path, name: str) -> None:
    cache = filled(tmp_path)
    path_in(cache, name).write_bytes(b"pro")
    assert cache.find(TOOL) is None
    assert cache.altered(TOOL)


def test_other_content_of_the_same_size_and_age_is_detected(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    before = path_in(cache).stat()
    path_in(cache).write_bytes(b"PROGRAM")
    os.utime(path_in(cache), ns=(before.st_atime_ns, before.st_mtime_ns))
    assert cache.find(TOOL) is None


def test_a_removed_companion_is_detected(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    path_in(cache, "beside").unlink()
    assert cache.find(TOOL) is None


def test_a_copied_cache_is_still_good(tmp_path: Path) -> None:
    """Copies have new times: the sum decides."""
    cache = filled(tmp_path)
    content = path_in(cache).read_bytes()
    path_in(cache).unlink()
    path_in(cache).write_bytes(content)
    assert cache.find(TOOL) is not None


@pytest.mark.parametrize("text", ["", "[]", "{}", '{"files": {"thing": {}}}'])
def test_a_broken_receipt_vouches_for_nothing(tmp_path: Path, text: str) -> None:
    cache = filled(tmp_path)
    path_in(cache, RECEIPT).write_text(text, encoding="utf-8")
    assert cache.find(TOOL) is None


def test_a_program_without_a_receipt_is_not_ours(tmp_path: Path) -> None:
    cache = filled(tmp_path)
    path_in(cache, RECEIPT).unlink()
    assert cache.find(TOOL) is None


def test_a_failure_leaves_no_half_tool(tmp_path: Path) -> None:
    cache = ToolCache(tmp_path / "tools")

    def interrupted() -> None:
        with cache.workplace(TOOL, "1.2.3", "a test", None) as workplace:
            (workplace / "thing").write_bytes(b"pro")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert not (cache.root / "thing").exists()
    assert list((cache.root / ".partial").iterdir()) == []


def test_a_new_copy_takes_the_place_of_an_altered_one(tmp_path: Path) -> None:
    path_in(filled(tmp_path)).write_bytes(b"pro")
    cache = filled(tmp_path, content=b"better")
    found = cache.find(TOOL)
    assert found is not None
    assert found.path.read_bytes() == b"better"
    assert list((cache.root / ".partial").iterdir()) == []


def test_sweeping_removes_only_what_dead_runs_left(tmp_path: Path) -> None:
    cache = ToolCache(tmp_path / "tools")
    partial = cache.root / ".partial"
    dead, alive = partial / "run-999999999-x", partial / f"run-{os.getpid()}-x"
    dead.mkdir(parents=True)
    alive.mkdir()
    cache.sweep()
    assert list(partial.iterdir()) == [alive]


def test_the_receipt_says_what_the_tool_needs(tmp_path: Path) -> None:
    cache = ToolCache(tmp_path / "tools")
    with cache.workplace(TOOL, "1.2.3", "a test", "node>=18") as workplace:
        (workplace / "thing").write_bytes(b"program")
    assert json.loads(path_in(cache, RECEIPT).read_text(encoding="utf-8"))["needs"] == "node>=18"
    found = cache.find(TOOL)
    assert found is not None
    assert found.needs == "node>=18"


def test_a_second_run_waits_for_the_first_and_says_so(tmp_path: Path) -> None:
    cache, listener = ToolCache(tmp_path / "tools"), Listener()
    order: list[str] = []
    waiting = threading.Event()

    def remark(text: str) -> None:
        order.append(text)
        waiting.set()

    listener.remark = remark  # type: ignore[method-assign]

    def second() -> None:
        with cache.lock(TOOL, listener):
            order.append("second")

    thread = threading.Thread(target=second)
    with cache.lock(TOOL, Listener()):
        thread.start()
        assert waiting.wait(timeout=5)
        order.append("first ends")
    thread.join(timeout=5)
    assert order == [
        "thing: another run is getting it, waiting for that",
        "first ends",
        "second",
    ]
