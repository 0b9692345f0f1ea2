"""How long a rehearsal takes and how much memory: every command measured as a user runs it."""

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from infra.errors import GangwayError
from infra.rehearsal import gang_watch, processes
from infra.rehearsal.driver import Rehearsal
from infra.rehearsal.engine import ENGINE_MARK

LIMITS: Final[Mapping[str, float]] = {"up": 40, "preview": 8, "down": 20, "memory": 2560}
"""Seconds, and for memory MiB: what the rehearsal is to keep on two cores."""

CALL: Final = "from infra.cli import main; main()"
SAMPLE_SECONDS: Final = 1.0
"""A sample walks the pages of every process, which the commands must not pay for."""

TRAINING_SECONDS: Final = 300
YARDSTICK_LOOPS: Final = 20_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class Round:
    """One life of a rehearsal: wall seconds of its commands, most memory at once in MiB.

    `yardstick` is the seconds of a fixed piece of work just before. Divide by it to compare
    rounds: the processors of shared machines are not equally fast all day.
    """

    up: float
    preview: float
    down: float
    memory: float
    yardstick: float


def measure(rehearsal: Rehearsal, tell: Callable[[str], object]) -> Round:
    """Bring a rehearsal up, plan once its job is over, take it down.

    Raises GangwayError when there is one of that name already, or a command fails.
    """
    if rehearsal.state.path.exists():
        message = (
            f"there is a rehearsal {rehearsal.state.name} already: a measurement starts from "
            f"nothing, so take it down or give another --name"
        )
        raise GangwayError(message)
    _ = rehearsal.tools
    yardstick = _yardstick()
    try:
        with _most_memory(rehearsal.state.path) as memory:
            up = _seconds(rehearsal, "up", tell)
            job = rehearsal.settings.training_job
            tell("waiting for the training job's end: a plan beside it would measure both")
            gang_watch.wait_until_ended(rehearsal.api, job.namespace, job.name, TRAINING_SECONDS)
            preview = _seconds(rehearsal, "preview", tell)
            down = _seconds(rehearsal, "down", tell)
    except BaseException:
        rehearsal.down(force=True)
        raise
    return Round(up=up, preview=preview, down=down, memory=memory[0], yardstick=yardstick)


def table(rounds: Sequence[Round]) -> list[list[str]]:
    """Rows of figure, every round's value, the limit, and whether all keep it."""
    rows = []
    for figure, limit in LIMITS.items():
        values = [getattr(one, figure) for one in rounds]
        kept = "kept" if max(values) <= limit else "missed"
        shown = f"{{:.{1 if figure != 'memory' else 0}f}}"
        unit = "MiB" if figure == "memory" else "s"
        cells = ", ".join(map(shown.format, values))
        rows.append([f"{figure}, {unit}", cells, f"{limit:g}", kept])
    rows.append(["yardstick, s", ", ".join(f"{one.yardstick:.2f}" for one in rounds), "", ""])
    return rows


def _seconds(rehearsal: Rehearsal, command: str, tell: Callable[[str], object]) -> float:
    """Wall seconds of `gangway rehearse <command>` as a process of its own."""
    words = [command, "--env", rehearsal.environment, "--name", rehearsal.state.name]
    started = time.monotonic()
    run = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", CALL, "rehearse", *words],
        capture_output=True,
        check=False,
        text=True,
    )
    took = time.monotonic() - started
    if run.returncode != 0:
        message = f"gangway rehearse {' '.join(words)} failed: {run.stderr.strip()}"
        raise GangwayError(message)
    tell(f"{command}: {took:.1f} s")
    return took


def _yardstick() -> float:
    started = time.process_time()
    total = 0
    for number in range(YARDSTICK_LOOPS):
        total += number
    return time.process_time() - started


@contextmanager
def _most_memory(folder: Path) -> Iterator[list[float]]:
    """The largest proportional set size of all processes of the rehearsal together, MiB.

    Proportional: memory that processes share counts once. The command itself counts as well.
    """
    most, done = [0.0], threading.Event()

    def sample() -> None:
        while not done.wait(SAMPLE_SECONDS):
            most[0] = max(most[0], sum(map(_proportional_mib, _members(folder))))

    sampler = threading.Thread(target=sample, name="memory", daemon=True)
    sampler.start()
    try:
        yield most
    finally:
        done.set()
        sampler.join()


def _members(folder: Path) -> set[int]:
    marks = {processes.MARK: str(folder), ENGINE_MARK: str(folder)}
    found = {child.pid for child in psutil.Process().children(recursive=True)}
    for process in psutil.process_iter():
        try:
            environment = process.environ()
        except (psutil.Error, OSError):
            continue
        if any(environment.get(mark) == value for mark, value in marks.items()):
            found.add(process.pid)
    return found - {os.getpid()}


def _proportional_mib(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
    except OSError:
        return 0.0  # it has just ended
    kib = next((line.split()[1] for line in lines if line.startswith("Pss:")), "0")
    return int(kib) / 1024
