from xml.etree import ElementTree as ET

from infra.rehearsal.scenarios.drawing import Box, Drawing, Label, Line, Pointer
from infra.rehearsal.scenarios.picture import draw
from infra.rehearsal.scenarios.svg import svg
from tests.support.recording import recorded_document

SVG = "{http://www.w3.org/2000/svg}"


def rendered(*shapes):
    return ET.fromstring(  # noqa: S314 - our own text
        svg(Drawing(description="what", height=50, shapes=shapes, title="who & when", width=100))
    )


def test_a_box_is_a_rectangle_with_a_tip():
    root = rendered(Box(fill="#111111", height=10, tip="a < b", width=20, x=1, y=2))
    group = root.find(f"{SVG}g")
    assert group.find(f"{SVG}title").text == "a < b"
    assert group.find(f"{SVG}rect").attrib["width"] == "20.00"


def test_stripes_are_a_pattern_that_is_defined_once():
    box = Box(fill="#111111", height=10, stripes="#ff0000", width=20, x=1, y=2)
    root = rendered(box, box)
    [pattern] = root.iter(f"{SVG}pattern")
    fills = [rect.attrib.get("fill") for rect in root.iter(f"{SVG}rect")]
    assert fills.count(f"url(#{pattern.attrib['id']})") == 2


def test_text_stays_text():
    root = rendered(Label(bold=True, color="#000000", size=12, text="<GPU & 0>", x=1, y=2))
    assert root.find(f"{SVG}text").text == "<GPU & 0>"


def test_lines_and_pointers_are_drawn():
    root = rendered(
        Line(color="#000000", dashed=True, x1=0, x2=5, y1=0, y2=9),
        Pointer(color="#000000", size=8, tip="now", x=5, y=9),
    )
    assert root.find(f"{SVG}line").attrib["stroke-dasharray"]
    assert root.find(f"{SVG}path/{SVG}title").text == "now"


def test_the_picture_has_a_title_and_a_description():
    root = rendered()
    assert root.find(f"{SVG}title").text == "who & when"
    assert root.find(f"{SVG}desc").text == "what"


def test_nothing_is_fetched():
    text = svg(draw(recorded_document()))
    assert "http" not in text.replace('xmlns="http://www.w3.org/2000/svg"', "")
