import pytest

from infra.rehearsal.tools.model import PathRule, numbers
from tests.support.tools import StubSource, tool_of


@pytest.mark.parametrize(
    ("version", "expected"),
    [("v1.35.4", (1, 35, 4)), ("3.274.1-beta.2", (3, 274, 1)), ("18", (18,)), ("devel", ())],
)
def test_a_version_is_its_leading_numbers(version: str, expected: tuple[int, ...]) -> None:
    assert numbers(version) == expected


@pytest.mark.parametrize(
    ("found", "fits"), [("1.35.9", True), ("1.34.4", False), ("1.36.0", False), ("2.35.4", False)]
)
def test_a_program_on_path_fits_within_its_minor_version(found: str, fits: bool) -> None:
    assert PathRule(arguments=()).fits(found, "1.35.4") is fits


@pytest.mark.parametrize(
    ("found", "fits"), [("3.272.0", True), ("3.300.1", True), ("3.271.9", False), ("4.0.0", False)]
)
def test_a_floor_lets_newer_minor_versions_in(found: str, fits: bool) -> None:
    rule = PathRule(arguments=(), same_parts=1, at_least="3.272.0")
    assert rule.fits(found, "3.274.1") is fits


def test_the_pinned_version_is_the_first_that_will_do() -> None:
    tool = tool_of(StubSource(version="0.9"), StubSource(), StubSource(version="0.9"))
    assert list(tool.versions()) == ["1.2.3", "0.9"]
