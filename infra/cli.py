"""The `gangway` command: each area brings its own command, imported only when it is called."""

import importlib
import sys
from typing import TYPE_CHECKING, Any, Final

from infra.errors import GangwayError
from infra.importing import uncollected

if TYPE_CHECKING:
    import typer

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
    "results": (
        "infra.operate.results",
        "results",
        "List and join the reports of training runs.",
    ),
}
"""Command -> module, attribute (a function or a typer app), one line of help."""

INTERRUPTED: Final = 130
"""Exit code after Ctrl-C: 128 + SIGINT, as shells have it."""


def application(words: list[str]) -> "typer.Typer":
    """All commands by name and help line; only the one that `words` call is imported."""
    import typer  # noqa: PLC0415 - a tenth of a second in which Ctrl-C may come: main answers it

    app = typer.Typer(
        add_completion=False,
        help="Gang-scheduled GPU training on Amazon EKS.",
        no_args_is_help=True,
        pretty_exceptions_enable=False,
    )
    app.callback()(_together)
    for name, (module, attribute, help_line) in COMMANDS.items():
        target: Any = _not_called
        if words[:1] == [name]:
            with uncollected():
                target = getattr(importlib.import_module(module), attribute)
        if isinstance(target, typer.Typer):
            app.add_typer(target, name=name, help=help_line)
        else:
            app.command(name, help=help_line)(target)
    return app


def _together() -> None:
    """Keep the commands a group, however few there are."""


def _not_called() -> None:
    """Stand in the list of commands for one that this call does not need."""


def main() -> None:
    """Run the command line; a failure a user can act on is one sentence and its exit code."""
    words = sys.argv[1:]
    try:
        application(words)(words, prog_name="gangway")
    except GangwayError as error:
        _say(str(error))
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        _say("interrupted")
        sys.exit(INTERRUPTED)


def _say(sentence: str) -> None:
    if sys.stderr is not None:
        sys.stderr.write(f"{sentence}\n")
