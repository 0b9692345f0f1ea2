import json
import re
from html.parser import HTMLParser

from infra.rehearsal.scenarios.page import page
from tests.support.recording import recorded_document

RESULT = recorded_document()
PAGE = page(RESULT)


class Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.figures: list[tuple[float, str]] = []
        self.open: list[str] = []
        self.tags: list[str] = []
        self._value: float | None = None

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        if tag not in ("meta", "link"):
            self.open.append(tag)
        if tag == "data":
            self._value = float(dict(attrs)["value"])

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_startendtag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        if self._value is not None:
            self.figures.append((self._value, data))
            self._value = None


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    return reader


def numbers(value) -> set[float]:
    if isinstance(value, dict):
        return {n for inner in value.values() for n in numbers(inner)}
    if isinstance(value, list):
        return {n for inner in value for n in numbers(inner)}
    return {float(value)} if isinstance(value, int | float) else set()


def test_every_figure_on_the_page_is_one_of_the_document_beside_it():
    beside = numbers(json.loads(json.dumps(RESULT)))
    figures = read(PAGE).figures
    assert len(figures) > 30
    assert {value for value, _ in figures} <= beside


def test_every_figure_shows_its_value():
    for value, shown in read(PAGE).figures:
        number = float(re.sub(r"[^0-9.]", "", shown))
        scale = 1000 if shown.endswith("ms") and value < 1 else 1
        if shown.endswith("ms") and value >= 1:
            number *= 1000  # the clock's error is kept in microseconds
        assert abs(number - value * scale) <= 0.6 * 10 ** -len(
            shown.partition(".")[2].rstrip(" ms")
        )


def test_every_element_is_closed():
    assert read(PAGE).open == []


def test_the_page_runs_and_fetches_nothing():
    assert "script" not in read(PAGE).tags
    assert not re.findall(r'(?:src|href)="(?!data:)', PAGE)


def test_a_story_that_happened_says_so():
    assert "The story happened." in PAGE


def test_a_story_that_was_stopped_says_what_did_not_come():
    text = page(recorded_document(stopped="the placement of <it> did not happen within 30 s"))
    assert "did not happen: the placement of &lt;it&gt; did not happen within 30 s." in text


def test_what_is_not_shown_is_said():
    text = page(RESULT | {"not_shown": ["Part 3 does not apply to one GPU."]})
    assert "<li>Part 3 does not apply to one GPU.</li>" in text


def test_every_expectation_stands_with_its_reason_and_what_was_seen():
    for finding in RESULT["findings"]:
        assert finding["reason"] in PAGE
        assert finding["observed"] in PAGE
