"""Training runs as lines of a table."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from rich import box
from rich.table import Table

Document = Mapping[str, Any]

SHORT_UID: Final = 8
NARROW: Final = 140
"""Below this many columns of the terminal, the table leaves out what says least."""


def _value(document: Document, section: str, name: str) -> Any:
    return (document.get(section) or {}).get(name)


def _number(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value)


def _job(document: Document) -> str:
    parts = [_value(document, "job", name) or "?" for name in ("namespace", "name")]
    return "/".join(parts)


def _started(document: Document) -> str:
    return str(document.get("started_at", ""))[:16].replace("T", " ")


def _ranks(document: Document) -> str:
    return f"{len(document.get('ranks', ()))}/{_value(document, 'job', 'world_size') or '?'}"


def _attempt(document: Document) -> str:
    parts = [_value(document, "job", name) or "?" for name in ("attempt", "max_retry")]
    return "/".join(map(str, parts))


def _loss(document: Document) -> str:
    last = _value(document, "training_results", "last_loss")
    final = _value(document, "training_results", "final_loss")
    return _number(last if final is None else final, "{:.4g}")


def _learned(document: Document) -> str:
    learned = _value(document, "training_results", "learned_fraction")
    return _number(None if learned is None else learned * 100, "{:.1f} %")


def _cost(document: Document) -> str:
    cost = document.get("cost")
    return f"{cost['low']:.4f}-{cost['high']:.4f}" if cost else "-"


Cell = Callable[[Document], str]

ALWAYS: Final[Mapping[str, Cell]] = {
    "run": lambda document: str(document["run_id"])[:SHORT_UID],
    "status": lambda document: str(document["status"]),
    "started": _started,
    "ranks": _ranks,
    "loss": _loss,
    "of best": _learned,
    "USD": _cost,
}
WHEN_WIDE: Final[Mapping[str, Cell]] = {
    "attempt": _attempt,
    "samples/s": lambda document: _number(
        _value(document, "throughput", "samples_per_second"), "{:,.0f}"
    ),
    "GPU s": lambda document: _number(document.get("gpu_seconds"), "{:.0f}"),
    "spread ms": lambda document: _number(_value(document, "gang", "started_spread_ms"), "{:.0f}"),
    "job": _job,
}
LEFT: Final = frozenset({"run", "status", "started", "job"})


def line(document: Document, *, wide: bool) -> dict[str, str]:
    """Column -> cell of one run; what is not known is a dash."""
    cells = {**ALWAYS, **WHEN_WIDE} if wide else ALWAYS
    return {name: cell(document) for name, cell in cells.items()}


def table(documents: Iterable[Document], width: int) -> Table:
    """One line per run, no wider than the terminal."""
    wide = width >= NARROW
    grid = Table(title="Training runs (UTC)", box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for name in [*ALWAYS, *(WHEN_WIDE if wide else ())]:
        grid.add_column(name, justify="left" if name in LEFT else "right", no_wrap=True)
    for document in documents:
        grid.add_row(*line(document, wide=wide).values())
    return grid
