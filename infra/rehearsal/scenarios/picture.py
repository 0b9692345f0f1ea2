"""The timeline of GPUs as a drawing: who held which GPU when, useful or wasted."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.rehearsal.scenarios.drawing import Box, Drawing, Label, Line, Pointer, Shape

Document = Mapping[str, Any]

WIDTH: Final = 1080
_LEFT: Final = 92
_RIGHT: Final = 24
_TOP: Final = 92
_LANE: Final = 26
_WAIT: Final = 18
_GAP: Final = 4
_HEAD: Final = 48
_BETWEEN: Final = 20
_AXIS: Final = 34
_LEGEND: Final = 34

INK: Final = "#1f2937"
_MUTED: Final = "#6b7280"
_GRID: Final = "#e5e7eb"
_FREE: Final = "#f3f4f6"
_WASTE: Final = "#dc2626"
_WASTE_FILL: Final = "#fee2e2"
_BLOCKER: Final = "#64748b"
_WAIT_FILL: Final = "#ffffff"
GANG_COLORS: Final = ("#2563eb", "#7c3aed", "#0d9488", "#b45309")
_LETTER: Final = 0.56
"""Width of a letter, as a part of the font size: an upper estimate for what fits a box."""

_LEAST_WAIT_SECONDS: Final = 0.15
"""A shorter wait is a scheduler at work, and no mark that anybody could see."""


@dataclass(frozen=True, kw_only=True, slots=True)
class _Sheet:
    colors: Mapping[str, str]
    document: Document
    gpu_names: tuple[str, ...]

    @property
    def scale(self) -> float:
        seconds: float = self.document["seconds"]
        return (WIDTH - _LEFT - _RIGHT) / max(seconds, 1.0)

    def x(self, seconds: float) -> float:
        return _LEFT + seconds * self.scale


def gang_colors(document: Document) -> dict[str, str]:
    """A colour for each gang, the same in every half."""
    gangs = document["schedulers"][0]["gangs"]
    jobs = [gang["name"] for gang in gangs if not gang["blocker"]]
    blockers = [gang["name"] for gang in gangs if gang["blocker"]]
    colors = {name: GANG_COLORS[i % len(GANG_COLORS)] for i, name in enumerate(jobs)}
    return colors | dict.fromkeys(blockers, _BLOCKER)


def draw(document: Document) -> Drawing:
    """The drawing of a demo's document; every figure on it is one of the document's."""
    names = tuple(f"GPU {index}" for index in range(document["gpus"]))
    sheet = _Sheet(colors=gang_colors(document), document=document, gpu_names=names)
    shapes: list[Shape] = list(_heading())
    top = float(_TOP)
    for scheduler in document["schedulers"]:
        height = _half_height(scheduler)
        shapes += _half(sheet, scheduler, top)
        top += height + _BETWEEN
    shapes = [*_guides(sheet, top - _BETWEEN), *shapes, *_axis(sheet, top - _BETWEEN)]
    shapes += _legend(sheet, top - _BETWEEN + _AXIS)
    return Drawing(
        description=describe(document),
        height=top - _BETWEEN + _AXIS + _LEGEND,
        shapes=tuple(shapes),
        title="Who held which GPU when",
        width=WIDTH,
    )


def describe(document: Document) -> str:
    """The picture's message in words."""
    halves = "; ".join(
        f"{s['title']}: {s['gpu_seconds']['wasted']:.2f} GPU-seconds wasted, "
        f"{s['gpu_seconds']['useful']:.2f} useful"
        for s in document["schedulers"]
    )
    return f"{document['gpus']} GPUs for each scheduler, {document['seconds']:.1f} s. {halves}."


def _heading() -> Iterator[Shape]:
    yield Label(color=INK, size=19, bold=True, text="Who held which GPU when", x=_LEFT, y=32)
    yield Label(
        color=_MUTED,
        size=12,
        text="The same jobs on the same number of GPUs, from the API server's audit log",
        x=_LEFT,
        y=52,
    )


