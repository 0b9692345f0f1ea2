import io
from pathlib import Path

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

from infra.errors import MissingToolError
from infra.rehearsal.tools import command
from infra.rehearsal.tools.plan import ToolPlan
from tests.support.tools import StubSource, tool_of

HERE = ToolPlan(
    tool=tool_of(), origin="cache", place="mirror", version="1.2.3", path=Path("/cache/thing")
)
TO_BUILD = ToolPlan(
    tool=tool_of(name="etcd"),
    origin="Go build",
    place="go.etcd.io/etcd [x]",
    version="1.2.3",
    seconds=130,
    sources=(StubSource(),),
)
MISSING = ToolPlan(tool=tool_of(name="kwok"), tried=("cache: not there", "mirror: shut"))

app = typer.Typer()
app.command()(command.tools)


def table(*plans: ToolPlan) -> list[str]:
    text = io.StringIO()
    Console(file=text, width=100).print(command.plan_table(plans))
    return [line.rstrip() for line in text.getvalue().splitlines()]


def check_gives(monkeypatch: pytest.MonkeyPatch, *plans: ToolPlan) -> None:
    monkeypatch.setattr(command, "check", lambda names: list(plans))
    monkeypatch.setattr(command, "resolve", None)


def test_the_table_tells_where_from_and_how_long() -> None:
    lines = table(HERE, TO_BUILD, MISSING)
    assert lines[1].split() == ["thing", "1.2.3", "cache", "mirror"]
    assert lines[2].split("  ")[-1].strip() == "about 2 min"
    assert "go.etcd.io/etcd [x]" in lines[2]
    assert "nowhere" in lines[3]


def test_check_gets_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    check_gives(monkeypatch, HERE, TO_BUILD)
    result = CliRunner().invoke(app, ["--check"])
    assert result.exit_code == 0
    assert "1 of 2 tools are here, the rest takes about 2 min" in result.output


def test_check_says_when_all_is_here(monkeypatch: pytest.MonkeyPatch) -> None:
    check_gives(monkeypatch, HERE)
    assert "1 of 1 tools are here\n" in CliRunner().invoke(app, ["--check"]).output


def test_rejects_a_missing_tool_after_the_table(monkeypatch: pytest.MonkeyPatch) -> None:
    check_gives(monkeypatch, HERE, MISSING)
    result = CliRunner().invoke(app, ["--check"])
    assert "nowhere" in result.output
    assert isinstance(result.exception, MissingToolError)
    assert "kwok 1.2.3: cache: not there; mirror: shut" in str(result.exception)


def test_named_tools_are_got_and_their_places_printed(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def resolve(names: list[str], console: Console) -> dict[str, Path]:
        asked.extend(names)
        return {"etcd": Path("/cache/etcd")}

    monkeypatch.setattr(command, "resolve", resolve)
    result = CliRunner().invoke(app, ["etcd"])
    assert asked == ["etcd"]
    assert result.output == "etcd: /cache/etcd\n"
