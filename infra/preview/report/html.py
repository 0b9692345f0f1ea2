"""The report as one HTML file: style and picture inside, nothing fetched, no script."""

from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path
from typing import Final

from infra.preview.checks.verdict import Verdict
from infra.preview.cost import Cost, CostLine
from infra.preview.report.model import Branch, Report
from infra.preview.report.money import hourly, spread
from infra.preview.report.svg import svg
from infra.preview.report.text import price_note

STYLE: Final = Path(__file__).with_name("style.css")
LEVELS: Final = ("refused", "warning", "skipped", "ok")


def render_html(report: Report) -> str:
    """The whole page."""
    style = STYLE.read_text(encoding="utf-8")
    title = f"Gangway {report.environment}: {report.summary}"
    body = "\n".join([_header(report), *_sections(report)])
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{escape(title)}</title>\n<style>\n{style}</style>\n</head>\n"
        f"<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _header(report: Report) -> str:
    level = "refused" if report.refused else "ok"
    kinds = ", ".join(f"{number} {kind}" for kind, number in report.counts)
    where = f"{report.region}, {report.total} resources: {kinds}" if report.recording else ""
    return (
        f"<header><h1>Gangway {escape(report.environment)}</h1>"
        f'<span class="badge {level}">{escape(report.summary)}</span>'
        f'<span class="where">{escape(where)}</span></header>'
    )


def _sections(report: Report) -> Iterator[str]:
    if report.cost is not None:
        yield _cards(report.cost)
    yield _section("Verdicts", _verdicts(report.verdicts))
    if report.difference:
        changes = escape("\n".join(report.difference))
        yield _section("Since the earlier report", [f"<pre>{changes}</pre>"])
    if report.recording is not None:
        yield _section("Order of creation; destroy goes backwards", [svg(report.recording)])
    if report.cost is not None:
        yield _section("Cost", _cost(report.cost))
    if report.recording is not None:
        yield _section("Resources", (_branch(branch) for branch in report.branches))


def _section(title: str, parts: Iterable[str]) -> str:
    return f"<section><h2>{escape(title)}</h2>\n" + "\n".join(parts) + "\n</section>"


def _cards(cost: Cost) -> str:
    cards = [
        ("an hour, idle", hourly(cost.idle), "no GPU node running"),
        (
            "an hour, full size",
            hourly(cost.full),
            f"all on demand ${cost.full_on_demand:.3f}",
        ),
        ("a month, idle", spread(cost.idle_month), "730 hours"),
    ]
    if cost.job is not None:
        cards.append(("a job", spread(cost.job.cost), cost.job.how))
    drawn = (
        f'<div class="card"><div class="label">{escape(label)}</div>'
        f'<div class="amount">{escape(amount)}</div><div class="more">{escape(more)}</div></div>'
        for label, amount, more in cards
    )
    return '<div class="cards">' + "".join(drawn) + "</div>"


def _verdicts(verdicts: tuple[Verdict, ...]) -> Iterator[str]:
    yield '<ul class="verdicts">'
    for verdict in sorted(verdicts, key=lambda item: LEVELS.index(item.level)):
        yield (
            f'<li><span class="level {verdict.level}">{verdict.level}</span>'
            f'<span class="check">{escape(verdict.check)}</span>'
            f"<span>{escape(verdict.sentence)}</span></li>"
        )
    yield "</ul>"


def _cost(cost: Cost) -> Iterator[str]:
    yield (
        '<table><thead><tr><th></th><th class="number">amount</th><th class="number">idle</th>'
        '<th class="number">full size</th><th class="number">price</th><th>source</th></tr></thead>'
        "<tbody>"
    )
    yield from map(_cost_row, cost.lines)
    yield (
        f'<tr class="total"><td>total an hour</td><td></td><td class="number">{hourly(cost.idle)}'
        f'</td><td class="number">{hourly(cost.full)}</td><td></td><td></td></tr></tbody></table>'
    )
    yield f'<p class="note">{escape(price_note(cost))}.</p>'


def _cost_row(line: CostLine) -> str:
    prices = " to ".join(f"{figure.usd:g}" for figure in line.figures)
    unit = f" / {line.figures[0].per}" if line.figures else "unknown"
    sources = "; ".join(
        f"{_link(figure.source, figure.url)} <span class='date'>{figure.date} {figure.mark}</span>"
        for figure in dict.fromkeys(line.figures)
    )
    return (
        f'<tr><td>{escape(line.item)}</td><td class="number">{escape(line.amount)}</td>'
        f'<td class="number">{escape(hourly(line.idle))}</td>'
        f'<td class="number">{escape(hourly(line.full))}</td>'
        f'<td class="number">{escape(prices + unit)}</td><td>{sources}</td></tr>'
    )


def _link(text: str, url: str) -> str:
    return f'<a href="{escape(url)}">{escape(text)}</a>' if url else escape(text)


def _branch(branch: Branch) -> str:
    if not branch.children:
        return f"<details><summary>{_label(branch)}</summary></details>"
    return (
        f"<details open><summary>{_label(branch)}</summary>"
        f"<ul>{''.join(map(_leaf, branch.children))}</ul></details>"
    )


def _leaf(branch: Branch) -> str:
    inside = f"<ul>{''.join(map(_leaf, branch.children))}</ul>" if branch.children else ""
    return f"<li>{_label(branch)}{inside}</li>"


def _label(branch: Branch) -> str:
    text = (
        f'<span class="kind">{escape(branch.title)}</span> '
        f'<span class="name">{escape(branch.name)}</span>'
    )
    if branch.facts:
        text += f' <span class="facts">{escape(" · ".join(branch.facts))}</span>'
    if branch.needs:
        text += f' <span class="needs">needs {escape(", ".join(branch.needs))}</span>'
    return text
