"""The command line: lazy commands, one sentence and an exit code on failure."""

import sys
from types import ModuleType
from typing import Any

import pytest
import typer

from infra import cli
from infra.errors import GangwayError, MissingToolError, UsageError


def _run(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr(sys, "argv", ["gangway", *words])
    with pytest.raises(SystemExit) as caught:
        cli.main()
    return int(caught.value.code or 0)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A command `fail` that raises the error asked for by name."""
    module = ModuleType("failing_command")

    def fail(kind: str) -> None:
        errors: dict[str, type[BaseException]] = {
            "refused": GangwayError,
            "usage": UsageError,
            "tool": MissingToolError,
            "interrupt": KeyboardInterrupt,
            "exit": typer.Exit,
        }
        message: Any = 4 if kind == "exit" else "one sentence"
        raise errors[kind](message)

    module.fail = fail  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "failing_command", module)
    monkeypatch.setitem(cli.COMMANDS, "fail", ("failing_command", "fail", "Fail."))
    return module


@pytest.mark.usefixtures("failing")
@pytest.mark.parametrize(
    ("kind", "code"), [("refused", 1), ("usage", 2), ("tool", 3), ("interrupt", 130), ("exit", 4)]
)
def test_a_failure_ends_with_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, kind: str, code: int
) -> None:
    assert _run(monkeypatch, "fail", kind) == code


@pytest.mark.usefixtures("failing")
def test_a_failure_is_one_sentence_without_a_trace(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _run(monkeypatch, "fail", "refused")
    assert capsys.readouterr().err == "one sentence\n"


def test_rejects_an_unknown_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert _run(monkeypatch, "previw") == 2
    assert "previw" in capsys.readouterr().err


def test_help_lists_every_command_and_imports_none(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name in cli.COMMANDS:
        monkeypatch.setitem(cli.COMMANDS, name, ("no.such.module", "x", f"Help of {name}."))
    assert _run(monkeypatch, "--help") == 0
    shown = capsys.readouterr().out
    assert all(f"Help of {name}." in shown for name in cli.COMMANDS)


def test_a_typer_app_becomes_a_group_of_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    app = typer.Typer()
    called: list[str] = []
    app.command("one")(lambda: called.append("one"))
    app.command("two")(lambda: called.append("two"))
    module = ModuleType("app_command")
    module.app = app  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "app_command", module)
    monkeypatch.setitem(cli.COMMANDS, "group", ("app_command", "app", "Group."))
    monkeypatch.setattr(sys, "argv", ["gangway", "group", "two"])
    with pytest.raises(SystemExit):
        cli.main()
    assert called == ["two"]
