"""From events to who held which GPUs when, and when that was of use.

A worker holds its GPUs from its binding until it ends or is gone. Holding is useful while every
worker of the gang holds its GPUs or has finished; a gang that lacks one worker computes nothing.
"""

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from infra.rehearsal.scenarios.events import (
    Bound,
    Created,
    Deleted,
    Ended,
    Event,
    Micros,
    PodName,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class Gang:
    """Workers that are of use only together; a `blocker` is other work that is in the way."""

    blocker: bool = False
    gpus_per_worker: int = 1
    name: str
    size: int


@dataclass(frozen=True, kw_only=True, slots=True)
class Holding:
    """One worker's GPUs from `start` to `end`, which is None while it still holds them."""

    end: Micros | None = None
    gang: str
    node: str
    start: Micros
    succeeded: bool | None = None
    worker: str

    def is_held(self, moment: Micros) -> bool:
        """Whether the GPUs are held at that moment."""
        return self.start <= moment and (self.end is None or moment < self.end)

    def has_finished(self, moment: Micros) -> bool:
        """Whether the worker had done its work by that moment."""
        return bool(self.succeeded) and self.end is not None and self.end <= moment


@dataclass(frozen=True, kw_only=True, slots=True)
class Span:
    """A piece of a holding that was useful throughout, or wasted throughout."""

    end: Micros
    holding: Holding
    start: Micros
    useful: bool

    @property
    def length(self) -> Micros:
        """How long it lasted."""
        return self.end - self.start


@dataclass(slots=True)
class _Book:
    gang_of: dict[PodName, str] = field(default_factory=dict)
    held: dict[PodName, Holding] = field(default_factory=dict)
    leaving: dict[PodName, Micros] = field(default_factory=dict)
    over: list[Holding] = field(default_factory=list)

    def end(self, pod: PodName, at: Micros, succeeded: bool | None) -> None:
        holding = self.held.pop(pod, None)
        self.leaving.pop(pod, None)
        if holding is not None:
            self.over.append(replace(holding, end=at, succeeded=succeeded))

    def take(self, event: Event) -> None:
        match event:
            case Created():
                # Made again under its name: the one before is gone, noticed or not.
                self.end(event.pod, self.leaving.get(event.pod, event.at), None)
                self.gang_of[event.pod] = event.gang
            case Bound():
                self.held.setdefault(
                    event.pod,
                    Holding(
                        gang=self.gang_of.get(event.pod, event.pod.name),
                        node=event.node,
                        start=event.at,
                        worker=event.pod.name,
                    ),
                )
            case Ended():
                self.end(event.pod, event.at, event.succeeded)
            case Deleted(final=True):
                self.end(event.pod, event.at, None)
            case Deleted():
                self.leaving.setdefault(event.pod, event.at)
            case _:
                pass


def holdings(events: Iterable[Event]) -> tuple[Holding, ...]:
    """Every holding in the events, in the order of their starts; the events come in any order.

    A pod that is being deleted holds its GPUs until the deletion is final.
    """
    book = _Book()
    for event in sorted(events, key=lambda event: event.at):
        book.take(event)
    return tuple(sorted([*book.over, *book.held.values()], key=lambda h: (h.start, h.worker)))


def present_workers(of_gang: Sequence[Holding], moment: Micros) -> int:
    """How many workers hold their GPUs or have finished, counting each name's latest life."""
    latest: dict[str, Holding] = {}
    for holding in of_gang:
        if holding.start <= moment:
            latest[holding.worker] = holding
    return sum(h.is_held(moment) or h.has_finished(moment) for h in latest.values())


def spans(
    all_holdings: Iterable[Holding], gangs: Mapping[str, Gang], until: Micros
) -> tuple[Span, ...]:
    """Cut every holding where its gang becomes whole or stops being so; open ones end at `until`.

    A gang that is not in `gangs` counts as whole with one worker.
    """
    by_gang: dict[str, list[Holding]] = {}
    for holding in all_holdings:
        by_gang.setdefault(holding.gang, []).append(holding)
    pieces: list[Span] = []
    for name, of_gang in by_gang.items():
        size = gangs[name].size if name in gangs else 1
        for holding in of_gang:
            pieces.extend(_cut(holding, of_gang, size, until))
    return tuple(sorted(pieces, key=lambda span: (span.start, span.holding.worker)))


def _cut(holding: Holding, of_gang: Sequence[Holding], size: int, until: Micros) -> list[Span]:
    last = min(until, holding.end) if holding.end is not None else until
    moments = {moment for h in of_gang for moment in (h.start, h.end) if moment is not None}
    cuts = sorted({holding.start, last, *moments})
    pieces: list[Span] = []
    for start, end in itertools.pairwise(cuts):
        if start < holding.start or end > last:
            continue
        useful = present_workers(of_gang, start) >= size
        if pieces and pieces[-1].useful == useful:
            pieces[-1] = replace(pieces[-1], end=end)
        else:
            pieces.append(Span(end=end, holding=holding, start=start, useful=useful))
    return pieces
