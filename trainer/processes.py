"""The pod's training processes, as their supervisor sees them: one per GPU, or one."""

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from trainer.context import EVENTS_FILE, RESUME_KEY, STOP_FILE
from trainer.environment import Environment

Event = dict[str, Any]
POLL_SECONDS: Final = 0.05


class Processes:
    """Starts them, reads what they tell, ends them."""

    def __init__(self, command: Sequence[str], folder: Path) -> None:
        self.command = list(command)
        self.folder = folder
        self.stop_file = folder / "stop"
        self.running: list[subprocess.Popen[bytes]] = []
        self._read: dict[Path, int] = {}

    def start(self, environments: Sequence[Mapping[str, str]]) -> None:
        """Start one process per given environment."""
        self.folder.mkdir(parents=True, exist_ok=True)
        stop = {STOP_FILE: str(self.stop_file)}
        for index, variables in enumerate(environments):
            events = self.folder / f"events-{index}.jsonl"
            events.write_text("", encoding="utf-8")
            self._read[events] = 0
            self.running.append(
                subprocess.Popen(  # noqa: S603 - our own module or the user's own command
                    self.command, env={**variables, **stop, EVENTS_FILE: str(events)}
                )
            )

    def events(self) -> list[tuple[int, Event]]:
        """Return what was told since the last call, with the process's index."""
        found = []
        for index, path in enumerate(self._read):
            with path.open("rb") as file:
                file.seek(self._read[path])
                fresh = file.read()
            whole = fresh[: fresh.rfind(b"\n") + 1]
            self._read[path] += len(whole)
            found += [(index, event) for event in _parse(whole)]
        return found

    def exit_codes(self) -> list[int | None]:
        """Return each process's exit code, None while it runs."""
        return [process.poll() for process in self.running]

    def ask_to_end(self) -> None:
        """Make the stop file and send SIGTERM: a process that can, checkpoints and leaves."""
        if self.folder.is_dir():
            self.stop_file.touch()
        for process in self.running:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)

    def wait(self, seconds: float) -> bool:
        """Wait for all to end; False when some still run."""
        end = time.monotonic() + seconds
        pause = threading.Event()
        while any(code is None for code in self.exit_codes()):
            if time.monotonic() >= end:
                return False
            pause.wait(POLL_SECONDS)
        return True

    def end(self, grace_seconds: float) -> None:
        """Ask to end, then end whatever is left."""
        self.ask_to_end()
        self.wait(grace_seconds)
        for process in self.running:
            if process.poll() is None:
                process.kill()
        self.wait(grace_seconds)


def _parse(lines: bytes) -> list[Event]:
    events = []
    for line in lines.splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue
        if isinstance(event, dict) and isinstance(event.get("event"), str):
            events.append(event)
    return events


def training_command(arguments: Sequence[str]) -> list[str]:
    """What to run: the built-in task, `--script FILE`, or `-- COMMAND ...` as given."""
    if arguments and arguments[0] == "--":
        return list(arguments[1:])
    if arguments and arguments[0] == "--script":
        return [sys.executable, "-m", "trainer.worker", *arguments[1:2]]
    return [sys.executable, "-m", "trainer.worker"]


def process_environments(
    environment: Environment, variables: Mapping[str, str], resume_key: str | None
) -> list[dict[str, str]]:
    """Give each training process its rank; PyTorch has one per GPU, TensorFlow one per pod."""
    world = environment.world
    count = 1
    if environment.training.framework == "pytorch":
        count = max(1, environment.limits.gpus)
    shared = {
        **variables,
        "LOCAL_WORLD_SIZE": str(count),
        "PYTHONUNBUFFERED": "1",
        "TF_CPP_MIN_LOG_LEVEL": variables.get("TF_CPP_MIN_LOG_LEVEL", "2"),
    }
    if resume_key:
        shared[RESUME_KEY] = resume_key
    if world.leader_host in ("localhost", "::1") or world.leader_host.startswith("127."):
        # All workers on one machine: gloo would else look for the host name's own address.
        shared.setdefault("GLOO_SOCKET_IFNAME", "lo")
    if environment.training.framework == "tensorflow":
        return [{**shared, "LOCAL_RANK": "0"}]
    return [
        {
            **shared,
            "LOCAL_RANK": str(local),
            "RANK": str(world.rank * count + local),
            "WORLD_SIZE": str(world.size * count),
        }
        for local in range(count)
    ]
