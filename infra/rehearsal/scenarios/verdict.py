"""What a scheduler did with its GPUs, as a pure function of the observed events."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise

from infra.rehearsal.scenarios.events import (
    SECOND,
    Bound,
    Created,
    Ended,
    Event,
    GangRefused,
    Micros,
    PodName,
    Refused,
)
from infra.rehearsal.scenarios.holdings import (
    Gang,
    Holding,
    Span,
    holdings,
    present_workers,
    spans,
)


@dataclass(frozen=True, kw_only=True, slots=True)
class GangVerdict:
    """One gang: when it was whole, how far apart its workers were placed, how it ended.

    `answered_at` is when the scheduler first placed or refused one of its workers,
    `complete_at` is the exact moment at which the last missing worker was bound, `spread` the
    time from the first of these bindings to the last; both None when it was never whole.
    """

    answered_at: Micros | None
    complete_at: Micros | None
    ended_at: Micros | None
    first_bound_at: Micros | None
    gang: Gang
    most_bound: int
    spread: Micros | None
    succeeded: bool
    useful: Micros
    wasted: Micros


@dataclass(frozen=True, kw_only=True, slots=True)
class Deadlock:
    """Gangs that each held some of their GPUs while none could ever get the rest."""

    end: Micros
    gangs: tuple[str, ...]
    start: Micros


@dataclass(frozen=True, kw_only=True, slots=True)
class Usage:
    """GPUs held from `at` until the next usage's moment."""

    at: Micros
    useful: int
    wasted: int

    @property
    def held(self) -> int:
        """GPUs that nobody else could have."""
        return self.useful + self.wasted


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """Everything judged about one scheduler's half; GPU time in GPU-microseconds."""

    deadlocks: tuple[Deadlock, ...]
    gangs: Mapping[str, GangVerdict]
    holdings: tuple[Holding, ...]
    interleaved: tuple[tuple[str, str], ...]
    spans: tuple[Span, ...]
    usage: tuple[Usage, ...]
    useful: Micros
    wasted: Micros

    @property
    def wasted_gpu_seconds(self) -> float:
        """GPU-seconds that were held by gangs that lacked a worker."""
        return self.wasted / SECOND


def judge(events: Iterable[Event], gangs: Sequence[Gang], *, gpus: int, until: Micros) -> Verdict:
    """Judge the events up to `until` on a cluster of `gpus` GPUs."""
    known = {gang.name: gang for gang in gangs}
    seen = [event for event in events if event.at <= until]
    held = tuple(holding for holding in holdings(seen) if holding.gang in known)
    pieces = spans(held, known, until)
    return Verdict(
        deadlocks=deadlocks(held, known, gpus=gpus, until=until),
        gangs={name: _gang_verdict(gang, seen, held, pieces) for name, gang in known.items()},
        holdings=held,
        interleaved=interleaved(held, known),
        spans=pieces,
        usage=usage(pieces, known),
        useful=gpu_time((p for p in pieces if p.useful), known),
        wasted=gpu_time((p for p in pieces if not p.useful), known),
    )


def gpu_time(pieces: Iterable[Span], gangs: Mapping[str, Gang]) -> Micros:
    """GPU-microseconds of the pieces."""
    return sum(piece.length * gangs[piece.holding.gang].gpus_per_worker for piece in pieces)


def dollars(gpu_micros: Micros, usd_per_gpu_hour: float) -> float:
    """What that much GPU time costs."""
    return gpu_micros / SECOND / 3600 * usd_per_gpu_hour


def usage(pieces: Sequence[Span], gangs: Mapping[str, Gang]) -> tuple[Usage, ...]:
    """GPUs held at every moment at which that changed."""
    moments = sorted({moment for piece in pieces for moment in (piece.start, piece.end)})
    return tuple(
        Usage(
            at=moment,
            useful=_gpus_at(moment, (p for p in pieces if p.useful), gangs),
            wasted=_gpus_at(moment, (p for p in pieces if not p.useful), gangs),
        )
        for moment in moments
    )


def _gpus_at(moment: Micros, pieces: Iterable[Span], gangs: Mapping[str, Gang]) -> int:
    return sum(gangs[p.holding.gang].gpus_per_worker for p in pieces if p.start <= moment < p.end)