def _guides(sheet: _Sheet, bottom: float) -> Iterator[Shape]:
    parts = sheet.document["parts"]
    for part in parts[1:]:
        x = sheet.x(part["at"])
        yield Line(color="#9ca3af", dashed=True, x1=x, x2=x, y1=_TOP - 16, y2=bottom)
    ends = [*(part["at"] for part in parts[1:]), sheet.document["seconds"]]
    for part, end in zip(parts, ends, strict=False):
        room = (end - part["at"]) * sheet.scale - 8
        text = f"{part['part']}  {part['title']}"
        fitting = text if _fits(text, 12, room) else str(part["part"])
        x = sheet.x(part["at"]) + 5
        yield Label(color=INK, size=12, bold=True, text=fitting, x=x, y=_TOP - 6)


def _half_height(scheduler: Document) -> float:
    lanes = len(scheduler["lanes"]) * (_LANE + _GAP)
    return _HEAD + lanes + len(_wait_rows(scheduler)) * (_WAIT + _GAP)


def _half(sheet: _Sheet, scheduler: Document, top: float) -> Iterator[Shape]:
    seconds, usd = scheduler["gpu_seconds"], scheduler["wasted_usd"]
    yield Label(color=INK, size=15, bold=True, text=scheduler["title"], x=_LEFT, y=top + 22)
    wasted = (
        f"wasted {seconds['wasted']:.2f} of {seconds['held']:.2f} GPU-seconds "
        f"(${usd['on_demand']:.4f} on demand)"
    )
    yield Label(
        anchor="end",
        color=_WASTE if seconds["wasted"] >= _LEAST_WAIT_SECONDS else INK,
        size=13,
        bold=True,
        text=wasted,
        x=WIDTH - _RIGHT,
        y=top + 22,
    )
    y = top + _HEAD
    for name, lane in zip(sheet.gpu_names, scheduler["lanes"], strict=True):
        yield from _lane(sheet, lane, name, y)
        y += _LANE + _GAP
    yield from _deadlocks(sheet, scheduler, top + _HEAD)
    yield from _completions(sheet, scheduler, top + _HEAD)
    for row in _wait_rows(scheduler):
        yield Label(anchor="end", color=_MUTED, size=11, text="waiting", x=_LEFT - 8, y=y + 13)
        for wait in row:
            yield from _wait(sheet, wait, y)
        y += _WAIT + _GAP


def _lane(sheet: _Sheet, lane: Document, name: str, y: float) -> Iterator[Shape]:
    yield Label(anchor="end", color=INK, size=12, text=name, x=_LEFT - 8, y=y + 17)
    yield Box(fill=_FREE, height=_LANE, width=WIDTH - _LEFT - _RIGHT, x=_LEFT, y=y)
    for span in lane["spans"]:
        color = sheet.colors[span["gang"]]
        width = (span["end"] - span["start"]) * sheet.scale
        is_wasted = not span["useful"]
        yield Box(
            fill=_WASTE_FILL if is_wasted else color,
            height=_LANE,
            outline=_WASTE if is_wasted and width > 3 else None,  # noqa: PLR2004 - a hairline
            stripes="#fca5a5" if is_wasted else None,
            tip=(
                f"{span['worker']}: {span['start']:.6f} s to {span['end']:.6f} s, "
                f"{'useful' if span['useful'] else 'wasted'}"
            ),
            width=width,
            x=sheet.x(span["start"]),
            y=y,
        )
        text = span["gang"] if span["useful"] else f"{span['gang']}: wasted"
        if _fits(text, 12, width - 10):
            yield Label(
                color="#991b1b" if is_wasted else "#ffffff",
                size=12,
                bold=True,
                text=text,
                x=sheet.x(span["start"]) + 6,
                y=y + 17,
            )


def _completions(sheet: _Sheet, scheduler: Document, y: float) -> Iterator[Shape]:
    """A pointer at the exact moment at which the last worker of a job was bound."""
    for gang in scheduler["gangs"]:
        at = gang["complete_at_seconds"]
        if at is None or gang["blocker"]:
            continue
        tip = (
            f"{gang['name']}: all {gang['workers']} workers bound at {gang['complete_at']}, "
            f"{gang['spread_seconds']:.6f} s after the first"
        )
        x = sheet.x(at)
        yield Pointer(color=INK, size=9, tip=tip, x=x, y=y - 1)
        text = f"all bound {at:.2f} s"
        beside = x + 8 + len(text) * 11 * _LETTER < WIDTH - _RIGHT
        yield Label(
            anchor="start" if beside else "end",
            color=_MUTED,
            size=11,
            text=text,
            x=x + 8 if beside else x - 8,
            y=y - 3,
        )


