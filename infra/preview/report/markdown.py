"""The report as Markdown for a pull request's comment: verdicts first, the long parts folded."""

from collections.abc import Iterator
from typing import Final

from infra.preview.cost import Cost
from infra.preview.report.mermaid import mermaid
from infra.preview.report.model import Branch, Report, gathered
from infra.preview.report.money import hourly, spread
from infra.preview.report.text import price_note

LEVELS: Final = {"refused": "❌", "warning": "⚠️", "skipped": "⏭️", "ok": "✅"}
CHANGES_SHOWN: Final = 100
"""A comment may have 65,536 characters."""


def marker(environment: str) -> str:
    """First line of the comment, by which a workflow finds and replaces it."""
    return f"<!-- gangway-preview: {environment} -->"


def render_markdown(report: Report) -> str:
    """Summary, verdicts, cost, then the tree and the picture in folded sections."""
    icon = "❌" if report.refused else "✅"
    lines = [marker(report.environment), f"## {icon} {report.environment} is {report.summary}", ""]
    if report.recording is not None:
        kinds = ", ".join(f"{number} {kind}" for kind, number in report.counts)
        lines += [f"{report.region}, **{report.total} resources**: {kinds}", ""]
    lines += [*_verdicts(report), ""]
    if report.cost is not None:
        lines += [*_cost(report.cost), ""]
    if report.difference:
        shown, more = report.difference[:CHANGES_SHOWN], len(report.difference) - CHANGES_SHOWN
        rest = [f"and {more} more"] if more > 0 else []
        lines += ["Since the earlier report:", "", "```diff", *shown, *rest, "```", ""]
    if report.recording is not None:
        order = [f"{index}. {', '.join(wave)}" for index, wave in enumerate(report.waves, start=1)]
        lines += [
            *_folded("Order of creation; destroy goes backwards", order),
            *_folded("Resources", list(_tree(report.branches, 0))),
            *_folded("Picture", ["```mermaid", mermaid(report.recording).rstrip(), "```"]),
        ]
    return "\n".join(lines).rstrip() + "\n"


def _verdicts(report: Report) -> Iterator[str]:
    yield "| | check | |"
    yield "|---|---|---|"
    order = list(LEVELS)
    for verdict in sorted(report.verdicts, key=lambda item: order.index(item.level)):
        yield f"| {LEVELS[verdict.level]} | {verdict.check} | {_cell(verdict.sentence)} |"


def _cost(cost: Cost) -> Iterator[str]:
    yield "| Cost | |"
    yield "|---|---:|"
    yield f"| an hour, idle | **{hourly(cost.idle)}** |"
    on_demand = f"all on demand ${cost.full_on_demand:.3f}"
    yield f"| an hour, full size | **{hourly(cost.full)}** ({on_demand}) |"
    yield f"| a month, idle | **{spread(cost.idle_month)}** |"
    if cost.job is not None:
        yield f"| a job | **{spread(cost.job.cost)}** ({_cell(cost.job.how)}) |"
    yield ""
    rows = ["| | amount | idle an hour | full size an hour | price | source |"]
    rows.append("|---|---:|---:|---:|---:|---|")
    for line in cost.lines:
        prices = " to ".join(f"{figure.usd:g}" for figure in line.figures)
        unit = f" / {line.figures[0].per}" if line.figures else "unknown"
        sources = "; ".join(
            f"{_link(figure.source, figure.url)}, {figure.date} ({figure.mark})"
            for figure in dict.fromkeys(line.figures)
        )
        rows.append(
            f"| {_cell(line.item)} | {line.amount} | {hourly(line.idle)} | {hourly(line.full)} "
            f"| {prices}{unit} | {sources} |"
        )
    yield from _folded("Cost by line", [*rows, "", f"{price_note(cost)}."])


def _link(text: str, url: str) -> str:
    return f"[{_cell(text)}]({url})" if url else _cell(text)


def _tree(branches: tuple[Branch, ...], depth: int) -> Iterator[str]:
    for branch in gathered(branches):
        title = f"**{branch.title}**" if depth == 0 else branch.title
        line = f"{'  ' * depth}- {title}" + (f" `{branch.name}`" if branch.name else "")
        if branch.facts:
            line += f": {_cell(' · '.join(branch.facts))}"
        if branch.needs:
            line += f" (needs {', '.join(branch.needs)})"
        yield line
        yield from _tree(branch.children, depth + 1)


def _folded(title: str, lines: list[str]) -> list[str]:
    return [f"<details><summary>{title}</summary>", "", *lines, "", "</details>", ""]


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;").replace("\n", " ")
