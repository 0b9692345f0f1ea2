"""The `gangway` command: each area brings its own command, imported only when it is called."""

import importlib
import sys
from typing import Any, Final

import click
import typer

from infra.errors import GangwayError

COMMANDS: Final = {
    "preview": (
        "infra.preview.command",
        "preview",
        "Show an environment: resources, cost, verdicts.",
    ),
    "rehearse": ("infra.rehearsal.command", "app", "Run an environment on this machine."),
    "demo": (
        "infra.rehearsal.scenarios.command",
        "demo",
        "Default scheduler and Volcano side by side.",
    ),
    "results": ("infra.operate.results", "results", "List and join the reports of training runs."),
}
"""Command -> module, attribute (a function or a typer app), one line of help."""


class LazyCommands(click.Group):
    """A click group whose commands are imported on first use, so that `preview` starts fast."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Name the commands in the order that a newcomer needs them."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import and return the command, or None when there is none of that name."""
        if cmd_name not in COMMANDS:
            return None
        module_name, attribute, help_line = COMMANDS[cmd_name]
        target: Any = getattr(importlib.import_module(module_name), attribute)
        return _as_click(cmd_name, target, help_line)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands without importing any of them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, line) for name, (_, _, line) in COMMANDS.items()])


def _as_click(name: str, target: Any, help_line: str) -> click.Command:
    app = target
    if not isinstance(target, typer.Typer):
        app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
        app.command(name, help=help_line)(target)
    command: click.Command = typer.main.get_command(app)
    command.name = name
    return command


def main() -> None:
    """Run the command line; a failure a user can act on is one sentence and its exit code."""
    group = LazyCommands(name="gangway", help="Gang-scheduled GPU training on Amazon EKS.")
    try:
        # Outside standalone mode click hands an exit code back as the result.
        result = group.main(standalone_mode=False, prog_name="gangway")
        sys.exit(result if isinstance(result, int) else 0)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        click.echo("interrupted", err=True)
        sys.exit(130)
    except GangwayError as error:
        click.echo(str(error), err=True)
        sys.exit(error.exit_code)
