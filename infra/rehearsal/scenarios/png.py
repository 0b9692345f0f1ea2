"""A drawing as PNG, for places that show no SVG; needs no browser and no font of the system."""

from io import BytesIO
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from infra.rehearsal.scenarios.drawing import Box, Drawing, Label, Line, Pointer
from infra.rehearsal.scenarios.svg import STRIPE_STEP, STRIPE_WIDTH

SCALE: Final = 2
"""Pixels for each unit of the drawing: sharp on screens of twice the density."""

_DASH: Final = 4
_ANCHORS: Final = {"start": "ls", "middle": "ms", "end": "rs"}


def png(drawing: Drawing) -> bytes:
    """The drawing as the content of a PNG file."""
    size = (round(drawing.width * SCALE), round(drawing.height * SCALE))
    image = Image.new("RGB", size, "#ffffff")
    pen = ImageDraw.Draw(image)
    for shape in drawing.shapes:
        match shape:
            case Box():
                _box(image, pen, shape)
            case Line():
                _line(pen, shape)
            case Label():
                _label(pen, shape)
            case Pointer():
                _pointer(pen, shape)
    content = BytesIO()
    image.save(content, format="PNG", optimize=True)
    return content.getvalue()


def _box(image: Image.Image, pen: ImageDraw.ImageDraw, box: Box) -> None:
    left, top = round(box.x * SCALE), round(box.y * SCALE)
    right, bottom = round((box.x + box.width) * SCALE), round((box.y + box.height) * SCALE)
    if right <= left or bottom <= top:
        return
    pen.rectangle((left, top, right - 1, bottom - 1), fill=box.fill)
    if box.stripes:
        width, height = right - left, bottom - top
        mask = Image.new("L", (width, height), 0)
        stripes = ImageDraw.Draw(mask)
        step = round(STRIPE_STEP * SCALE * 2**0.5)
        for start in range(-height, width, step):
            ends = (start, height, start + height, 0)
            stripes.line(ends, fill=255, width=STRIPE_WIDTH * SCALE)
        image.paste(box.stripes, (left, top), mask)
    if box.outline:
        pen.rectangle((left, top, right - 1, bottom - 1), outline=box.outline, width=SCALE)


def _line(pen: ImageDraw.ImageDraw, line: Line) -> None:
    width = max(1, round(line.width * SCALE))
    if not line.dashed:
        ends = (line.x1 * SCALE, line.y1 * SCALE, line.x2 * SCALE, line.y2 * SCALE)
        pen.line(ends, fill=line.color, width=width)
        return
    length = max(abs(line.x2 - line.x1), abs(line.y2 - line.y1))
    along_x, along_y = (line.x2 - line.x1) / length, (line.y2 - line.y1) / length
    for start in range(0, round(length), 2 * _DASH):
        end = min(start + _DASH, length)
        ends = (
            (line.x1 + along_x * start) * SCALE,
            (line.y1 + along_y * start) * SCALE,
            (line.x1 + along_x * end) * SCALE,
            (line.y1 + along_y * end) * SCALE,
        )
        pen.line(ends, fill=line.color, width=width)


def _label(pen: ImageDraw.ImageDraw, label: Label) -> None:
    font = ImageFont.load_default(label.size * SCALE)
    place = (label.x * SCALE, label.y * SCALE)
    weight = SCALE / 2 * 0.5 if label.bold else 0
    pen.text(
        place,
        label.text,
        fill=label.color,
        font=font,
        anchor=_ANCHORS[label.anchor],
        stroke_width=weight,
    )


def _pointer(pen: ImageDraw.ImageDraw, pointer: Pointer) -> None:
    half = pointer.size / 2
    corners = [
        ((pointer.x - half) * SCALE, (pointer.y - pointer.size) * SCALE),
        ((pointer.x + half) * SCALE, (pointer.y - pointer.size) * SCALE),
        (pointer.x * SCALE, pointer.y * SCALE),
    ]
    pen.polygon(corners, fill=pointer.color)
