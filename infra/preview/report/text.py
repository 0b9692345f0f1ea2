"""The report in a terminal, drawn with rich; plain and of one width when it is piped."""

import io
from typing import Any, Final

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from infra.preview.checks.verdict import Verdict
from infra.preview.cost import Cost
from infra.preview.report.model import Branch, Report, gathered
from infra.preview.report.money import hourly, spread

PIPED_WIDTH: Final = 120
STYLES: Final = {"ok": "green", "warning": "yellow", "refused": "bold red", "skipped": "cyan"}
MARKS: Final = {"ok": "✓", "warning": "!", "refused": "✗", "skipped": "~"}


def render_text(report: Report) -> str:
    """The report as plain text, the same whatever terminal, locale or environment."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        color_system=None,
        force_terminal=False,
        width=PIPED_WIDTH,
    )
    console.print(drawing(report))
    lines = (line.rstrip() for line in stream.getvalue().splitlines())
    return "\n".join(lines) + "\n"


def drawing(report: Report) -> Group:
    """What to print: tree, order, cost, verdicts, summary."""
    parts: list[Any] = [_heading(report)]
    if report.recording is not None:
        parts += [*(_tree(branch) for branch in report.branches), "", _order(report), ""]
    if report.cost is not None:
        parts += [_cost_table(report.cost), _cost_notes(report.cost), ""]
    if report.difference:
        parts += [Text("Since the earlier report", style="bold"), *map(_change, report.difference)]
        parts.append("")
    parts += [_verdicts(report.verdicts), "", _summary(report)]
    return Group(*parts)


def _heading(report: Report) -> Text:
    text = Text(f"Gangway {report.environment}", style="bold")
    if report.recording is not None:
        kinds = ", ".join(f"{number} {kind}" for kind, number in report.counts)
        text.append(f"  {report.region}, {report.total} resources: {kinds}", style="not bold")
    return text


def _tree(branch: Branch) -> Tree:
    tree = Tree(_label(branch, outer=True), guide_style="dim")
    _grow(tree, branch)
    return tree


def _grow(tree: Tree, branch: Branch) -> None:
    for child in gathered(branch.children):
        _grow(tree.add(_label(child, outer=False)), child)


def _label(branch: Branch, *, outer: bool) -> Text:
    text = Text(branch.title, style="bold" if outer else "")
    if branch.name:
        text.append(f" {branch.name}", style="not bold cyan")
    if branch.facts:
        text.append(f"  {' · '.join(branch.facts)}", style="not bold dim")
    if branch.needs:
        text.append(f"  needs {', '.join(branch.needs)}", style="not bold italic")
    return text


def _order(report: Report) -> Group:
    table = Table.grid(padding=(0, 1))
    table.add_column(justify="right")
    table.add_column()
    for index, wave in enumerate(report.waves, start=1):
        table.add_row(f"{index}.", ", ".join(wave))
    title = Text("Order of creation; destroy goes backwards", style="bold")
    return Group(title, Padding(table, (0, 0, 0, 2)))


def _cost_table(cost: Cost) -> Table:
    table = Table(box=None, pad_edge=False, title_justify="left", expand=False)
    table.add_column("Cost, dollars an hour", overflow="fold")
    table.add_column("amount", justify="right", no_wrap=True)
    table.add_column("idle", justify="right", no_wrap=True)
    table.add_column("full size", justify="right", no_wrap=True)
    table.add_column("price", justify="right", no_wrap=True)
    table.add_column("source", no_wrap=True)
    for line in cost.lines:
        price = " to ".join(f"{figure.usd:g}" for figure in line.figures)
        unit = f" / {line.figures[0].per}" if line.figures else "unknown"
        dates = sorted({f"{figure.date} {figure.mark}" for figure in line.figures})
        table.add_row(
            line.item, line.amount, hourly(line.idle), hourly(line.full), price + unit,
            ", ".join(dates),
        )  # fmt: skip
    table.add_row("total an hour", "", hourly(cost.idle), hourly(cost.full), "", "", style="bold")
    return table


def _cost_notes(cost: Cost) -> Text:
    lines = [
        f"idle month (730 h)   {spread(cost.idle_month)}",
        f"full size, all on demand   ${cost.full_on_demand:.3f} an hour",
    ]
    if cost.job is not None:
        lines.append(
            f"a job   {spread(cost.job.cost)} (on demand ${cost.job.on_demand:.2f}): {cost.job.how}"
        )
    lines.append(price_note(cost))
    return Text("\n".join(lines))


def price_note(cost: Cost) -> str:
    """Where the figures come from and what they leave out."""
    region = f"prices of {cost.prices_date} for {cost.prices_region}"
    if cost.substituted_for:
        region += f" (the file has none for {cost.substituted_for})"
    return (
        f"{region}, without traffic and tax; marks: S read in the source, X in an excerpt citing "
        "it, C computed, K general knowledge"
    )


def _change(line: str) -> Padding:
    styles = {"+": "green", "-": "red", "!": "yellow"}
    return Padding(Text(line, style=styles.get(line[0], "")), (0, 0, 0, 2))


def _verdicts(verdicts: tuple[Verdict, ...]) -> Table:
    table = Table.grid(padding=(0, 1))
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(overflow="fold")
    for verdict in verdicts:
        style = STYLES[verdict.level]
        table.add_row(Text(MARKS[verdict.level], style=style), verdict.check, verdict.sentence)
    return table


def _summary(report: Report) -> Text:
    return Text(f"{report.environment} is {report.summary}", style="bold")
