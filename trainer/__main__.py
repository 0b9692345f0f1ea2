"""Entry point of a training pod.

python -m trainer                     the built-in task in the framework of the settings
python -m trainer --script FILE       a user's train(context)
python -m trainer -- COMMAND ARGS...  a user's own program
"""

import logging
import os
import sys
from collections.abc import Mapping
from pathlib import Path

from trainer.environment import read_environment
from trainer.exits import ExitCode, TrainerError
from trainer.logs import set_up_logging
from trainer.supervisor import Supervisor

LOG = logging.getLogger("trainer")

TERMINATION_LOG = Path("/dev/termination-log")


def tell(message: str, path: Path = TERMINATION_LOG) -> None:
    """Leave the cause where `kubectl describe pod` shows it, when the pod has such a place."""
    try:
        if path.exists():
            path.write_text(message, encoding="utf-8")
    except OSError as error:
        LOG.warning("no termination message: %s", error)


def usable(arguments: list[str]) -> bool:
    """Whether the command line is one of the three forms."""
    if not arguments:
        return True
    if arguments[0] == "--script":
        return len(arguments) == len(("--script", "FILE"))
    return arguments[0] == "--" and len(arguments) > 1


def run(arguments: list[str], variables: Mapping[str, str]) -> ExitCode:
    """Run one rank and return how it ended."""
    if not usable(arguments):
        reason = f"unknown arguments {arguments}: give none, --script FILE, or -- COMMAND ARGS..."
        LOG.error("%s", reason)
        tell(reason)
        return ExitCode.CONFIGURATION
    try:
        supervisor = Supervisor(read_environment(variables), variables, arguments)
    except TrainerError as error:
        LOG.error("%s", error)
        tell(str(error))
        return error.exit_code
    code = supervisor.run()
    if supervisor.record.failure:
        tell(f"{supervisor.record.failure['reason']} (exit code {int(code)})")
    return code


if __name__ == "__main__":
    set_up_logging()
    sys.exit(run(sys.argv[1:], os.environ))
