"""Programs that are already on PATH: found, asked for their version, judged."""

import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Final

from infra.rehearsal.tools.go_toolchain import ask
from infra.rehearsal.tools.model import PathRule, SourceError, Tool, numbers

Which = Callable[[str], str | None]

_ASK_SECONDS: Final = 5.0
_VERSION: Final = re.compile(r"v?(\d+\.\d+\.\d+)")


def find_on_path(tool: Tool, rule: PathRule, which: Which = shutil.which) -> Path:
    """Return the program on PATH if its version fits, or raise SourceError saying why not."""
    found = which(tool.name)
    if found is None:
        message = "not on PATH"
        raise SourceError(message)
    version = program_version(found, rule.arguments)
    if not rule.fits(version, tool.version):
        message = f"{found} is version {version}, which does not fit {tool.version}"
        raise SourceError(message)
    return Path(found)


def program_version(program: str, arguments: tuple[str, ...]) -> str:
    """Return the first dotted version that the program prints."""
    answer = ask([program, *arguments], seconds=_ASK_SECONDS)
    found = _VERSION.search(answer)
    if found is None:
        message = f"{program} does not tell its version"
        raise SourceError(message)
    return found.group(1)


def check_need(need: str | None, which: Which = shutil.which) -> None:
    """Raise SourceError unless a need such as `node>=18` is met by PATH."""
    if need is None:
        return
    program, _, lowest = need.partition(">=")
    found = which(program)
    if found is None:
        message = f"it needs {program} {lowest} or later on PATH"
        raise SourceError(message)
    version = program_version(found, ("--version",))
    if numbers(version) < numbers(lowest):
        message = f"it needs {program} {lowest} or later on PATH, {found} is {version}"
        raise SourceError(message)
