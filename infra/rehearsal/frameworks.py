"""Interpreters that can train: PyTorch from Debian, TensorFlow from PyPI, each on its own.

Neither belongs into the project's environment: Debian's PyTorch serves only Debian's Python, and
TensorFlow pins what others pin otherwise. Both live below `.gangway/frameworks/`.
"""

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.errors import GangwayError, MissingToolError, UsageError

REPOSITORY: Final = Path(__file__).parents[2]
FOLDER: Final = REPOSITORY / ".gangway" / "frameworks"
SYSTEM_PYTHON: Final = Path("/usr/bin/python3")
PIP_OPTIONS: Final = ("--quiet", "--disable-pip-version-check")
BOTO3: Final = "boto3==1.44.8"
"""The version of requirements.txt; a test joins the two."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Framework:
    """How a framework comes to a development machine."""

    base: tuple[Path, ...]
    """Interpreters to make the environment from, the first that exists."""
    folder: str
    module: str
    packages: tuple[str, ...]
    system_packages: tuple[str, ...] = ()
    system_site: bool = False


FRAMEWORKS: Final = {
    "pytorch": Framework(
        base=(SYSTEM_PYTHON,),
        folder="torch",
        module="torch",
        packages=(BOTO3,),
        system_packages=("python3-torch", "python3-venv"),
        system_site=True,
    ),
    "tensorflow": Framework(
        base=(SYSTEM_PYTHON, Path(shutil.which("python3") or SYSTEM_PYTHON)),
        folder="tensorflow",
        module="tensorflow",
        packages=("tensorflow-cpu==2.21.0", BOTO3),
        system_packages=("python3-venv",),
    ),
}
"""python3-torch 1.13 is a CPU build of 150 MB; PyPI's torch is the CUDA build of about 3 GB."""


def interpreter(framework: str, folder: Path = FOLDER) -> Path | None:
    """Return a Python that has the framework, boto3 and numpy, or None when there is none."""
    wanted = _framework(framework)
    python = folder / wanted.folder / "bin" / "python"
    return python if python.exists() and _has(python, wanted.module) else None


def install(framework: str, folder: Path = FOLDER) -> Path:
    """Make the environment for the framework and return its Python; does nothing if it is there.

    The system's own packages are not touched: what is missing there is named with its command.
    """
    found = interpreter(framework, folder)
    if found is not None:
        return found
    wanted = _framework(framework)
    base = next((python for python in wanted.base if python.exists()), None)
    if base is None or (wanted.system_site and not _has(base, wanted.module, boto3=False)):
        raise MissingToolError(missing(framework))
    home = folder / wanted.folder
    options = ["--system-site-packages"] if wanted.system_site else []
    _run([str(base), "-m", "venv", "--clear", *options, str(home)], framework)
    python = home / "bin" / "python"
    _run(
        [str(python), "-m", "pip", "install", *PIP_OPTIONS, *wanted.packages],
        framework,
    )
    if not _has(python, wanted.module):
        message = f"{framework} was installed into {home}, but it does not import there"
        raise GangwayError(message)
    return python


def missing(framework: str) -> str:
    """Say in one line what to do about a framework that is not there."""
    packages = " ".join(_framework(framework).system_packages)
    return (
        f"{framework} is not installed: `apt-get install {packages}` where that exists, "
        "then `make frameworks`"
    )


def absence(framework: str, folder: Path = FOLDER) -> str | None:
    """The line about training pods that cannot train on this machine; None when they can."""
    if interpreter(framework, folder) is not None:
        return None
    return f"{missing(framework)}. Until then the training pods wait some seconds and succeed"


def main() -> None:
    """Install every framework; `make frameworks` runs this."""
    import typer  # noqa: PLC0415 - only the command needs it

    for name in FRAMEWORKS:
        try:
            typer.echo(f"{name}: {install(name)}")
        except GangwayError as error:
            typer.echo(str(error), err=True)
            raise SystemExit(error.exit_code) from error


def _framework(name: str) -> Framework:
    if name not in FRAMEWORKS:
        message = f"framework is {name!r}; it must be {' or '.join(FRAMEWORKS)}"
        raise UsageError(message)
    return FRAMEWORKS[name]


def _has(python: Path, module: str, *, boto3: bool = True) -> bool:
    """Whether the interpreter can find the modules; importing them would take seconds."""
    modules = [module, "numpy", *(["boto3"] if boto3 else [])]
    code = (
        "import importlib.util, sys; "
        f"sys.exit(not all(importlib.util.find_spec(name) for name in {modules!r}))"
    )
    answer = subprocess.run(  # noqa: S603 - an interpreter of our own choice
        [str(python), "-c", code], capture_output=True, check=False
    )
    return answer.returncode == 0


def _run(command: Sequence[str], framework: str) -> None:
    answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if answer.returncode:
        reason = (answer.stderr or answer.stdout).strip().splitlines()[-1:] or ["no reason given"]
        message = f"{framework} was not installed: `{' '.join(command)}` said: {reason[0]}"
        raise MissingToolError(message)


if __name__ == "__main__":
    main()
