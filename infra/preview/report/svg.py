"""The graph as an inline SVG: one row a step, an arrow to each part from what it needs."""

from dataclasses import dataclass
from html import escape
from typing import Final

from infra.preview.graph import Graph, component_waves, reduced
from infra.preview.recording import Recording

BOX_WIDTH: Final = 204
BOX_HEIGHT: Final = 50
COLUMN_GAP: Final = 28
ROW_GAP: Final = 38
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
        """Where arrows meet the box, from the left."""
        return self.x + BOX_WIDTH // 2

    def drawn(self) -> str:
        """The box with its name, kind and number of resources."""
        inside = f", {self.size} resources" if self.size > 1 else ""
        title = self.name if len(self.name) <= 25 else f"{self.name[:24]}…"  # noqa: PLR2004
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
    rows = _rows(graph)
    widest = max(len(row) for row in rows)
    boxes: dict[str, Box] = {}
    for number, row in enumerate(rows):
        free = (widest - len(row)) * (BOX_WIDTH + COLUMN_GAP) // 2
        for column, urn in enumerate(row):
            resource = graph.resources[urn]
            boxes[urn] = Box(
                name=resource.name,
                kind=resource.type.rpartition(":")[2],
                size=_size(graph.recording, urn),
                x=MARGIN + free + column * (BOX_WIDTH + COLUMN_GAP),
                y=MARGIN + number * (BOX_HEIGHT + ROW_GAP),
            )
    return boxes


def _rows(graph: Graph) -> list[list[str]]:
    """Parts by the step in which they can be made; those that need nothing, just before use."""
    waves = component_waves(graph)
    edges = graph.component_edges()
    step = {urn: number for number, wave in enumerate(waves) for urn in wave}
    for urn in waves[0]:
        users = [step[user] for user in step if urn in edges.get(user, ())]
        step[urn] = max(0, min(users, default=1) - 1)
    return [[urn for urn in step if step[urn] == number] for number in range(len(waves))]


def _size(recording: Recording, urn: str) -> int:
    return sum(1 + _size(recording, child.urn) for child in recording.children(urn))


def _arrow(start: Box, end: Box) -> str:
    top, bottom = start.y + BOX_HEIGHT, end.y - 2
    bend = max(16, (bottom - top) // 2)
    return (
        f'<path class="arrow" marker-end="url(#head)" d="M{start.middle} {top} '
        f'C{start.middle} {top + bend} {end.middle} {bottom - bend} {end.middle} {bottom}"/>'
    )
