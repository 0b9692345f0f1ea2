from io import BytesIO

from PIL import Image

from infra.rehearsal.scenarios.drawing import Box, Drawing, Label, Line, Pointer
from infra.rehearsal.scenarios.picture import draw
from infra.rehearsal.scenarios.png import SCALE, png
from tests.support.recording import recorded_document


def rendered(*shapes):
    drawing = Drawing(description="", height=40, shapes=shapes, title="", width=60)
    return Image.open(BytesIO(png(drawing))).convert("RGB")


def colors(image):
    return {color for _, color in image.getcolors(maxcolors=100_000)}


def test_a_box_has_its_size_in_pixels():
    image = rendered(Box(fill="#ff0000", height=10, width=20, x=5, y=5))
    red = [
        (x, y)
        for x in range(image.width)
        for y in range(image.height)
        if image.getpixel((x, y)) == (255, 0, 0)
    ]
    assert len(red) == 20 * SCALE * 10 * SCALE
    assert min(red) == (5 * SCALE, 5 * SCALE)


def test_a_box_too_thin_to_see_draws_nothing():
    assert colors(rendered(Box(fill="#ff0000", height=10, width=0.1, x=5, y=5))) == {
        (255, 255, 255)
    }


def test_stripes_stay_within_their_box():
    image = rendered(Box(fill="#00ff00", height=10, stripes="#0000ff", width=20, x=5, y=5))
    assert colors(image) == {(255, 255, 255), (0, 255, 0), (0, 0, 255)}
    outside = image.crop((0, 0, image.width, 5 * SCALE))
    assert colors(outside) == {(255, 255, 255)}


def test_text_needs_no_font_of_the_system():
    image = rendered(Label(color="#000000", size=12, text="GPU 0", x=5, y=20))
    assert len(colors(image)) > 2


def test_lines_and_pointers_are_drawn():
    line = Line(color="#ff0000", dashed=True, x1=0, x2=50, y1=10, y2=10)
    pointer = Pointer(color="#0000ff", size=8, x=30, y=30)
    assert {(255, 0, 0), (0, 0, 255)} <= colors(rendered(line, pointer))


def test_the_picture_of_a_real_run_has_the_drawings_size():
    drawing = draw(recorded_document())
    image = Image.open(BytesIO(png(drawing)))
    assert image.size == (round(drawing.width * SCALE), round(drawing.height * SCALE))
