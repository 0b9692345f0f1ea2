"""Local processes of a rehearsal: start, recognise by pid and start time, end with their group."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

import psutil

from infra.errors import GangwayError
from infra.waiting import DeadlineExceededError, wait_until

MARK: Final = "GANGWAY_REHEARSAL_PROCESS"
"""Variable that names the state folder in each process of a rehearsal.

A command line will not do: `tail -f` of a log names the folder as well.
"""

PATIENT_NICE: Final = 10
"""A tenth of an ordinary process's weight (sched(7): a step is a factor of 1.25)."""

_START_TIME_TOLERANCE = 0.05
_KILL_SECONDS = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class ProcessRecord:
    """A process as the state folder remembers it.

    The start time tells it from a stranger that got the same pid later.
    """

    name: str
    pid: int
    start_time: float

    @classmethod
    def of(cls, name: str, pid: int) -> "ProcessRecord | None":
        """The record of a running process; None when it is gone."""
        try:
            return cls(name=name, pid=pid, start_time=psutil.Process(pid).create_time())
        except psutil.Error:
            return None

    @classmethod
    def from_json(cls, fields: Mapping[str, Any]) -> "ProcessRecord":
        """The record that `to_json` wrote."""
        return cls(name=fields["name"], pid=fields["pid"], start_time=fields["start_time"])

    def to_json(self) -> dict[str, Any]:
        """Plain fields for `rehearsal.json`."""
        return asdict(self)

    @property
    def is_alive(self) -> bool:
        """Whether this very process still runs (a zombie does not)."""
        try:
            process = psutil.Process(self.pid)
            same = abs(process.create_time() - self.start_time) <= _START_TIME_TOLERANCE
            return bool(same and process.status() != psutil.STATUS_ZOMBIE)
        except psutil.Error:
            return False


def start(
    name: str,
    command: Sequence[str | Path],
    *,
    log: Path,
    environment: Mapping[str, str] | None = None,
    directory: Path | None = None,
) -> "subprocess.Popen[bytes]":
    """Start a program in its own session with its output in `log`.

    Raises GangwayError when the program cannot be started.
    """
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        with log.open("ab") as output:
            return subprocess.Popen(  # noqa: S603 - programs come from the tool catalogue
                [str(word) for word in command],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=dict(environment) if environment is not None else None,
                cwd=directory,
                start_new_session=True,
            )
    except OSError as error:
        message = f"{name} does not start: {error.strerror or error} ({command[0]})"
        raise GangwayError(message) from error


def step_back(pid: int) -> None:
    """Let a process run only on what others leave of the machine.

    Linux shares the processor between sessions first, so its session must step back as well.
    """
    with contextlib.suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, PATIENT_NICE)
        Path(f"/proc/{pid}/autogroup").write_text(str(PATIENT_NICE), encoding="ascii")


def stop(records: Iterable[ProcessRecord], *, grace_seconds: float) -> None:
    """End processes and their groups: SIGTERM, then SIGKILL for what outlives the grace.

    Raises GangwayError naming what outlives even that.
    """
    alive = [record for record in records if record.is_alive]
    for record in alive:
        signal_group(record, signal.SIGTERM)
    with contextlib.suppress(DeadlineExceededError):
        wait_until(
            _all_gone(alive), what="a stop", deadline_seconds=grace_seconds, every_seconds=0.05
        )
    stubborn = [record for record in alive if record.is_alive]
    for record in stubborn:
        signal_group(record, signal.SIGKILL)
    if stubborn:
        names = ", ".join(f"{record.name} (pid {record.pid})" for record in stubborn)
        wait_until(
            _all_gone(stubborn),
            what=f"the end of {names}",
            deadline_seconds=_KILL_SECONDS,
            every_seconds=0.05,
        )


def signal_group(record: ProcessRecord, number: signal.Signals) -> None:
    """Send a signal to the process, and to its whole group when it leads one."""
    if not record.is_alive:
        return
    with contextlib.suppress(ProcessLookupError):
        if os.getpgid(record.pid) == record.pid:
            os.killpg(record.pid, number)
        else:
            os.kill(record.pid, number)


def belonging_to(folder: Path) -> list[ProcessRecord]:
    """Processes that carry the mark of the rehearsal in `folder`, but for this one."""
    found = []
    for process in psutil.process_iter(["name"]):
        if process.pid != os.getpid() and is_marked(process.pid, folder):
            record = ProcessRecord.of(process.info["name"], process.pid)
            if record is not None and record.is_alive:
                found.append(record)
    return found


def is_marked(pid: int, folder: Path, *, patience_seconds: float = 0.0) -> bool:
    """Whether the process was started with the mark of the rehearsal in `folder`.

    A process that is just being started has no environment at all for a moment, while its program
    takes the place of its parent's; `patience_seconds` is how long that may last.
    """
    try:
        process = psutil.Process(pid)
        environment = _environment(process)
        with contextlib.suppress(DeadlineExceededError):
            environment = environment or wait_until(
                lambda: _environment(process),
                what=f"the start of process {pid}",
                deadline_seconds=patience_seconds,
                every_seconds=0.01,
            )
    except (psutil.Error, OSError):
        return False
    return environment.get(MARK) == str(folder)


def _environment(process: psutil.Process) -> dict[str, str]:
    environment: dict[str, str] = process.environ()
    return environment


def last_lines(log: Path, count: int = 3) -> str:
    """The end of a log in one line, to explain why its program ended."""
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return "no log"
    return " | ".join(line.strip() for line in lines[-count:] if line.strip()) or "an empty log"


def _all_gone(records: Sequence[ProcessRecord]) -> Callable[[], bool]:
    return lambda: not any(record.is_alive for record in records)
