"""The checks that expectations are made of: pure functions of one scheduler's verdict."""

from infra.rehearsal.scenarios.events import SECOND, Micros
from infra.rehearsal.scenarios.findings import Answer, Check, NotApplicable
from infra.rehearsal.scenarios.verdict import GangVerdict, Verdict


def seconds(length: Micros) -> str:
    """A length of time for people: microseconds while short, else seconds."""
    if abs(length) < SECOND // 1000:
        return f"{length} µs"
    if abs(length) < SECOND:
        return f"{length / 1000:.1f} ms"
    return f"{length / SECOND:.2f} s"


def _window(verdict: Verdict, blocker: str) -> tuple[Micros, Micros] | None:
    """From the blocker's last placement to its first release."""
    own = [holding for holding in verdict.holdings if holding.gang == blocker]
    ends = [holding.end for holding in own if holding.end is not None]
    return (max(h.start for h in own), min(ends)) if own and len(ends) == len(own) else None


def _placed_while_blocked(
    verdict: Verdict, gang: str, blocker: str
) -> tuple[int, Micros] | NotApplicable:
    """Workers placed while the blocker held its GPUs, and what they held in vain until then."""
    window = _window(verdict, blocker)
    if window is None:
        return NotApplicable(why="the blocker did not come and go")
    start, end = window
    answered_at = verdict.gangs[gang].answered_at
    if answered_at is None or answered_at >= end:
        return NotApplicable(why="the blocker ended before the scheduler had looked at the job")
    own = [h for h in verdict.holdings if h.gang == gang and start <= h.start < end]
    return len(own), sum(min(end, h.end or end) - h.start for h in own)


def holds_some(gang: str, blocker: str | None) -> Check:
    """Some workers hold GPUs while others have none, so that the gang cannot run."""

    def check(verdict: Verdict) -> Answer:
        judged = verdict.gangs[gang]
        placed, held = _placed(verdict, judged, blocker)
        if isinstance(placed, NotApplicable):
            return placed
        met = 0 < placed < judged.gang.size and held > 0
        return met, (
            f"{placed} of {judged.gang.size} workers held GPUs in vain, "
            f"{held / SECOND:.2f} GPU-seconds long"
        )

    return check


def holds_none(gang: str, blocker: str | None) -> Check:
    """No worker holds a GPU while the gang cannot be whole."""

    def check(verdict: Verdict) -> Answer:
        judged = verdict.gangs[gang]
        placed, _ = _placed(verdict, judged, blocker)
        if isinstance(placed, NotApplicable):
            return placed
        return placed == 0, f"{placed} of {judged.gang.size} workers held a GPU"

    return check


def _placed(
    verdict: Verdict, judged: GangVerdict, blocker: str | None
) -> tuple[int | NotApplicable, Micros]:
    if blocker is None:
        return judged.most_bound, judged.wasted
    found = _placed_while_blocked(verdict, judged.gang.name, blocker)
    return (found, 0) if isinstance(found, NotApplicable) else found


def starts_together(gang: str, within: Micros) -> Check:
    """All workers are bound within one scheduling cycle of each other."""

    def check(verdict: Verdict) -> Answer:
        spread = verdict.gangs[gang].spread
        if spread is None:
            return False, "not all workers were bound"
        return spread <= within, f"the last worker was bound {seconds(spread)} after the first"

    return check


def waits_for_release(gang: str, blocker: str) -> Check:
    """No worker is bound before the blocker gives its GPUs back."""

    def check(verdict: Verdict) -> Answer:
        judged, window = verdict.gangs[gang], _window(verdict, blocker)
        if window is None or judged.first_bound_at is None or judged.complete_at is None:
            return False, "the gang never started"
        return judged.first_bound_at >= window[1], (
            f"whole {seconds(judged.complete_at - window[1])} after the blocker went"
        )

    return check


def finishes(gang: str, *, fails: bool) -> Check:
    """Every worker ends, with success unless the job is one that fails, and frees its GPU."""

    def check(verdict: Verdict) -> Answer:
        judged = verdict.gangs[gang]
        ended = judged.complete_at is not None and judged.ended_at is not None
        words = "succeeded" if judged.succeeded else "did not succeed"
        if not ended:
            return False, "it did not end"
        return judged.succeeded != fails, f"it {words} and gave its GPUs back"

    return check


def deadlocks(*gangs: str) -> Check:
    """The gangs keep each other from ever being whole."""

    def check(verdict: Verdict) -> Answer:
        for deadlock in verdict.deadlocks:
            if deadlock.gangs == tuple(sorted(gangs)):
                length = seconds(deadlock.end - deadlock.start)
                return True, f"both half-placed for {length}, until they were removed"
        return False, "the gangs did not block each other"

    return check


def runs_in_turn(*gangs: str) -> Check:
    """One gang runs whole, then the other, and none holds a GPU in between."""

    def check(verdict: Verdict) -> Answer:
        judged = [verdict.gangs[name] for name in gangs]
        if verdict.deadlocks:
            return False, "the gangs blocked each other"
        known = [(g.complete_at, g.ended_at, g) for g in judged if g.complete_at and g.ended_at]
        if len(known) < len(judged) or not all(g.succeeded for g in judged):
            return False, "not all gangs were placed and finished"
        known.sort(key=lambda entry: entry[0])
        first_end, second = known[0][1], known[-1][2]
        in_turn = second.first_bound_at is not None and second.first_bound_at >= first_end
        return in_turn, (
            f"{known[0][2].gang.name} first, then {second.gang.name} "
            f"{seconds((second.complete_at or 0) - first_end)} after it ended"
        )

    return check
