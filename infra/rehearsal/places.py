"""Where rehearsals lie, and which environments there are to rehearse."""

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from infra.errors import GangwayError, UsageError
from infra.rehearsal.state import NAME, StateFolder
from stacks import loader
from stacks.settings import Settings

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
ROOT_VARIABLE: Final = "GANGWAY_REHEARSALS"
"""Environment variable: another folder for the rehearsals, when this disk is small."""

UNFIT_IN_PATHS: Final = re.compile(r"""[\s,;'"$\\]""")
"""kwokctl hands paths on in lists and command lines of its own."""


def state_root() -> Path:
    """The folder of all rehearsals."""
    return Path(os.environ.get(ROOT_VARIABLE) or PROJECT_ROOT / ".gangway" / "rehearsals")


def environments() -> list[str]:
    """Names of the environments that have a stack file."""
    files = PROJECT_ROOT.glob("Pulumi.*.yaml")
    return sorted(path.name.removeprefix("Pulumi.").removesuffix(".yaml") for path in files)


def state_folder(environment: str, name: str | None, root: Path) -> StateFolder:
    """The rehearsal's folder. Raises UsageError for a name or a place that cannot be used."""
    if name is None and not NAME.fullmatch(environment):
        raise UsageError(_no_environment(environment))
    state = StateFolder.named(environment if name is None else name, root)
    unfit = UNFIT_IN_PATHS.search(str(state.path))
    if unfit:
        message = (
            f"{ROOT_VARIABLE} is {str(root)!r}; allowed: a folder without blanks, commas, quotes "
            f"and such in its path, as kwokctl cannot take {unfit.group()!r}: name another one"
        )
        raise UsageError(message)
    try:
        state.path.exists()
    except OSError as error:
        message = f"{ROOT_VARIABLE} is {str(root)!r}: {error.strerror}; name another folder"
        raise UsageError(message) from error
    return state


def _no_environment(environment: str) -> str:
    known = ", ".join(environments())
    return (
        f"--env is {environment!r}; allowed: {known}, or any other with a stack file "
        f"Pulumi.<env>.yaml in {PROJECT_ROOT}"
    )


def raw_settings(environment: str) -> dict[str, Any]:
    """The environment's stack file. Raises UsageError without one, GangwayError for no YAML."""
    path = PROJECT_ROOT / f"Pulumi.{environment}.yaml"
    if not path.exists():
        raise UsageError(_no_environment(environment))
    try:
        return loader.load_stack_file(path)
    except loader.SettingsError as error:
        raise GangwayError(str(error)) from None


def parsed(raw: Mapping[str, Any], environment: str) -> Settings:
    """Its settings. Raises GangwayError naming every mistake."""
    try:
        return loader.parse(raw, environment)
    except loader.SettingsError as error:
        raise GangwayError(str(error)) from None
