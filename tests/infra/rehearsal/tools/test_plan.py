from collections.abc import Iterable
from pathlib import Path

import pytest

from infra.errors import MissingToolError, UsageError
from infra.rehearsal.tools.cache import ToolCache
from infra.rehearsal.tools.model import PathRule, Tool
from infra.rehearsal.tools.plan import ToolPlan, plan, refuse_missing
from tests.support.tools import StubSource, nowhere, program, tool_of, workshop_in


def planned(folder: Path, *tools: Tool, on_path: Iterable[Path] = ()) -> list[ToolPlan]:
    programs = {path.name: str(path) for path in on_path}
    catalogue = {tool.name: tool for tool in tools}
    return plan(catalogue, catalogue, workshop_in(folder), programs.get)


def cached(folder: Path, tool: Tool, needs: str | None = None) -> None:
    cache = ToolCache(workshop_in(folder).settings.cache)
    with cache.workplace(tool, tool.version, "mirror", needs) as workplace:
        (workplace / "thing").write_bytes(b"program")


RULE = PathRule(arguments=())


def test_the_cache_comes_first(tmp_path: Path) -> None:
    tool = tool_of(StubSource(), on_path=RULE)
    cached(tmp_path, tool)
    [row] = planned(tmp_path, tool, on_path=[program(tmp_path, "thing", "1.2.3")])
    assert (row.origin, row.seconds, row.place) == ("cache", 0, "mirror")
    assert row.path is not None


def test_path_comes_before_every_source(tmp_path: Path) -> None:
    path = program(tmp_path, "thing", "1.2.3")
    [row] = planned(tmp_path, tool_of(StubSource(), on_path=RULE), on_path=[path])
    assert (row.origin, row.path) == ("PATH", path)


def test_an_old_version_on_path_leaves_it_to_the_sources(tmp_path: Path) -> None:
    path = program(tmp_path, "thing", "1.1.0")
    [row] = planned(tmp_path, tool_of(StubSource(), on_path=RULE), on_path=[path])
    assert (row.origin, row.path) == ("stub", None)
    assert f"PATH: {path} is version 1.1.0, which does not fit 1.2.3" in row.tried


def test_sources_are_asked_in_their_order(tmp_path: Path) -> None:
    first = StubSource(kind="mirror", refusal="it is shut")
    second, third = StubSource(kind="release", version="1.2.2"), StubSource(kind="build")
    [row] = planned(tmp_path, tool_of(first, second, third))
    assert (row.origin, row.place, row.version, row.seconds) == (
        "release",
        "somewhere",
        "1.2.2",
        7,
    )
    assert row.sources == (second, third)
    assert row.tried[-1] == "mirror: it is shut"


def test_a_cached_file_that_was_cut_short_is_planned_anew(tmp_path: Path) -> None:
    tool = tool_of(StubSource())
    cached(tmp_path, tool)
    (workshop_in(tmp_path).settings.cache / "thing" / "1.2.3" / "thing").write_bytes(b"pro")
    [row] = planned(tmp_path, tool)
    assert row.origin == "stub"
    assert row.tried[0] == "cache: altered or cut short"


def test_a_source_whose_need_is_not_met_is_passed_over(tmp_path: Path) -> None:
    [row] = planned(tmp_path, tool_of(StubSource(needs="node>=18"), StubSource(kind="other")))
    assert row.origin == "other"
    assert row.tried[-1] == "stub: it needs node 18 or later on PATH"


def test_a_cached_tool_whose_need_went_away_is_not_here(tmp_path: Path) -> None:
    tool = tool_of()
    cached(tmp_path, tool, needs="node>=18")
    [row] = planned(tmp_path, tool)
    assert row.missing
    assert row.tried[0] == "cache: it needs node 18 or later on PATH"


def test_planning_changes_nothing(tmp_path: Path) -> None:
    planned(tmp_path, tool_of(StubSource()))
    assert list(tmp_path.iterdir()) == []


def test_a_name_given_twice_is_planned_once(tmp_path: Path) -> None:
    catalogue = {"thing": tool_of(StubSource())}
    assert len(plan(["thing", "thing"], catalogue, workshop_in(tmp_path), nowhere)) == 1


def test_rejects_every_missing_tool_in_one_message(tmp_path: Path) -> None:
    plans = planned(
        tmp_path,
        tool_of(StubSource(kind="mirror", refusal="no mirror"), name="one"),
        tool_of(StubSource(), name="two"),
        tool_of(StubSource(kind="release", refusal="host is down"), name="three"),
    )
    with pytest.raises(MissingToolError) as caught:
        refuse_missing(plans)
    said = str(caught.value).splitlines()
    assert said[:3] == [
        "2 tools of the rehearsal cannot be had:",
        "  one 1.2.3: cache: not there; mirror: no mirror",
        "  three 1.2.3: cache: not there; release: host is down",
    ]
    assert "Set GANGWAY_MIRROR" in said[3]
    assert caught.value.exit_code == 3


def test_nothing_missing_is_no_error(tmp_path: Path) -> None:
    plans = planned(tmp_path, tool_of(StubSource()))
    refuse_missing(plans)
    assert [row.missing for row in plans] == [False]


def test_rejects_an_unknown_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no tool is called 'helm': allowed are thing"):
        plan(["helm"], {"thing": tool_of()}, workshop_in(tmp_path), nowhere)
