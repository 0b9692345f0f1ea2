"""The default training, the same for every framework: steps, checkpoints, resume, result."""

import io
import logging
import math
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Protocol

from trainer import data
from trainer.context import Context
from trainer.exits import ConfigurationError, PeerLostError, PreemptedError, TrainerError

LOG = logging.getLogger("trainer.loop")

LEARNING_RATE: Final = 3e-3
CURVE_POINTS: Final = 100
"""The report's loss curve has at most about this many points."""

Arrays = dict[str, Any]
Curve = list[dict[str, float]]


class Model(Protocol):
    """What a framework brings: a model, its optimizer, and one step that all ranks share."""

    def describe(self) -> Mapping[str, Any]:
        """Give `device`, `backend` and `versions`."""

    def step(self, inputs: Any, targets: Any, *, stop: bool) -> tuple[float, bool]:
        """Train one step; return the mean loss of all ranks and whether any rank must stop.

        Raises PeerLostError, with weights as before the step, when the others cannot be reached.
        """

    def evaluate(self, inputs: Any, targets: Any) -> float:
        """Give the mean squared error without training."""

    def state(self) -> Arrays:
        """Give every array that a resumed run needs."""

    def load(self, arrays: Mapping[str, Any]) -> None:
        """Take back what `state` gave."""


Build = Callable[[Context, Mapping[str, Any]], Model]


class Run:
    """One process's way through the data."""

    def __init__(self, context: Context, build: Build) -> None:
        import numpy  # noqa: PLC0415 - only training processes have it

        self.context = context
        self.task = data.make_task(context.seed)
        self._refuse_too_large_a_step()
        self._numpy = numpy
        first = data.initial_parameters(context.seed)
        self.model = build(context, {name: self._array(rows) for name, rows in first.items()})
        self.inputs = self._array(self.task.training.inputs)
        self.targets = self._array(self.task.training.targets)
        self.step = 0
        self.position = data.Position()
        self.curve: Curve = []
        self.initial_loss = math.nan
        self._saved_step: int | None = None

    def _array(self, values: Any) -> Any:
        return self._numpy.asarray(values, dtype=self._numpy.float32)

    def _refuse_too_large_a_step(self) -> None:
        together = self.context.batch_size * self.context.world_size
        if together > data.TRAINING_SAMPLES:
            message = (
                f"a step of all workers takes {together} samples, the data set has "
                f"{data.TRAINING_SAMPLES}: lower GANGWAY_BATCH_SIZE_PER_WORKER"
            )
            raise ConfigurationError(message)

    def run(self) -> dict[str, Any]:
        """Train to the end and return the result for the report."""
        self._resume()
        first_step = self.step
        began = time.monotonic()
        samples = self._train()
        seconds = time.monotonic() - began
        final_loss = self._validate()
        self._save()
        return {
            **self.model.describe(),
            "curve": self.curve,
            "final_loss": final_loss,
            "first_step": first_step,
            "initial_loss": self.initial_loss,
            "samples": samples,
            "steps": self.step,
            "training_seconds": seconds,
            **task_facts(self.task),
        }

    def _train(self) -> int:
        samples, first_step = 0, self.step
        context = self.context
        for batch in data.batches(
            self.task,
            start=self.position,
            epochs=context.epochs,
            batch_size=context.batch_size,
            rank=context.rank,
            world=context.world_size,
        ):
            if self.step == first_step:
                LOG.info("training step %d", self.step + 1)
            loss, stop = self._one_step(batch)
            if not math.isfinite(loss):
                message = f"the loss is {loss} after step {self.step + 1}: training diverged"
                raise TrainerError(message)
            self.step += 1
            self.position = batch.after
            samples += len(batch.indices)
            self.curve = add_point(self.curve, self.step, loss)
            context.progress(self.step, loss, samples)
            if stop or self.step % context.checkpoint_interval_steps == 0:
                LOG.info("step %d, epoch %d, loss %.6f", self.step, self.position.epoch, loss)
                self._save()
            if stop:
                message = f"asked to end; stopped after step {self.step}"
                raise PreemptedError(message)
        return samples

    def _one_step(self, batch: data.Batch) -> tuple[float, bool]:
        try:
            return self.model.step(
                self.inputs[batch.indices], self.targets[batch.indices], stop=self.context.stopping
            )
        except PeerLostError:
            # The weights are those of the last whole step: worth keeping for the restart.
            self._save()
            raise

    def _validate(self) -> float:
        samples = self.task.validation
        return self.model.evaluate(self._array(samples.inputs), self._array(samples.targets))

    def _resume(self) -> None:
        found = self.context.resume()
        if found is None:
            self.initial_loss = self._validate()
            return
        with self._numpy.load(io.BytesIO(found.payload), allow_pickle=False) as arrays:
            self.model.load({name: arrays[name] for name in arrays.files})
        self.step = self._saved_step = found.step
        self.position = data.Position(int(found.notes["epoch"]), int(found.notes["offset"]))
        self.curve = list(found.notes["curve"])
        self.initial_loss = float(found.notes["initial_loss"])

    def _save(self) -> None:
        if self.context.rank != 0 or self.step == self._saved_step:
            return
        body = io.BytesIO()
        self._numpy.savez(body, **self.model.state())
        notes = {
            "curve": self.curve,
            "epoch": self.position.epoch,
            "initial_loss": self.initial_loss,
            "offset": self.position.offset,
            "world_size": self.context.world_size,
        }
        self.context.save(self.step, body.getvalue(), notes)
        self._saved_step = self.step


def task_facts(task: data.Task) -> dict[str, Any]:
    """Describe the data set for the report."""
    return {
        "data": {
            "best_loss": task.best_loss,
            "features": data.FEATURES,
            "name": data.NAME,
            "noise": data.NOISE,
            "seed": task.seed,
            "training_samples": data.TRAINING_SAMPLES,
            "validation_samples": data.VALIDATION_SAMPLES,
        }
    }


def add_point(curve: Curve, step: int, loss: float) -> Curve:
    """Add a point, on a grid that doubles its stride whenever there would be too many."""
    stride = 1
    while step // stride > CURVE_POINTS:
        stride *= 2
    points = [*curve, {"step": step, "loss": loss}]
    return [point for point in points if point["step"] == 1 or point["step"] % stride == 0]
