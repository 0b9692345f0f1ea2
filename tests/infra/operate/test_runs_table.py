import io

import pytest
from rich.console import Console

from infra.operate import runs_table
from tests.support.training_reports import a_job

FAILED_EARLY = {"run_id": "a", "status": "failed", "ranks": []}


def test_a_line_holds_the_figures_of_the_run() -> None:
    assert runs_table.line(a_job("aaaa1111-x"), wide=True) == {
        "run": "aaaa1111",
        "status": "success",
        "started": "2026-11-30 10:00",
        "ranks": "2/2",
        "loss": "0.0121",
        "of best": "99.8 %",
        "USD": "0.0010-0.0020",
        "attempt": "1/10",
        "samples/s": "53,420",
        "GPU s": "60",
        "spread ms": "12",
        "job": "training/gang-train",
    }


def test_what_is_not_known_is_a_dash() -> None:
    cells = runs_table.line(FAILED_EARLY, wide=True)
    names = ("loss", "of best", "USD", "samples/s", "GPU s", "spread ms")
    assert {cells[name] for name in names} == {"-"}


def test_nothing_learned_is_a_number() -> None:
    nothing = {**a_job("a"), "training_results": {"final_loss": 2.0, "learned_fraction": 0.0}}
    assert runs_table.line(nothing, wide=False)["of best"] == "0.0 %"


@pytest.mark.parametrize("width", [80, 140])
def test_no_cell_is_cut_at_the_width_of_the_terminal(width: int) -> None:
    console = Console(width=width, file=io.StringIO())
    document = a_job("aaaa1111-x")
    console.print(runs_table.table([document], width))
    text = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\u2026" not in text
    for cell in runs_table.line(document, wide=width == 140).values():
        assert cell in text
