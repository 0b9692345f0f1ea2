"""The README's picture."""

import pytest

from infra.errors import UsageError
from infra.preview import picture


def test_only_what_lies_between_the_markers_is_replaced() -> None:
    text = f"before\n{picture.START}\nold\n{picture.END}\nafter\n"
    assert picture.with_picture(text, "flowchart LR\n") == (
        f"before\n{picture.START}\n```mermaid\nflowchart LR\n```\n{picture.END}\nafter\n"
    )


def test_redrawing_changes_nothing() -> None:
    text = picture.with_picture(f"{picture.START}{picture.END}", "a\n")
    assert picture.with_picture(text, "a\n") == text


@pytest.mark.parametrize("text", ["", picture.START, picture.END])
def test_rejects_a_file_without_both_markers(text: str) -> None:
    with pytest.raises(UsageError, match="needs the lines"):
        picture.with_picture(text, "a")