def _deadlocks(sheet: _Sheet, scheduler: Document, y: float) -> Iterator[Shape]:
    for deadlock in scheduler["deadlocks"]:
        middle = sheet.x((deadlock["start"] + deadlock["end"]) / 2)
        text = f"deadlock for {deadlock['seconds']:.2f} s"
        yield Label(anchor="middle", color=_WASTE, size=12, bold=True, text=text, x=middle, y=y - 4)


def _wait(sheet: _Sheet, wait: Document, y: float) -> Iterator[Shape]:
    width = (wait["end"] - wait["start"]) * sheet.scale
    color = sheet.colors[wait["gang"]]
    yield Box(
        fill=_WAIT_FILL, height=_WAIT, outline=color, width=width, x=sheet.x(wait["start"]), y=y
    )
    for text in (f"{wait['gang']}: {wait['workers']} waiting", f"{wait['workers']}"):
        if _fits(text, 11, width - 8):
            yield Label(color=color, size=11, text=text, x=sheet.x(wait["start"]) + 5, y=y + 13)
            return


def _wait_rows(scheduler: Document) -> list[list[Document]]:
    """Waits that can be seen, each row without overlaps."""
    rows: list[list[Document]] = []
    for wait in scheduler["waiting"]:
        if wait["end"] - wait["start"] < _LEAST_WAIT_SECONDS:
            continue
        free = next((row for row in rows if row[-1]["end"] <= wait["start"]), None)
        if free is None:
            rows.append([wait])
        else:
            free.append(wait)
    return rows


def _axis(sheet: _Sheet, y: float) -> Iterator[Shape]:
    yield Line(color=_MUTED, x1=_LEFT, x2=WIDTH - _RIGHT, y1=y + 6, y2=y + 6)
    seconds = sheet.document["seconds"]
    step = next(step for step in (1, 2, 5, 10, 20, 50, 100, 1000) if seconds / step <= 16)  # noqa: PLR2004 - ticks that do not crowd
    for tick in range(0, int(seconds) + 1, step):
        x = sheet.x(tick)
        yield Line(color=_MUTED, x1=x, x2=x, y1=y + 6, y2=y + 11)
        text = f"{tick} s"
        yield Label(anchor="middle", color=_MUTED, size=11, text=text, x=x, y=y + 24)


def _legend(sheet: _Sheet, y: float) -> Iterator[Shape]:
    x = float(_LEFT)
    jobs = [color for color in sheet.colors.values() if color != _BLOCKER]
    entries: list[tuple[str, Callable[[float], list[Shape]]]] = [
        ("useful: every worker of the job has its GPU", lambda at: _swatches(jobs, at, y)),
        ("wasted: held while a worker is missing", lambda at: [_waste_swatch(at, y)]),
        ("other work", lambda at: _swatches([_BLOCKER], at, y)),
        ("free", lambda at: _swatches([_FREE], at, y)),
    ]
    for text, swatch in entries:
        shapes = swatch(x)
        yield from shapes
        x += 14 * len(shapes) + 6
        yield Label(color=_MUTED, size=11, text=text, x=x, y=y + 16)
        x += len(text) * 11 * _LETTER * 0.92 + 18


def _swatches(colors: list[str], x: float, y: float) -> list[Shape]:
    return [
        Box(fill=color, height=12, width=12, x=x + 14 * index, y=y + 6)
        for index, color in enumerate(colors)
    ]


def _waste_swatch(x: float, y: float) -> Shape:
    return Box(
        fill=_WASTE_FILL, height=12, outline=_WASTE, stripes="#fca5a5", width=12, x=x, y=y + 6
    )


def _fits(text: str, size: float, room: float) -> bool:
    return len(text) * size * _LETTER <= room
