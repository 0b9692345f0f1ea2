"""A cluster that is played: schedulers by rule, events as the audit log would tell them."""

import time
from collections.abc import Sequence
from typing import Any

from infra.rehearsal.scenarios.events import (
    Bound,
    Created,
    Deleted,
    Ended,
    Event,
    Micros,
    PodName,
    Refused,
)
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.workloads import Half


def _now() -> Micros:
    return time.time_ns() // 1000


class PlayedCluster:
    """Arena and audit log in one: what is submitted is scheduled at once, by pod or by gang.

    `gangs_whole` names the schedulers that place whole gangs only.
    """

    def __init__(self, gangs_whole: Sequence[str], clock_ahead: Micros = 0) -> None:
        self._ahead = clock_ahead
        self._gangs_whole = gangs_whole
        self._events: list[Event] = []
        self._free: dict[str, list[str]] = {}
        self._gangs: dict[PodName, Gang] = {}
        self._halves: dict[str, Half] = {}
        self._held: dict[PodName, str] = {}
        self._waiting: list[PodName] = []

    def submit(self, half: Half, gangs: Sequence[Gang]) -> dict[PodName, tuple[Micros, Micros]]:
        self._halves[half.namespace] = half
        self._free.setdefault(half.namespace, list(half.nodes))
        told = {}
        for index in range(max(gang.size for gang in gangs)):
            for gang in gangs:
                if index < gang.size:
                    name = PodName(namespace=half.namespace, name=f"{gang.name}-worker-{index}")
                    self._gangs[name] = gang
                    sent = _now()
                    self._tell(Created(at=self._time(), gang=gang.name, pod=name))
                    told[name] = (sent, _now())
                    self._waiting.append(name)
        self._schedule()
        return told

    def end(self, pods: Sequence[PodName], *, fails: bool) -> None:
        for pod in pods:
            self._tell(Ended(at=self._time(), pod=pod, succeeded=not fails))
            self._release(pod)
        self._schedule()

    def remove(self, half: Half, gangs: Sequence[Gang]) -> None:
        names = {gang.name for gang in gangs}
        gone = [
            pod
            for pod, gang in self._gangs.items()
            if pod.namespace == half.namespace and gang.name in names
        ]
        for pod in sorted(gone, key=lambda pod: pod in self._held):
            del self._gangs[pod]
            if pod in self._waiting:
                self._waiting.remove(pod)
            self._tell(Deleted(at=self._time(), final=True, pod=pod))
            self._release(pod)
        self._schedule()

    def read(self) -> list[Event]:
        events, self._events = self._events, []
        return events

    def _tell(self, event: Event) -> None:
        self._events.append(event)

    def _time(self) -> Micros:
        return _now() + self._ahead

    def _release(self, pod: PodName) -> None:
        node = self._held.pop(pod, None)
        if node is not None:
            self._free[pod.namespace].append(node)

    def _schedule(self) -> None:
        for pod in list(self._waiting):
            peers = [p for p in self._waiting if self._is_peer(p, pod)]
            whole = self._halves[pod.namespace].scheduler.name in self._gangs_whole
            free = self._free[pod.namespace]
            if len(free) >= (len(peers) if whole else 1) and pod in self._waiting:
                for placed in peers if whole else [pod]:
                    self._waiting.remove(placed)
                    self._held[placed] = free.pop(0)
                    self._tell(Bound(at=self._time(), node=self._held[placed], pod=placed))
            elif pod in self._waiting:
                self._tell(Refused(at=self._time(), message="no room", pod=pod))

    def _is_peer(self, one: PodName, other: PodName) -> bool:
        same = self._gangs[one].name == self._gangs[other].name
        return one.namespace == other.namespace and same


def nothing(_: Any) -> None:
    """An onlooker who looks away."""
