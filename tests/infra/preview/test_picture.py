"""The README's picture."""

from pathlib import Path

import pytest

from infra.errors import UsageError
from infra.preview import picture
from infra.preview.planning import report_for
from infra.preview.report.mermaid import render_mermaid

README = Path(__file__).resolve().parents[3] / "README.md"


def test_only_what_lies_between_the_markers_is_replaced() -> None:
    text = f"before\n{picture.START}\nold\n{picture.END}\nafter\n"
    assert picture.with_picture(text, "flowchart TD\n") == (
        f"before\n{picture.START}\n```mermaid\nflowchart TD\n```\n{picture.END}\nafter\n"
    )


def test_redrawing_changes_nothing() -> None:
    text = picture.with_picture(f"{picture.START}{picture.END}", "a\n")
    assert picture.with_picture(text, "a\n") == text


@pytest.mark.parametrize("text", ["", picture.START, picture.END])
def test_rejects_a_file_without_both_markers(text: str) -> None:
    with pytest.raises(UsageError, match="needs the lines"):
        picture.with_picture(text, "a")


def test_the_readme_shows_the_graph_as_it_is_now() -> None:
    text = README.read_text(encoding="utf-8")
    drawn = render_mermaid(report_for(picture.ENVIRONMENT))
    assert picture.with_picture(text, drawn) == text, "run `make picture`"
