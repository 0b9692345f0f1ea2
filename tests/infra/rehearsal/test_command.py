"""`gangway rehearse`: what a user types and reads; the rehearsal itself is played."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from infra import cli
from infra.errors import GangwayError, MissingToolError
from infra.rehearsal import command
from infra.rehearsal.bench import Round
from infra.rehearsal.driver import UpReport
from infra.rehearsal.gang_watch import GangState
from infra.rehearsal.places import ROOT_VARIABLE
from infra.rehearsal.state import StateFolder

GANG = GangState(bound=2, minimum=2, phase="Running", running=2)

Run = Callable[..., int]


@dataclass
class PlayedRehearsal:
    """Notes calls, and fails when told to."""

    state: StateFolder
    environment: str = "dev"
    arguments: str = "--env dev --name played"
    calls: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    fail: BaseException | None = None
    parts: dict[str, bool] = field(default_factory=dict)
    present: GangState | None = GANG

    def _call(self, name: str, options: dict[str, Any]) -> None:
        self.calls.append((name, options))
        if self.fail is not None:
            raise self.fail

    def up(self, **options: Any) -> UpReport:
        self._call("up", options)
        return UpReport(counts={"create": 3}, gang=GANG, seconds={"machine": 1.0, "stack": 2.5})

    def preview(self, **options: Any) -> None:
        self._call("preview", options)

    def down(self, **options: Any) -> None:
        self._call("down", options)

    def status(self) -> dict[str, bool]:
        return self.parts

    def gang(self) -> GangState | None:
        return self.present

    def shell_variables(self) -> dict[str, str]:
        return {"GREETING": "hello from the rehearsal"}


@pytest.fixture
def played(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> PlayedRehearsal:
    rehearsal = PlayedRehearsal(StateFolder.named("played", tmp_path))
    monkeypatch.setattr(command, "Rehearsal", lambda *args, **options: rehearsal)
    return rehearsal


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Run:
    """The command line as a user calls it; returns its exit code."""

    def called(*words: str) -> int:
        monkeypatch.setattr(sys, "argv", ["gangway", "rehearse", *words])
        monkeypatch.setenv("COLUMNS", "200")
        try:
            cli.main()
        except SystemExit as ending:
            return int(ending.code or 0)
        return 0

    return called


def test_up_says_how_long_each_part_took_and_what_to_do_next(
    played: PlayedRehearsal, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("up", "--deadline", "60", "--gang", "0") == 0
    said = capsys.readouterr().out
    assert played.calls == [("up", {"deadline_seconds": 60, "gang_seconds": 0})]
    assert "played is up in 3.5 s (machine 1.0 s, stack 2.5 s)" in said
    assert "gang: Running, 2 of 2 bound, 2 running" in said
    assert "gangway rehearse shell --env dev --name played" in said
    assert "gangway rehearse down --env dev --name played" in said


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (GangwayError("port 6443 is taken"), 1),
        (MissingToolError("no kubectl for this machine"), 3),
        (KeyboardInterrupt(), 130),
    ],
    ids=["refused", "missing tool", "Ctrl-C"],
)
@pytest.mark.parametrize("name", ["up", "preview", "down"])
def test_a_failure_is_one_sentence_and_its_exit_code(
    name: str,
    error: BaseException,
    code: int,
    played: PlayedRehearsal,
    run: Run,
    capsys: pytest.CaptureFixture[str],
) -> None:
    played.fail = error
    assert run(name) == code
    told = capsys.readouterr().err.strip()
    assert told == str(error)


def test_preview_and_down_pass_their_options_on(played: PlayedRehearsal, run: Run) -> None:
    assert run("preview", "--deadline", "9") == 0
    assert run("down", "--force", "--deadline", "7") == 0
    assert played.calls == [
        ("preview", {"deadline_seconds": 9}),
        ("down", {"deadline_seconds": 7, "force": True}),
    ]


def test_bench_measures_as_many_lives_as_asked_and_shows_each(
    played: PlayedRehearsal,
    run: Run,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lives = iter(
        Round(up=up, preview=7.0, down=16.0, memory=1400.0, yardstick=1.0) for up in (31.0, 50.0)
    )
    monkeypatch.setattr(command, "measure", lambda rehearsal, tell: next(lives))
    assert run("bench", "--rounds", "2") == 0
    said = capsys.readouterr().out
    assert "31.0, 50.0" in said
    assert "missed" in said


def test_status_shows_parts_and_gang(
    played: PlayedRehearsal, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    played.parts = {"kube-apiserver": True, "supervisor": True}
    assert run("status") == 0
    said = capsys.readouterr().out
    assert "supervisor      runs" in said
    assert "2 of 2 bound" in said


def test_status_fails_while_a_part_is_gone(
    played: PlayedRehearsal, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    played.parts, played.present = {"kube-apiserver": True, "supervisor": False}, None
    assert run("status") == 1
    said = capsys.readouterr().out
    assert "supervisor      is gone; `gangway rehearse up --env dev --name played`" in said
    assert "no training job yet" in said


@pytest.mark.parametrize("name", ["status", "shell"])
def test_rejects_to_show_a_rehearsal_that_is_not_there(
    name: str, played: PlayedRehearsal, run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(name) == 1
    told = capsys.readouterr().err
    assert "no rehearsal played; `gangway rehearse up --env dev --name played` starts one" in told


def test_a_shell_has_the_rehearsals_settings_and_gives_its_exit_code(
    played: PlayedRehearsal,
    run: Run,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    shell = tmp_path / "shell"
    shell.write_text('#!/bin/sh\necho "$GREETING"\nexit 7\n')
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    played.state.merge(environment="dev")
    assert run("shell") == 7
    assert "hello from the rehearsal" in capfd.readouterr().out


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["up", "--name", "Not A Name"], 2, "rehearsal name 'Not A Name' is not usable"),
        (["up", "--env", "nowhere"], 2, "--env is 'nowhere'; allowed: dev, prod"),
        (["up", "--env", "../dev"], 2, "--env is '../dev'; allowed: dev, prod"),
        (["up", "--name", ""], 2, "rehearsal name ''"),
        (["up", "--deadline", "0"], 2, "--deadline is 0; allowed: 1 to 86400 seconds"),
        (["up", "--deadline", "inf"], 2, "--deadline is inf; allowed"),
        (["up", "--deadline", "nan"], 2, "--deadline is nan; allowed"),
        (["up", "--gang", "-1"], 2, "--gang is -1; allowed: 0 to 86400 seconds"),
    ],
    ids=[
        "name",
        "environment",
        "no environment",
        "no name",
        "deadline",
        "for ever",
        "no number",
        "gang",
    ],
)
def test_rejects_bad_options_without_a_trace(
    words: list[str],
    code: int,
    told: str,
    run: Run,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.setenv(ROOT_VARIABLE, str(tmp_path))
    assert run(*words) == code
    said = capsys.readouterr().err
    assert told in said
    assert "Traceback" not in said
    assert list(tmp_path.iterdir()) == []
