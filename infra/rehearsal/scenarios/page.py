"""The demo's result as one self-contained HTML page: no script, nothing fetched."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Final

from infra.rehearsal.scenarios.findings import Outcome
from infra.rehearsal.scenarios.picture import draw
from infra.rehearsal.scenarios.svg import svg

Document = Mapping[str, Any]

_STYLE: Final = """
:root { color-scheme: light; }
body { color: #1f2937; background: #fff; margin: 2rem auto; max-width: 1080px; padding: 0 1rem;
  font: 15px/1.5 Inter, "Segoe UI", "Helvetica Neue", Arial, sans-serif; }
h1 { font-size: 1.5rem; margin-bottom: .2rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.lead { color: #4b5563; margin-top: 0; }
svg { width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; }
th, td { border-bottom: 1px solid #e5e7eb; padding: .4rem .6rem; text-align: left;
  vertical-align: top; }
th { color: #4b5563; font-weight: 600; }
td.figure, th.figure { text-align: right;
  font-variant-numeric: tabular-nums; }
.happened { color: #166534; } .did-not-happen { color: #b91c1c; font-weight: 600; }
.does-not-apply { color: #6b7280; }
.wide { overflow-x: auto; } footer { color: #6b7280; font-size: .85rem; margin-top: 2rem; }
"""


def page(document: Document) -> str:
    """The page; every figure on it stands in a `data` element with the document's exact value."""
    titles = {s["name"]: s["title"] for s in document["schedulers"]}
    verdict = "The story happened." if document["happened"] else "The story did not happen."
    if document["stopped"]:
        verdict = f"The story did not happen: {escape(document['stopped'])}."
    not_shown = "".join(f"<li>{escape(text)}</li>" for text in document["not_shown"])
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<title>Gangway demo: default scheduler and Volcano side by side</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>Default scheduler and Volcano, side by side</h1>
<p class="lead">{_figure(document["gpus"])} GPU{"s" if document["gpus"] > 1 else ""} for each,
the same jobs at the same time. {verdict}</p>
<div class="wide">{svg(draw(document))}</div>
<h2>What it cost</h2>
{_cost(document)}
<h2>When the jobs were whole</h2>
{_gangs(document)}
<h2>What was expected, and what was seen</h2>
{_findings(document, titles)}
{f"<h2>Not shown with these numbers</h2><ul>{not_shown}</ul>" if not_shown else ""}
{_footer(document)}
</body>
</html>
"""


class _Number(str):
    """A cell of figures, set flush right."""

    __slots__ = ()


def _figure(value: float | None, text: str | None = None) -> _Number:
    """A number for people, with its exact value for programs."""
    if value is None:
        return _Number("never")
    shown = text if text is not None else str(value)
    return _Number(f'<data value="{value!r}">{escape(shown)}</data>')


def _usd(value: float, digits: int = 4) -> _Number:
    return _figure(value, f"${value:.{digits}f}")


def _seconds(value: float) -> _Number:
    return _figure(value, f"{value:.2f}")


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [_row("th", head), *(_row("td", row) for row in rows)]
    return f'<div class="wide"><table>{"".join(lines)}</table></div>'


def _row(tag: str, cells: Sequence[str]) -> str:
    marks = (' class="figure"' if isinstance(cell, _Number) else "" for cell in cells)
    inner = "".join(f"<{tag}{mark}>{cell}</{tag}>" for mark, cell in zip(marks, cells, strict=True))
    return f"<tr>{inner}</tr>"


def _cost(document: Document) -> str:
    head = [
        "Scheduler",
        *map(_Number, ("GPU-seconds held", "useful", "wasted", "on demand", "spot")),
    ]
    rows = [
        [
            escape(scheduler["title"]),
            *(_seconds(scheduler["gpu_seconds"][kind]) for kind in ("held", "useful", "wasted")),
            _usd(scheduler["wasted_usd"]["on_demand"]),
            _spot(scheduler["wasted_usd"], 4),
        ]
        for scheduler in document["schedulers"]
    ]
    price = document["price"]
    usd = price["usd_per_gpu_hour"]
    return _table(head, rows) + (
        f"<p>The dollars are those of the wasted GPU-seconds. One GPU-hour of "
        f"{escape(price['instance_type'])} in {escape(price['region'])}: "
        f"{_usd(usd['on_demand'], 3)} on demand, {_spot(usd, 3)} spot "
        f"(price file of {escape(price['date'])}).</p>"
    )


def _spot(usd: Mapping[str, float], digits: int) -> _Number:
    return _Number(f"{_usd(usd['spot_low'], digits)} to {_usd(usd['spot_high'], digits)}")


def _gangs(document: Document) -> str:
    head = [
        "Scheduler",
        "Job",
        _Number("Workers"),
        "All workers bound",
        _Number("First to last binding"),
        _Number("Wasted GPU-seconds"),
    ]
    rows = [
        [
            escape(scheduler["title"]),
            escape(gang["name"]),
            _figure(gang["workers"]),
            _completion(gang),
            _figure(gang["spread_seconds"], _spread(gang["spread_seconds"])),
            _seconds(gang["wasted_gpu_seconds"]),
        ]
        for scheduler in document["schedulers"]
        for gang in scheduler["gangs"]
        if not gang["blocker"]
    ]
    return _table(head, rows)


def _completion(gang: Document) -> str:
    at = gang["complete_at_seconds"]
    if at is None:
        return "never"
    return f"{escape(gang['complete_at'])} ({_figure(at, f'{at:.2f} s')})"


def _spread(seconds: float | None) -> str:
    if seconds is None:
        return "never"
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def _findings(document: Document, titles: Mapping[str, str]) -> str:
    rows = [
        [
            str(finding["part"]),
            escape(titles[finding["scheduler"]]),
            f"{escape(finding['expected'])}, because {escape(finding['reason'])}",
            _outcome(finding),
        ]
        for finding in document["findings"]
    ]
    return _table(["Part", "Scheduler", "Expected", "Seen"], rows)


def _outcome(finding: Document) -> str:
    outcome = Outcome(finding["outcome"])
    kind = outcome.replace(" ", "-")
    words = f'<span class="{kind}">{_SIGNS[outcome]} {outcome}</span>'
    return f"{words}: {escape(finding['observed'])}"


_SIGNS: Final = {
    Outcome.HAPPENED: "✓",
    Outcome.DID_NOT_HAPPEN: "✗",
    Outcome.DOES_NOT_APPLY: "–",  # noqa: RUF001 - a dash, on purpose
}


def _footer(document: Document) -> str:
    error = document["clock_error_microseconds"]
    return (
        f"<footer>Observed on {escape(document['started_at'])}: every binding as the API server's "
        "audit log has it, in microseconds of its one clock. This machine's own moments (the end "
        f"of the picture) are right within {_figure(error, f'{error / 1000:.1f} ms')}.</footer>"
    )
