"""What a training function gets: who it is, its checkpoints, and how it tells how it goes.

A user's own script defines `train(context)` and uses nothing else of this package. It may
return a mapping with `final_loss` and other numbers, which go into the report.
"""

import json
import os
import signal
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from trainer.checkpoint import Checkpoint, Checkpoints, MalformedCheckpointError, unpack
from trainer.environment import Environment, read_environment
from trainer.exits import StorageError
from trainer.storage import Storage

EVENTS_FILE: Final = "GANGWAY_EVENTS_FILE"
"""Names the file of JSON lines by which a training process talks to its supervisor."""
RESUME_KEY: Final = "GANGWAY_RESUME_KEY"
"""Names the checkpoint that all ranks agreed to resume from; absent for a fresh start."""
STOP_FILE: Final = "GANGWAY_STOP_FILE"
"""Names a file that appears when the pod was asked to end. SIGTERM says the same, but TensorFlow
puts a handler of its own in the place of ours."""
PROGRESS_SECONDS: Final = 0.1
"""Progress more often than this is not written."""

CHECKPOINT_STORAGE_SECONDS: Final = 45.0
"""A periodic checkpoint holds up the whole gang, so it is given up earlier than a report."""


class Events:
    """Appends JSON lines to the events file; without one it says nothing."""

    def __init__(self, path: str | None) -> None:
        self._path = Path(path) if path else None

    def emit(self, event: str, **facts: Any) -> None:
        """Tell the supervisor one thing."""
        if self._path is None:
            return
        with self._path.open("a", encoding="utf-8") as file:
            file.write(json.dumps({"event": event, **facts}) + "\n")


@dataclass(slots=True)
class Context:
    """One training process of the gang."""

    checkpoints: Checkpoints
    environment: Environment
    events: Events
    local_rank: int
    local_world_size: int
    resume_key: str | None = None
    stop_file: Path | None = None
    _stop: threading.Event = field(default_factory=threading.Event)
    _last_progress: float = float("-inf")

    @property
    def rank(self) -> int:
        """This process among all of the gang, from 0."""
        return self.environment.world.rank

    @property
    def world_size(self) -> int:
        """How many training processes the gang has."""
        return self.environment.world.size

    @property
    def batch_size(self) -> int:
        """Samples per step of this process: the worker's share over its GPUs."""
        return self.environment.training.batch_size_per_worker // self.local_world_size

    @property
    def seed(self) -> int:
        """The run's seed."""
        return self.environment.training.seed

    @property
    def epochs(self) -> int:
        """How often to go over the data."""
        return self.environment.training.epochs

    @property
    def checkpoint_interval_steps(self) -> int:
        """After how many steps to checkpoint."""
        return self.environment.training.checkpoint_interval_steps

    @property
    def stopping(self) -> bool:
        """Whether this pod was asked to end: checkpoint now and leave, all ranks at one step."""
        if self.stop_file is not None and self.stop_file.exists():
            self._stop.set()
        return self._stop.is_set()

    def stop(self, *_: object) -> None:
        """Remember that the pod was asked to end; it is also the signal handler."""
        self._stop.set()

    def progress(self, step: int, loss: float, samples: int) -> None:
        """Tell how far training is; cheap enough for every step."""
        now = time.monotonic()
        if now - self._last_progress >= PROGRESS_SECONDS:
            self._last_progress = now
            self.events.emit("progress", step=step, loss=loss, samples=samples)

    def save(self, step: int, payload: bytes, notes: Mapping[str, Any] | None = None) -> None:
        """Keep the state after `step`; only rank 0 writes, so every rank may call it."""
        if self.rank == 0:
            key = self.checkpoints.save(step, payload, notes)
            self.events.emit("checkpoint", key=key, step=step)

    def resume(self) -> Checkpoint | None:
        """Return the checkpoint that all ranks resume from, or None for a fresh start."""
        if self.resume_key is None:
            return None
        body = self.checkpoints.storage.get(self.resume_key)
        try:
            found = unpack(self.resume_key, body or b"")
        except MalformedCheckpointError as error:
            message = f"{self.resume_key} was complete a moment ago, now {error}"
            raise StorageError(message) from error
        self.events.emit("resumed", key=found.key, step=found.step)
        return found


def make_context(variables: Mapping[str, str] | None = None) -> Context:
    """Make the context of this process from what its supervisor set, SIGTERM included."""
    variables = os.environ if variables is None else variables
    environment = read_environment(variables)
    storage = Storage(environment.destination, deadline_seconds=CHECKPOINT_STORAGE_SECONDS)
    context = Context(
        checkpoints=Checkpoints(storage, environment.job.name, environment.job.uid),
        environment=environment,
        events=Events(variables.get(EVENTS_FILE)),
        local_rank=int(variables.get("LOCAL_RANK", "0")),
        local_world_size=int(variables.get("LOCAL_WORLD_SIZE", "1")),
        resume_key=variables.get(RESUME_KEY) or None,
        stop_file=Path(variables[STOP_FILE]) if variables.get(STOP_FILE) else None,
    )
    signal.signal(signal.SIGTERM, context.stop)
    return context
