"""`gangway rehearse tools`: gets every tool of the rehearsal, or tells where from."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.markup import escape
from rich.table import Table

from infra import consoles
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.rehearsal.tools.plan import ToolPlan, refuse_missing
from infra.rehearsal.tools.resolve import check, resolve

_MINUTE = 60
_WIDEST_ROW = 240


def tools(
    names: Annotated[
        list[str] | None, typer.Argument(help="Tools to get; all of them when none is named.")
    ] = None,
    only_check: Annotated[
        bool, typer.Option("--check", help="Only tell what comes from where; changes nothing.")
    ] = False,
) -> None:
    """Get the programs and charts that the rehearsal runs, each once."""
    console = consoles.standard_output(width=_WIDEST_ROW)
    wanted = names or list(CATALOGUE)
    if only_check:
        plans = check(wanted)
        console.print(plan_table(plans))
        console.print(_summary(plans))
        refuse_missing(plans)
        return
    paths = resolve(wanted, console)
    for name, path in paths.items():
        console.print(f"{name}: {path}", highlight=False, soft_wrap=True)


def plan_table(plans: Sequence[ToolPlan]) -> Table:
    """Return one row per tool: version, where it comes from, how long that takes."""
    table = Table(box=None, pad_edge=False)
    for heading in ("tool", "version", "from", "place", "time"):
        table.add_column(heading, overflow="fold")
    for row in plans:
        table.add_row(
            row.tool.name,
            row.version or row.tool.version,
            "[red]nowhere" if row.missing else row.origin,
            escape(row.place),
            "" if row.path or row.missing else _duration(row.seconds),
        )
    return table


def _summary(plans: Sequence[ToolPlan]) -> str:
    ready = sum(row.path is not None for row in plans)
    seconds = sum(row.seconds for row in plans if row.path is None)
    rest = f", the rest takes {_duration(seconds)}" if seconds else ""
    return f"{ready} of {len(plans)} tools are here{rest}"


def _duration(seconds: int) -> str:
    if seconds < _MINUTE:
        return f"about {seconds} s"
    return f"about {seconds / _MINUTE:.0f} min"