def answers(events: Sequence[Event], gang: str) -> dict[PodName | str, Micros]:
    """When the scheduler first placed or refused each worker of the gang, or the gang itself."""
    workers = {e.pod for e in events if isinstance(e, Created) and e.gang == gang}
    first: dict[PodName | str, Micros] = {}
    for event in sorted(events, key=lambda event: event.at):
        if isinstance(event, Bound | Refused | Ended) and event.pod in workers:
            first.setdefault(event.pod, event.at)
        if isinstance(event, GangRefused) and event.gang == gang:
            first.setdefault(event.gang, event.at)
    return first


def _gang_verdict(
    gang: Gang, events: Sequence[Event], held: Sequence[Holding], pieces: Sequence[Span]
) -> GangVerdict:
    own = [holding for holding in held if holding.gang == gang.name]
    complete_at = next((h.start for h in own if present_workers(own, h.start) >= gang.size), None)
    ends = [holding.end for holding in own]
    own_pieces = [piece for piece in pieces if piece.holding.gang == gang.name]
    known = {gang.name: gang}
    finished = {holding.worker for holding in own if holding.succeeded}
    return GangVerdict(
        answered_at=min(answers(events, gang.name).values(), default=None),
        complete_at=complete_at,
        ended_at=max((e for e in ends if e is not None), default=None)
        if None not in ends
        else None,
        first_bound_at=own[0].start if own else None,
        gang=gang,
        most_bound=max((sum(h.is_held(o.start) for h in own) for o in own), default=0),
        spread=_spread(own, complete_at),
        succeeded=len(finished) >= gang.size,
        useful=gpu_time((p for p in own_pieces if p.useful), known),
        wasted=gpu_time((p for p in own_pieces if not p.useful), known),
    )


def _spread(own: Sequence[Holding], complete_at: Micros | None) -> Micros | None:
    if complete_at is None:
        return None
    return complete_at - min(h.start for h in own if h.is_held(complete_at))


def deadlocks(
    held: Sequence[Holding], gangs: Mapping[str, Gang], *, gpus: int, until: Micros
) -> tuple[Deadlock, ...]:
    """Stretches of time in which two or more gangs kept each other from ever being whole.

    GPUs of whole gangs count as free to come, since those gangs end; GPUs of incomplete gangs
    do not, since nothing ends them.
    """
    moments = sorted(
        {m for h in held for m in (h.start, h.end) if m is not None and m < until} | {until}
    )
    found: list[Deadlock] = []
    for start, end in pairwise(moments):
        stuck = _stuck(held, gangs, gpus, start)
        if not stuck:
            continue
        if found and found[-1].end == start and found[-1].gangs == stuck:
            found[-1] = Deadlock(end=end, gangs=stuck, start=found[-1].start)
        else:
            found.append(Deadlock(end=end, gangs=stuck, start=start))
    return tuple(found)


def _stuck(
    held: Sequence[Holding], gangs: Mapping[str, Gang], gpus: int, moment: Micros
) -> tuple[str, ...]:
    missing: dict[str, int] = {}
    lost = 0
    for name, gang in gangs.items():
        own = [holding for holding in held if holding.gang == name]
        holding_now = sum(holding.is_held(moment) for holding in own)
        lacking = gang.size - present_workers(own, moment)
        if holding_now and lacking > 0:
            missing[name] = lacking * gang.gpus_per_worker
            lost += holding_now * gang.gpus_per_worker
    can_complete = any(need <= gpus - lost for need in missing.values())
    return tuple(sorted(missing)) if len(missing) > 1 and not can_complete else ()


def interleaved(held: Sequence[Holding], gangs: Mapping[str, Gang]) -> tuple[tuple[str, str], ...]:
    """Pairs of gangs of which one got a worker placed between two placements of the other."""
    starts = {
        name: [h.start for h in held if h.gang == name]
        for name, gang in gangs.items()
        if gang.size > 1
    }
    return tuple(
        (one, other)
        for one, other in combinations(sorted(starts), 2)
        if _lies_within(starts[one], starts[other]) or _lies_within(starts[other], starts[one])
    )


def _lies_within(inner: Sequence[Micros], outer: Sequence[Micros]) -> bool:
    return len(outer) > 1 and any(min(outer) < moment < max(outer) for moment in inner)
