"""Plays a scenario on every scheduler at once, step by step, and records what is observed.

The halves go in lockstep: the next step begins once the condition of the last one holds in all of
them, so that their timelines can be laid side by side. One audit log of one API server is the
only witness.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from infra.rehearsal.scenarios.arena import Arena
from infra.rehearsal.scenarios.clock import Exchange, offset
from infra.rehearsal.scenarios.events import SECOND, Created, Event, Micros, PodName, namespace_of
from infra.rehearsal.scenarios.observer import AuditLog
from infra.rehearsal.scenarios.scenario import (
    Await,
    Remove,
    Scenario,
    Step,
    Submit,
    View,
)
from infra.rehearsal.scenarios.workloads import Half
from infra.waiting import DeadlineExceededError, wait_until

_TICK_SECONDS: Final = 0.1


@dataclass(frozen=True, kw_only=True, slots=True)
class Mark:
    """When a step of the story began, on the API server's clock."""

    at: Micros
    part: int
    says: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """Everything observed in one play; verdicts are made of this alone.

    `stopped` says what did not come in time when the play could not go on to its end.
    """

    clock_error: Micros
    ended: Micros
    events: dict[str, tuple[Event, ...]]
    marks: tuple[Mark, ...]
    started: Micros
    stopped: str | None


Onlooker = Callable[[Recording], None]


class Runner:
    """One play of a scenario; `onlooker` is shown the recording so far at every tick."""

    def __init__(
        self,
        arena: Arena,
        log: AuditLog,
        scenario: Scenario,
        halves: Sequence[Half],
        onlooker: Onlooker,
    ) -> None:
        self._arena = arena
        self._halves = halves
        self._log = log
        self._onlooker = onlooker
        self._scenario = scenario
        self._ended: set[PodName] = set()
        self._events: dict[str, list[Event]] = {half.namespace: [] for half in halves}
        self._exchanges: list[Exchange] = []
        self._marks: list[Mark] = []
        self._told: dict[PodName, tuple[Micros, Micros]] = {}
        self._started = self._now()

    def play(self) -> Recording:
        """Play all steps, or those up to one whose condition does not come in time."""
        stopped = None
        try:
            for step in self._scenario.steps:
                self._begin(step)
        except DeadlineExceededError as error:
            stopped = str(error)
        self._observe()
        return self._recording(stopped)

    def _begin(self, step: Step) -> None:
        since = self._now()
        if not self._marks or self._marks[-1].says != step.says:
            self._marks.append(Mark(at=since, part=step.part, says=step.says))
        match step.action:
            case Submit(works=names):
                gangs = [self._scenario.work(name).gang for name in names]
                for half in self._halves:
                    self._told |= self._arena.submit(half, gangs)
            case Remove(works=names):
                gangs = [self._scenario.work(name).gang for name in names]
                for half in self._halves:
                    self._arena.remove(half, gangs)
            case Await() as action:
                wait_until(
                    lambda: self._has_come(action, since),
                    what=action.what,
                    deadline_seconds=action.deadline_seconds,
                    every_seconds=_TICK_SECONDS,
                )

    def _has_come(self, action: Await, since: Micros) -> bool:
        self._observe()
        return all(action.until.holds(self._view(half, since)) for half in self._halves)

    def _observe(self) -> None:
        for event in self._log.read():
            own = self._events.get(namespace_of(event))
            if own is None:
                continue
            own.append(event)
            told = self._told.pop(event.pod, None) if isinstance(event, Created) else None
            if told is not None:
                sent, answered = told
                self._exchanges.append(Exchange(answered=answered, sent=sent, served=event.at))
        for half in self._halves:
            self._end_finished(half)
        self._onlooker(self._recording())

    def _end_finished(self, half: Half) -> None:
        """End the workers whose gang has been whole for as long as its work takes."""
        view = self._view(half, self._started)
        judged = view.verdict()
        for work in self._scenario.works:
            complete_at = judged.gangs[work.gang.name].complete_at
            if work.seconds is None or complete_at is None:
                continue
            if view.now - complete_at < work.seconds * SECOND:
                continue
            pods = [
                PodName(namespace=half.namespace, name=holding.worker)
                for holding in judged.holdings
                if holding.gang == work.gang.name and holding.end is None
            ]
            due = [pod for pod in pods if pod not in self._ended]
            self._ended.update(due)
            self._arena.end(due, fails=work.fails)

    def _view(self, half: Half, since: Micros) -> View:
        return View(
            events=self._events[half.namespace],
            gpus=half.gpus,
            now=self._now(),
            since=since,
            works=self._scenario.works,
        )

    def _now(self) -> Micros:
        """This machine's time, moved onto the API server's clock."""
        return offset(self._exchanges).apply(time.time_ns() // 1000)

    def _recording(self, stopped: str | None = None) -> Recording:
        return Recording(
            clock_error=offset(self._exchanges).error,
            ended=self._now(),
            events={
                half.scheduler.name: tuple(self._events[half.namespace]) for half in self._halves
            },
            marks=tuple(self._marks),
            started=self._started,
            stopped=stopped,
        )
