"""A picture as plain shapes, so that SVG and PNG are drawn from one list."""

from dataclasses import dataclass
from typing import Literal, TypeAlias

Anchor: TypeAlias = Literal["start", "middle", "end"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Box:
    """A filled rectangle; `stripes` draws diagonals over it in that colour."""

    fill: str
    height: float
    outline: str | None = None
    stripes: str | None = None
    tip: str = ""
    width: float
    x: float
    y: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """A straight line; a dashed one is a guide for the eye."""

    color: str
    dashed: bool = False
    width: float = 1
    x1: float
    x2: float
    y1: float
    y2: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Label:
    """One line of text; `y` is its baseline."""

    anchor: Anchor = "start"
    bold: bool = False
    color: str
    size: float
    text: str
    x: float
    y: float


@dataclass(frozen=True, kw_only=True, slots=True)
class Pointer:
    """A small triangle that points down at a moment."""

    color: str
    size: float
    tip: str = ""
    x: float
    y: float


Shape: TypeAlias = Box | Line | Label | Pointer


@dataclass(frozen=True, kw_only=True, slots=True)
class Drawing:
    """Shapes on a white sheet, later ones on top, with a text for those who cannot see it."""

    description: str
    height: float
    shapes: tuple[Shape, ...]
    title: str
    width: float
