"""The command: formats, files, exit codes, and the same bytes whatever the environment."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from infra.errors import UsageError
from infra.preview import command, planning
from infra.preview.command import Format
from infra.preview.cost import Assumptions
from infra.preview.report.model import Report
from tests.support import settings as sample_settings
from tests.support.sample_program import sample

ROOT = Path(__file__).resolve().parents[3]
OFFLINE = """
import socket, sys
def refuse(*_): raise AssertionError("a connection was opened")
socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
sys.argv = ["gangway", "preview", "--env", sys.argv[1], "--format", sys.argv[2]]
from infra.cli import main
main()
"""


@pytest.fixture(scope="module")
def report() -> Report:
    return planning.report_of(sample_settings.settings(), sample, Assumptions())


@pytest.mark.parametrize("output_format", list(Format))
def test_every_format_draws_the_same_bytes_twice(report: Report, output_format: Format) -> None:
    drawn = command.render(report, output_format)
    assert drawn == command.render(report, output_format)
    assert drawn.endswith("\n")
    assert "gang-train" in drawn


def test_writes_to_a_file_and_says_so(
    report: Report, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "report.json"
    command.write(report, Format.JSON, path)
    assert json.loads(path.read_text(encoding="utf-8"))["environment"] == "dev"
    assert capsys.readouterr().out == f"dev is {report.summary}; report in {path}\n"


def test_rejects_a_file_that_cannot_be_written(report: Report, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"--out .* cannot be written: No such file"):
        command.write(report, Format.TEXT, tmp_path / "missing" / "report.txt")


def test_rejects_a_missing_standard_output(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdout", None)
    with pytest.raises(UsageError, match=r"no standard output .* name a file with --out"):
        command.write(report, Format.TEXT, None)


def test_rejects_a_full_standard_output(report: Report, monkeypatch: pytest.MonkeyPatch) -> None:
    with Path("/dev/full").open("w", encoding="utf-8") as full:
        monkeypatch.setattr(sys, "stdout", full)
        with pytest.raises(UsageError, match="standard output cannot be written: No space left"):
            command.write(report, Format.JSON, None)
        monkeypatch.undo()
        os.dup2(os.open(os.devnull, os.O_WRONLY), full.fileno())


def test_a_reader_that_leaves_early_gets_no_trace_and_no_refusal(
    report: Report, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, written = os.pipe()
    os.close(read)
    with open(written, "w", encoding="utf-8") as pipe:  # noqa: PTH123 - a descriptor has no path
        monkeypatch.setattr(sys, "stdout", pipe)
        with pytest.raises(typer.Exit) as end:
            command.write(report, Format.JSON, None)
    assert end.value.exit_code == 141


@pytest.mark.parametrize(("level", "code"), [("warning", 0), ("refused", 1)])
def test_the_exit_code_follows_the_verdicts(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, level: str, code: int
) -> None:
    verdict = planning.Verdict(check="x", level=level, sentence="because")
    monkeypatch.setattr(
        planning, "report_for", lambda name, **_: planning.model.unusable(name, (verdict,))
    )
    monkeypatch.setattr(command.gc, "disable", lambda: None)
    monkeypatch.setattr(command.gc, "freeze", lambda: None)
    with pytest.raises(typer.Exit) as end:
        command.preview("dev", Format.TEXT, tmp_path / "out", 30)
    assert end.value.exit_code == code
    assert "because" in (tmp_path / "out").read_text(encoding="utf-8")


def run(environment: dict[str, str], *arguments: str) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", OFFLINE, *arguments],
        cwd=ROOT,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def test_the_real_program_is_shown_offline_with_the_same_bytes_everywhere() -> None:
    bare = {"PYTHONHASHSEED": "1", "PATH": os.defpath}
    odd = {
        "COLUMNS": "40",
        "FORCE_COLOR": "1",
        "HOME": "/nonexistent",
        "KUBECONFIG": "/nonexistent",
        "LANG": "de_DE.ISO-8859-1",
        "LC_ALL": "C",
        "PATH": os.defpath,
        "PYTHONHASHSEED": "4711",
        "TERM": "dumb",
        "TZ": "Pacific/Kiritimati",
    }
    runs = [run(environment, "dev", "text") for environment in (bare, odd)]
    (first, errors), (second, _) = [item.communicate(timeout=120) for item in runs]
    assert errors == b""
    assert [item.returncode for item in runs] == [0, 0]
    assert first == second
    assert b"dev is sound" in first
    assert b"\x1b[" not in first
