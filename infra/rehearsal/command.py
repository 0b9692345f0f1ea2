"""`gangway rehearse …`: an environment on this machine."""

import os
import subprocess
from collections.abc import Callable
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.table import Table

from infra import consoles
from infra.errors import GangwayError, UsageError
from infra.rehearsal.bench import measure, table
from infra.rehearsal.driver import DEADLINE_SECONDS, GANG_SECONDS, Rehearsal, UpReport
from infra.rehearsal.gang_watch import GangState
from infra.rehearsal.tools.command import tools

app = typer.Typer(add_completion=False, no_args_is_help=True, pretty_exceptions_enable=False)
app.command("tools")(tools)

Environment = Annotated[str, typer.Option("--env", help="Which Pulumi.<env>.yaml is rehearsed.")]
Name = Annotated[
    str | None, typer.Option(help="Name of the rehearsal, when several run side by side.")
]
LONGEST_SECONDS: Final = 86_400


def _seconds(option: str, least: int) -> Callable[[float], float]:
    """A check of a time: typer's own takes infinity and things that are no numbers."""

    def checked(value: float) -> float:
        if not least <= value <= LONGEST_SECONDS:
            message = f"{option} is {value:g}; allowed: {least} to {LONGEST_SECONDS} seconds"
            raise UsageError(message)
        return value

    return checked


Deadline = Annotated[
    float,
    typer.Option(
        "--deadline",
        callback=_seconds("--deadline", 1),
        help="Seconds after which the engine is ended.",
    ),
]


def _rehearsal(environment: str, name: str | None) -> Rehearsal:
    return Rehearsal(environment, consoles.standard_output(), name=name)


@app.command()
def up(
    env: Environment = "dev",
    name: Name = None,
    deadline: Deadline = DEADLINE_SECONDS,
    gang: Annotated[
        float,
        typer.Option(
            callback=_seconds("--gang", 0), help="Seconds to wait for the gang; 0 does not wait."
        ),
    ] = GANG_SECONDS,
) -> None:
    """Bring the environment up and wait until its gang is bound."""
    rehearsal = _rehearsal(env, name)
    report = rehearsal.up(deadline_seconds=deadline, gang_seconds=gang)
    _tell(rehearsal, report)


def _tell(rehearsal: Rehearsal, report: UpReport) -> None:
    console = consoles.standard_output()
    parts = ", ".join(f"{part} {seconds:.1f} s" for part, seconds in report.seconds.items())
    total = sum(report.seconds.values())
    console.print(f"{rehearsal.state.name} is up in {total:.1f} s ({parts})", highlight=False)
    if report.gang is not None:
        console.print(_gang_line(report.gang), highlight=False)
    console.print(
        f"look around: gangway rehearse shell {rehearsal.arguments}\n"
        f"take it down: gangway rehearse down {rehearsal.arguments}",
        highlight=False,
    )


@app.command()
def preview(
    env: Environment = "dev", name: Name = None, deadline: Deadline = DEADLINE_SECONDS
) -> None:
    """Ask the real engine what an `up` would change."""
    _rehearsal(env, name).preview(deadline_seconds=deadline)


@app.command()
def status(env: Environment = "dev", name: Name = None) -> None:
    """Show which parts of the rehearsal run, and how the gang does."""
    rehearsal, console = _rehearsal(env, name), consoles.standard_output()
    parts = rehearsal.status()
    if not parts:
        message = (
            f"there is no rehearsal {rehearsal.state.name}; `gangway rehearse up "
            f"{rehearsal.arguments}` starts one"
        )
        raise GangwayError(message)
    table = Table.grid(padding=(0, 2))
    for part, runs in parts.items():
        again = f"is gone; `gangway rehearse up {rehearsal.arguments}` tells or mends it"
        table.add_row(part, "runs" if runs else again)
    console.print(table)
    if parts.get("kube-apiserver"):
        console.print(_gang_now(rehearsal), highlight=False)
    if not all(parts.values()):
        raise typer.Exit(1)


def _gang_now(rehearsal: Rehearsal) -> str:
    try:
        return _gang_line(rehearsal.gang())
    except GangwayError as error:
        return f"gang: not known, as {error}"


def _gang_line(gang: GangState | None) -> str:
    if gang is None:
        return "no training job yet"
    return f"gang: {gang.phase}, {gang.bound} of {gang.minimum} bound, {gang.running} running"


@app.command()
def down(
    env: Environment = "dev",
    name: Name = None,
    deadline: Deadline = DEADLINE_SECONDS,
    force: Annotated[
        bool, typer.Option("--force", help="Do not destroy the stack first; just end everything.")
    ] = False,
) -> None:
    """Destroy the stack, prove that nothing is left, end every process."""
    _rehearsal(env, name).down(deadline_seconds=deadline, force=force)


@app.command()
def bench(
    env: Environment = "dev",
    name: Annotated[str, typer.Option(help="Name of the rehearsal that is measured.")] = "bench",
    rounds: Annotated[int, typer.Option(min=1, help="Lives of a rehearsal, one by one.")] = 1,
) -> None:
    """Measure up, preview and down from nothing, and the memory of it all."""
    console = consoles.standard_output()
    rehearsal = Rehearsal(env, Console(quiet=True), name=name)
    measured = [measure(rehearsal, console.print) for _ in range(rounds)]
    rows = Table(box=None, pad_edge=False)
    for heading in ("figure", "rounds", "limit", ""):
        rows.add_column(heading, overflow="fold")
    for row in table(measured):
        rows.add_row(*row)
    console.print(rows)


@app.command()
def shell(env: Environment = "dev", name: Name = None) -> None:
    """Open a shell with kubectl, pulumi and aws set up for the rehearsal."""
    rehearsal = _rehearsal(env, name)
    if not rehearsal.state.exists:
        message = (
            f"there is no rehearsal {rehearsal.state.name}; `gangway rehearse up "
            f"{rehearsal.arguments}` starts one"
        )
        raise GangwayError(message)
    run = subprocess.run(  # noqa: S603 - the user's own shell
        [os.environ.get("SHELL", "/bin/sh")],
        check=False,
        env=os.environ | rehearsal.shell_variables(),
    )
    raise typer.Exit(run.returncode)
