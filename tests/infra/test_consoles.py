"""How wide a command prints."""

import pytest

from infra import consoles


def test_a_pipe_gets_whole_rows(capsys: pytest.CaptureFixture[str]) -> None:
    consoles.standard_output().print("x" * consoles.PIPE_WIDTH)
    assert capsys.readouterr().out == "x" * consoles.PIPE_WIDTH + "\n"


def test_a_terminal_keeps_its_own_width(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "50")
    assert consoles.standard_output().width == 50


def test_a_table_of_long_rows_can_ask_for_more(capsys: pytest.CaptureFixture[str]) -> None:
    consoles.standard_output(width=300).print("x" * 300)
    assert capsys.readouterr().out == "x" * 300 + "\n"
