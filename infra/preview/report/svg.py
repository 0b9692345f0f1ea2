"""The graph as an inline SVG: one column a wave, an arrow to each part from what it needs."""

from dataclasses import dataclass
from html import escape
from typing import Final

from infra.preview.graph import Graph, component_waves, reduced
from infra.preview.recording import Recording

BOX_WIDTH: Final = 172
BOX_HEIGHT: Final = 52
COLUMN_GAP: Final = 64
ROW_GAP: Final = 18
MARGIN: Final = 12


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """One part of the stack at its place."""

    name: str
    kind: str
    size: int
    x: int
    y: int

    @property
    def middle(self) -> int:
        """Height at which arrows meet the box."""
        return self.y + BOX_HEIGHT // 2

    def drawn(self) -> str:
        """The box with its name, kind and number of resources."""
        inside = f", {self.size} resources" if self.size > 1 else ""
        title = self.name if len(self.name) <= 21 else f"{self.name[:20]}…"  # noqa: PLR2004
        return (
            f'<g class="box {escape(self.kind)}"><title>{escape(self.name)}</title>'
            f'<rect x="{self.x}" y="{self.y}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="8"/>'
            f'<text class="name" x="{self.x + 12}" y="{self.y + 22}">{escape(title)}</text>'
            f'<text class="kind" x="{self.x + 12}" y="{self.y + 40}">'
            f"{escape(self.kind)}{inside}</text></g>"
        )


def svg(recording: Recording) -> str:
    """The whole picture."""
    graph = Graph(recording)
    boxes = _boxes(graph)
    edges = reduced(graph.component_edges())
    arrows = [
        _arrow(boxes[other], box)
        for urn, box in boxes.items()
        for other in sorted(edges.get(urn, ()))
        if other in boxes
    ]
    width = max(box.x for box in boxes.values()) + BOX_WIDTH + MARGIN
    height = max(box.y for box in boxes.values()) + BOX_HEIGHT + MARGIN
    head = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z"/></marker></defs>'
    )
    drawn = "".join([head, *arrows, *(box.drawn() for box in boxes.values())])
    return (
        f'<svg class="graph" viewBox="0 0 {width} {height}" width="{width}" '
        f'role="img" aria-label="parts of the stack in the order of creation">{drawn}</svg>'
    )


def _boxes(graph: Graph) -> dict[str, Box]:
    waves = component_waves(graph)
    tallest = max(len(wave) for wave in waves)
    boxes: dict[str, Box] = {}
    for column, wave in enumerate(waves):
        free = (tallest - len(wave)) * (BOX_HEIGHT + ROW_GAP) // 2
        for row, urn in enumerate(wave):
            resource = graph.resources[urn]
            boxes[urn] = Box(
                name=resource.name,
                kind=resource.type.rpartition(":")[2],
                size=_size(graph.recording, urn),
                x=MARGIN + column * (BOX_WIDTH + COLUMN_GAP),
                y=MARGIN + free + row * (BOX_HEIGHT + ROW_GAP),
            )
    return boxes


def _size(recording: Recording, urn: str) -> int:
    return sum(1 + _size(recording, child.urn) for child in recording.children(urn))


def _arrow(start: Box, end: Box) -> str:
    left, right = start.x + BOX_WIDTH, end.x - 2
    bend = max(28, (right - left) // 2)
    return (
        f'<path class="arrow" marker-end="url(#head)" d="M{left} {start.middle} '
        f'C{left + bend} {start.middle} {right - bend} {end.middle} {right} {end.middle}"/>'
    )
