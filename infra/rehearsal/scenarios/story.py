"""The demo's story: a job meets a blocker, the blocker goes, two jobs arrive together.

It adapts to the number of GPUs and workers; what cannot be shown with them is said instead.
"""

from dataclasses import dataclass
from typing import Final

from infra.errors import UsageError
from infra.rehearsal.scenarios.expectations import (
    BLOCKER,
    JOB,
    JOB_A,
    JOB_B,
    of_blocked_job,
    of_oversized_job,
    of_rivals,
)
from infra.rehearsal.scenarios.findings import Expectation
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.scenario import (
    Answered,
    Await,
    Condition,
    Over,
    Passed,
    Placed,
    Remove,
    Scenario,
    Settled,
    Step,
    Submit,
    Work,
)

_MOST_GPUS: Final = 16
"""More lanes than that fit neither a terminal nor a page."""

PARTS: Final = {
    1: "The job meets a blocker",
    2: "The blocker goes",
    3: "Two jobs arrive together",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class StoryOptions:
    """What a user can change about the story."""

    blocker_seconds: float | None = None
    gpus: int = 2
    job_fails: bool = False
    look_seconds: float = 4.0
    work_seconds: float = 4.0
    workers: int = 2

    def __post_init__(self) -> None:
        """Refuse what no story can be told with."""
        for name, value in (("--gpus", self.gpus), ("--workers", self.workers)):
            if not 1 <= value <= _MOST_GPUS:
                message = f"{name} is {value}; give a number from 1 to {_MOST_GPUS}"
                raise UsageError(message)
        if self.blocker_seconds is not None and self.blocker_seconds <= 0:
            message = (
                f"--blocker-seconds is {self.blocker_seconds:g}; give more than 0, or leave it "
                "out for a blocker that stays until it is removed"
            )
            raise UsageError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Story:
    """The scenario, what is expected of each scheduler, and what these numbers cannot show."""

    expectations: tuple[Expectation, ...]
    not_shown: tuple[str, ...]
    scenario: Scenario


def tell(options: StoryOptions) -> Story:
    """The story with these numbers."""
    can_start = options.workers <= options.gpus
    rival_size = (options.gpus + 1) // 2 + 1
    have_rivals = rival_size <= options.gpus
    works = [
        Work(
            fails=options.job_fails,
            gang=Gang(name=JOB, size=options.workers),
            seconds=options.work_seconds,
        )
    ]
    if can_start:
        size = options.gpus - options.workers + 1
        blocker = Gang(blocker=True, name=BLOCKER, size=size)
        works.append(Work(gang=blocker, seconds=options.blocker_seconds))
    if have_rivals:
        works += [
            Work(gang=Gang(name=name, size=rival_size), seconds=options.work_seconds)
            for name in (JOB_A, JOB_B)
        ]
    steps = _blocked_steps(options) if can_start else _oversized_steps(options)
    expectations = (
        of_blocked_job(fails=options.job_fails, workers=options.workers)
        if can_start
        else of_oversized_job()
    )
    return Story(
        expectations=(*expectations, *(of_rivals() if have_rivals else ())),
        not_shown=_not_shown(options, can_start=can_start, have_rivals=have_rivals),
        scenario=Scenario(
            gpus=options.gpus,
            name="demo",
            steps=(*steps, *(_rival_steps(options, rival_size) if have_rivals else ())),
            works=tuple(works),
        ),
    )


def _wait(until: Condition, what: str, deadline_seconds: float = 30) -> Await:
    return Await(deadline_seconds=deadline_seconds, until=until, what=what)


def _blocked_steps(options: StoryOptions) -> tuple[Step, ...]:
    size = options.gpus - options.workers + 1
    steps = [
        Step(
            action=Submit(works=(BLOCKER,)),
            part=1,
            says=f"A blocker takes {size} of {options.gpus} GPUs.",
        ),
        Step(
            action=_wait(Placed(gang=BLOCKER), "the blocker's placement"),
            part=1,
            says=f"A blocker takes {size} of {options.gpus} GPUs.",
        ),
        Step(
            action=Submit(works=(JOB,)),
            part=1,
            says=f"A job of {options.workers} workers arrives; each needs a GPU.",
        ),
        Step(
            action=_wait(Answered(gang=JOB), "an answer of both schedulers about the job"),
            part=1,
            says=f"A job of {options.workers} workers arrives; each needs a GPU.",
        ),
    ]
    if options.blocker_seconds is None:
        steps += [
            Step(
                action=_wait(Passed(seconds=options.look_seconds), "the look at the waiting job"),
                part=1,
                says="The job waits for its last GPU. Who holds what meanwhile?",
            ),
            Step(action=Remove(works=(BLOCKER,)), part=2, says="The blocker is removed."),
        ]
    blocker_deadline = 30 + (options.blocker_seconds or 0)
    job_deadline = 30 + options.work_seconds
    steps += [
        Step(
            action=_wait(Over(gang=BLOCKER), "the blocker's end", blocker_deadline),
            part=2,
            says="The blocker goes.",
        ),
        Step(
            action=_wait(Placed(gang=JOB), "the placement of all workers of the job"),
            part=2,
            says="The blocker is gone: the job can start.",
        ),
        Step(
            action=_wait(Over(gang=JOB), "the end of the job", job_deadline),
            part=2,
            says="All workers run.",
        ),
        Step(action=Remove(works=(JOB, BLOCKER)), part=2, says="The job is done."),
    ]
    return tuple(steps)


def _oversized_steps(options: StoryOptions) -> tuple[Step, ...]:
    arrives = f"A job of {options.workers} workers arrives; there are {options.gpus} GPUs."
    return (
        Step(action=Submit(works=(JOB,)), part=1, says=arrives),
        Step(
            action=_wait(Answered(gang=JOB), "an answer of both schedulers about the job"),
            part=1,
            says=arrives,
        ),
        Step(
            action=_wait(Passed(seconds=options.look_seconds), "the look at the waiting job"),
            part=1,
            says="It can never start. Who holds what meanwhile?",
        ),
        Step(action=Remove(works=(JOB,)), part=1, says="The job is removed."),
    )


def _rival_steps(options: StoryOptions, size: int) -> tuple[Step, ...]:
    arrive = f"Two jobs of {size} workers arrive together; there are {options.gpus} GPUs."
    return (
        Step(action=Submit(works=(JOB_A, JOB_B)), part=3, says=arrive),
        Step(
            action=_wait(
                Settled(gangs=(JOB_A, JOB_B)),
                "an end of both jobs or a deadlock",
                60 + 2 * options.work_seconds,
            ),
            part=3,
            says=arrive,
        ),
        Step(action=Remove(works=(JOB_A, JOB_B)), part=3, says="What is left is removed."),
    )


def _not_shown(options: StoryOptions, *, can_start: bool, have_rivals: bool) -> tuple[str, ...]:
    said = []
    if options.workers == 1:
        said.append(
            "Part 1 does not apply to a job of one worker: it is whole with its first GPU, so no "
            "scheduler can place a part of it."
        )
    if not can_start:
        said.append(
            f"Part 2 does not apply: {options.workers} workers never fit {options.gpus} GPU"
            f"{'s' if options.gpus > 1 else ''}, with or without a blocker."
        )
    if not have_rivals:
        said.append(
            "Part 3 does not apply to one GPU: two jobs that both want it are two jobs of one "
            "worker, and those cannot be half-placed."
        )
    return tuple(said)
