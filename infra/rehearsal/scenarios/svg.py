"""A drawing as SVG: text stays text, boxes tell their figures when pointed at."""

from typing import Final
from xml.sax.saxutils import escape, quoteattr

from infra.rehearsal.scenarios.drawing import Box, Drawing, Label, Line, Pointer, Shape

_FONT: Final = "Inter, 'Segoe UI', 'Helvetica Neue', Arial, sans-serif"
STRIPE_STEP: Final = 7
"""Distance of the diagonals, and their width below: the PNG uses the same."""
STRIPE_WIDTH: Final = 2


def svg(drawing: Drawing) -> str:
    """The drawing as one SVG element."""
    patterns = sorted(
        {shape.stripes for shape in drawing.shapes if isinstance(shape, Box) and shape.stripes}
    )
    body = "\n".join(_element(shape) for shape in drawing.shapes)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {drawing.width:g} '
        f'{drawing.height:g}" width="{drawing.width:g}" height="{drawing.height:g}" role="img" '
        f'aria-labelledby="timeline-title timeline-text" font-family="{_FONT}">\n'
        f'<title id="timeline-title">{escape(drawing.title)}</title>\n'
        f'<desc id="timeline-text">{escape(drawing.description)}</desc>\n'
        f"<defs>{''.join(_pattern(color) for color in patterns)}</defs>\n"
        f'<rect width="{drawing.width:g}" height="{drawing.height:g}" fill="#ffffff"/>\n'
        f"{body}\n</svg>\n"
    )


def _pattern(color: str) -> str:
    return (
        f'<pattern id="{_pattern_id(color)}" width="{STRIPE_STEP}" height="{STRIPE_STEP}" '
        'patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
        f'<rect width="{STRIPE_WIDTH}" height="{STRIPE_STEP}" fill="{color}"/></pattern>'
    )


def _pattern_id(color: str) -> str:
    return f"stripes-{color.lstrip('#')}"


def _element(shape: Shape) -> str:
    match shape:
        case Box():
            return _box(shape)
        case Line():
            dashes = ' stroke-dasharray="4 4"' if shape.dashed else ""
            return (
                f'<line x1="{shape.x1:.2f}" y1="{shape.y1:.2f}" x2="{shape.x2:.2f}" '
                f'y2="{shape.y2:.2f}" stroke="{shape.color}" stroke-width="{shape.width:g}"'
                f"{dashes}/>"
            )
        case Label():
            weight = ' font-weight="600"' if shape.bold else ""
            return (
                f'<text x="{shape.x:.2f}" y="{shape.y:.2f}" fill="{shape.color}" '
                f'font-size="{shape.size:g}" text-anchor="{shape.anchor}"{weight}>'
                f"{escape(shape.text)}</text>"
            )
        case Pointer():
            half = shape.size / 2
            return (
                f'<path d="M {shape.x - half:.2f} {shape.y - shape.size:.2f} h {shape.size:g} '
                f'L {shape.x:.2f} {shape.y:.2f} Z" fill="{shape.color}">{_tip(shape.tip)}</path>'
            )


def _box(box: Box) -> str:
    place = f'x="{box.x:.2f}" y="{box.y:.2f}" width="{box.width:.2f}" height="{box.height:.2f}"'
    outline = f" stroke={quoteattr(box.outline)}" if box.outline else ""
    parts = f'<rect {place} fill="{box.fill}"{outline}/>'
    if box.stripes:
        parts += f'<rect {place} fill="url(#{_pattern_id(box.stripes)})"/>'
    return f"<g>{_tip(box.tip)}{parts}</g>"


def _tip(text: str) -> str:
    return f"<title>{escape(text)}</title>" if text else ""
