"""The default task: a seeded synthetic regression that can be learned, with a known best loss.

A small fixed teacher network makes the targets and seeded noise is added, so no model can do
better than the noise: `best_loss` is what the teacher itself would score on the validation
samples. Everything comes from Python's own generator, so every framework, version and rank
makes the same numbers and nothing is downloaded.
"""

import math
import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

NAME: Final = "seeded-teacher-regression"
FEATURES: Final = 8
HIDDEN: Final = 64
TEACHER_UNITS: Final = 6
TRAINING_SAMPLES: Final = 65_536
VALIDATION_SAMPLES: Final = 4_096
NOISE: Final = 0.1
LOSS_FACTOR: Final = 10.0
"""With the default settings the validation loss must fall by this factor at least."""
UNIT_SPREAD: Final = math.sqrt(3.0)
"""Uniform numbers between minus and plus this have variance 1."""

Row = tuple[float, ...]


@dataclass(frozen=True)
class Samples:
    """Inputs and their targets, in order."""

    inputs: list[Row]
    targets: list[float]


@dataclass(frozen=True)
class Task:
    """The whole data set of a seed, the same on every rank."""

    best_loss: float
    seed: int
    training: Samples
    validation: Samples


@dataclass(frozen=True)
class Position:
    """How far a run is in its data, whatever the world's size was on the way there."""

    epoch: int = 0
    offset: int = 0
    """Samples of this epoch that the whole world has seen."""


@dataclass(frozen=True)
class Batch:
    """One step of one process: which samples, and where the world stands afterwards."""

    after: Position
    indices: list[int]


def make_task(
    seed: int,
    training_samples: int = TRAINING_SAMPLES,
    validation_samples: int = VALIDATION_SAMPLES,
) -> Task:
    """Make the data set of `seed`."""
    generator = random.Random(f"task {seed}")  # noqa: S311 - data, not secrets
    teacher = [
        (
            [generator.gauss(0, 1) / math.sqrt(FEATURES) for _ in range(FEATURES)],
            generator.uniform(-1, 1),
            generator.choice((-1, 1)) * generator.uniform(0.8, 1.2),
        )
        for _ in range(TEACHER_UNITS)
    ]
    training, _ = _samples(generator, teacher, training_samples)
    validation, noise = _samples(generator, teacher, validation_samples)
    best = sum(value * value for value in noise) / len(noise)
    return Task(best_loss=best, seed=seed, training=training, validation=validation)


def _samples(
    generator: random.Random, teacher: list[tuple[list[float], float, float]], count: int
) -> tuple[Samples, list[float]]:
    draw = generator.random
    inputs: list[Row] = [
        tuple((2 * draw() - 1) * UNIT_SPREAD for _ in range(FEATURES)) for _ in range(count)
    ]
    noise = [generator.gauss(0, NOISE) for _ in range(count)]
    targets = []
    for row, error in zip(inputs, noise, strict=True):
        value = error
        for weights, bias, scale in teacher:
            dot = bias
            for weight, feature in zip(weights, row, strict=True):
                dot += weight * feature
            value += scale * math.tanh(2 * dot)
        targets.append(value)
    return Samples(inputs, targets), noise


def initial_parameters(seed: int) -> dict[str, list[list[float]]]:
    """Make the student's first weights: matrices by name, biases as one row."""
    generator = random.Random(f"parameters {seed}")  # noqa: S311 - data, not secrets
    layers = {"first": (FEATURES, HIDDEN), "second": (HIDDEN, HIDDEN), "last": (HIDDEN, 1)}
    parameters = {}
    for name, (wide, high) in layers.items():
        bound = 1 / math.sqrt(wide)
        parameters[f"{name}.weight"] = [
            [generator.uniform(-bound, bound) for _ in range(high)] for _ in range(wide)
        ]
        parameters[f"{name}.bias"] = [[generator.uniform(-bound, bound) for _ in range(high)]]
    return parameters


def batches(
    task: Task, *, start: Position, epochs: int, batch_size: int, rank: int, world: int
) -> Iterator[Batch]:
    """Give this process's share of every step from `start` to the end of the last epoch.

    Each step the world takes the next `batch_size * world` samples of the epoch's order, and
    each rank its own slice of them, so that the union is what one process would take alone. A
    last step that is too small for that is left out.
    """
    stride = batch_size * world
    position = start
    while position.epoch < epochs:
        order = epoch_order(task, position.epoch)
        for first in range(position.offset, len(order) - stride + 1, stride):
            begin = first + rank * batch_size
            after = Position(position.epoch, first + stride)
            if after.offset + stride > len(order):
                after = Position(position.epoch + 1, 0)
            yield Batch(after, order[begin : begin + batch_size])
        position = Position(position.epoch + 1, 0)


def epoch_order(task: Task, epoch: int) -> list[int]:
    """Shuffle the training samples for one epoch, the same on every rank."""
    order = list(range(len(task.training.targets)))
    random.Random(f"order {task.seed} {epoch}").shuffle(order)  # noqa: S311 - not a secret
    return order
