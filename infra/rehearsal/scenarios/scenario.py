"""Scenarios and schedulers as data: what arrives when, on how many GPUs, and what to wait for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, TypeAlias

from infra.rehearsal.scenarios.events import (
    SECOND,
    Created,
    Event,
    Micros,
)
from infra.rehearsal.scenarios.holdings import Gang, present_workers
from infra.rehearsal.scenarios.verdict import Verdict, answers, judge


@dataclass(frozen=True, kw_only=True, slots=True)
class Scheduler:
    """A scheduler under test; `gang_jobs` when it takes whole jobs (batch.volcano.sh)."""

    gang_jobs: bool
    name: str
    title: str


DEFAULT_SCHEDULER: Final = Scheduler(
    gang_jobs=False, name="default-scheduler", title="Default scheduler"
)
VOLCANO: Final = Scheduler(gang_jobs=True, name="volcano", title="Volcano")


@dataclass(frozen=True, kw_only=True, slots=True)
class Work:
    """What a gang does once it is whole: it computes for `seconds`, or until it is removed."""

    fails: bool = False
    gang: Gang
    seconds: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class View:
    """What one half has come to so far; every condition reads this and nothing else."""

    events: Sequence[Event]
    gpus: int
    now: Micros
    since: Micros
    works: Sequence[Work]

    @property
    def gangs(self) -> list[Gang]:
        """The gangs of the scenario."""
        return [work.gang for work in self.works]

    def verdict(self) -> Verdict:
        """Everything judged up to now."""
        return judge(self.events, self.gangs, gpus=self.gpus, until=self.now)


@dataclass(frozen=True, kw_only=True, slots=True)
class Answered:
    """The scheduler has placed or refused every worker of the gang that it was shown.

    It says nothing about which: that is the verdict's matter.
    """

    gang: str

    def holds(self, view: View) -> bool:
        """Whether it is so."""
        answered = answers(view.events, self.gang)
        created = {e.pod for e in view.events if isinstance(e, Created) and e.gang == self.gang}
        size = next(gang.size for gang in view.gangs if gang.name == self.gang)
        if not created:
            return self.gang in answered
        return len(created) >= size and all(pod in answered for pod in created)


@dataclass(frozen=True, kw_only=True, slots=True)
class Placed:
    """Every worker of the gang holds its GPUs, or the gang is over already."""

    gang: str

    def holds(self, view: View) -> bool:
        """Whether it is so."""
        verdict = view.verdict()
        own = [holding for holding in verdict.holdings if holding.gang == self.gang]
        judged = verdict.gangs[self.gang]
        return present_workers(own, view.now) >= judged.gang.size or judged.ended_at is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Over:
    """No worker of the gang holds a GPU any more, after all of them did."""

    gang: str

    def holds(self, view: View) -> bool:
        """Whether it is so."""
        judged = view.verdict().gangs[self.gang]
        return judged.complete_at is not None and judged.ended_at is not None


@dataclass(frozen=True, kw_only=True, slots=True)
class Settled:
    """Each of the gangs is over, or they keep each other from ever being whole."""

    gangs: tuple[str, ...]

    def holds(self, view: View) -> bool:
        """Whether it is so."""
        if all(Over(gang=gang).holds(view) for gang in self.gangs):
            return True
        stuck = view.verdict().deadlocks
        return bool(stuck) and stuck[-1].end >= view.now


@dataclass(frozen=True, kw_only=True, slots=True)
class Passed:
    """So much time has passed since the step began: room to see what the last step led to."""

    seconds: float

    def holds(self, view: View) -> bool:
        """Whether it is so."""
        return view.now - view.since >= self.seconds * SECOND


Condition: TypeAlias = Answered | Placed | Over | Settled | Passed


@dataclass(frozen=True, kw_only=True, slots=True)
class Submit:
    """The works arrive; several arrive together, worker by worker in turn."""

    works: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Remove:
    """What is left of the works is deleted."""

    works: tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class Await:
    """Go on once the condition holds in every half."""

    deadline_seconds: float = 30
    until: Condition
    what: str


Action: TypeAlias = Submit | Remove | Await


@dataclass(frozen=True, kw_only=True, slots=True)
class Step:
    """One action and the sentence that tells it to the onlooker."""

    action: Action
    part: int
    says: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario:
    """What happens, on how many one-GPU nodes for each scheduler."""

    gpus: int
    name: str
    steps: tuple[Step, ...]
    works: tuple[Work, ...]

    def work(self, name: str) -> Work:
        """The work of that name."""
        return next(work for work in self.works if work.gang.name == name)
