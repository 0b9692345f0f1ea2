"""The demo's result as one JSON document: every number that a page or picture shows is read here.

Moments are seconds since the play began, on the API server's clock; exact ones are also given as
timestamps with microseconds.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from infra.rehearsal.scenarios.events import (
    SECOND,
    Bound,
    Created,
    Deleted,
    Ended,
    Event,
    Micros,
    PodName,
    to_timestamp,
)
from infra.rehearsal.scenarios.findings import Finding, find, has_happened
from infra.rehearsal.scenarios.runner import Recording
from infra.rehearsal.scenarios.story import PARTS, Story
from infra.rehearsal.scenarios.verdict import GangVerdict, Verdict, dollars, judge
from infra.rehearsal.scenarios.workloads import INSTANCE_TYPE, Half
from stacks.prices import InstancePrices, Prices

Document = dict[str, Any]

SCHEMA: Final = "gangway.dev/demo/v1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting:
    """So many workers of a gang existed without a node from `start` to `end`."""

    end: Micros
    gang: str
    start: Micros
    workers: int


def document(
    story: Story, recording: Recording, halves: Sequence[Half], prices: Prices
) -> Document:
    """Judge the recording and write everything down."""
    gangs = [work.gang for work in story.scenario.works]
    verdicts = {
        half.scheduler.name: judge(
            recording.events[half.scheduler.name],
            gangs,
            gpus=half.gpus,
            until=recording.ended,
        )
        for half in halves
    }
    findings = find(story.expectations, verdicts)
    figures = prices.instances[INSTANCE_TYPE]
    return {
        "schema": SCHEMA,
        "started_at": to_timestamp(recording.started),
        "seconds": _seconds(recording.ended - recording.started),
        "clock_error_microseconds": recording.clock_error,
        "happened": recording.stopped is None and has_happened(findings),
        "stopped": recording.stopped,
        "gpus": story.scenario.gpus,
        "price": _price(prices, figures),
        "parts": _parts(recording),
        "marks": [
            {"at": _seconds(mark.at - recording.started), "part": mark.part, "says": mark.says}
            for mark in recording.marks
        ],
        "schedulers": [
            _scheduler(half, verdicts[half.scheduler.name], recording, figures) for half in halves
        ],
        "findings": [_finding(finding) for finding in findings],
        "not_shown": list(story.not_shown),
    }


def waits(events: Sequence[Event], until: Micros) -> list[Waiting]:
    """How many workers of each gang waited for a node when."""
    created: dict[PodName, Created] = {}
    steps: dict[str, list[tuple[Micros, int]]] = {}
    for event in sorted(events, key=lambda event: event.at):
        if isinstance(event, Created):
            created[event.pod] = event
            steps.setdefault(event.gang, []).append((event.at, 1))
        elif isinstance(event, Bound | Ended | Deleted) and event.pod in created:
            steps[created.pop(event.pod).gang].append((event.at, -1))
    found: list[Waiting] = []
    for gang, changes in steps.items():
        waiting = 0
        ends = [at for at, _ in changes[1:]] + [until]
        for (at, change), end in zip(changes, ends, strict=True):
            waiting += change
            if waiting and end > at:
                found.append(Waiting(end=end, gang=gang, start=at, workers=waiting))
    return sorted(found, key=lambda wait: (wait.start, wait.gang))


def _seconds(length: Micros) -> float:
    return length / SECOND


def _price(prices: Prices, figures: InstancePrices) -> Document:
    return {
        "instance_type": INSTANCE_TYPE,
        "region": prices.region,
        "date": prices.date.isoformat(),
        "usd_per_gpu_hour": {
            "on_demand": figures.on_demand.usd,
            "spot_low": figures.spot_low.usd,
            "spot_high": figures.spot_high.usd,
        },
    }


def _parts(recording: Recording) -> list[Document]:
    first: dict[int, Micros] = {}
    for mark in recording.marks:
        first.setdefault(mark.part, mark.at)
    return [
        {"part": part, "title": PARTS[part], "at": _seconds(at - recording.started)}
        for part, at in first.items()
    ]


def _scheduler(
    half: Half, verdict: Verdict, recording: Recording, figures: InstancePrices
) -> Document:
    start = recording.started
    events = recording.events[half.scheduler.name]
    return {
        "name": half.scheduler.name,
        "title": half.scheduler.title,
        "gpu_seconds": {
            "held": _seconds(verdict.useful + verdict.wasted),
            "useful": _seconds(verdict.useful),
            "wasted": _seconds(verdict.wasted),
        },
        "wasted_usd": _dollars(verdict.wasted, figures),
        "deadlocks": [
            {
                "gangs": list(deadlock.gangs),
                "start": _seconds(deadlock.start - start),
                "end": _seconds(deadlock.end - start),
                "seconds": _seconds(deadlock.end - deadlock.start),
            }
            for deadlock in verdict.deadlocks
        ],
        "interleaved": [list(pair) for pair in verdict.interleaved],
        "gangs": [_gang(gang, start, figures) for gang in verdict.gangs.values()],
        "lanes": [{"gpu": node, "spans": _lane(verdict, node, start)} for node in half.nodes],
        "waiting": [
            {
                "gang": wait.gang,
                "workers": wait.workers,
                "start": _seconds(wait.start - start),
                "end": _seconds(wait.end - start),
            }
            for wait in waits(events, recording.ended)
        ],
    }


def _lane(verdict: Verdict, node: str, start: Micros) -> list[Document]:
    return [
        {
            "gang": span.holding.gang,
            "blocker": verdict.gangs[span.holding.gang].gang.blocker,
            "worker": span.holding.worker,
            "start": _seconds(span.start - start),
            "end": _seconds(span.end - start),
            "useful": span.useful,
        }
        for span in verdict.spans
        if span.holding.node == node
    ]


def _gang(judged: GangVerdict, start: Micros, figures: InstancePrices) -> Document:
    at = judged.complete_at
    return {
        "name": judged.gang.name,
        "workers": judged.gang.size,
        "blocker": judged.gang.blocker,
        "complete_at": None if at is None else to_timestamp(at),
        "complete_at_seconds": None if at is None else _seconds(at - start),
        "spread_seconds": None if judged.spread is None else _seconds(judged.spread),
        "succeeded": judged.succeeded,
        "useful_gpu_seconds": _seconds(judged.useful),
        "wasted_gpu_seconds": _seconds(judged.wasted),
        "wasted_usd": _dollars(judged.wasted, figures),
    }


def _dollars(wasted: Micros, figures: InstancePrices) -> Mapping[str, float]:
    return {
        "on_demand": dollars(wasted, figures.on_demand.usd),
        "spot_low": dollars(wasted, figures.spot_low.usd),
        "spot_high": dollars(wasted, figures.spot_high.usd),
    }


def _finding(finding: Finding) -> Document:
    return {
        "part": finding.part,
        "scheduler": finding.scheduler,
        "expected": finding.sentence,
        "reason": finding.reason,
        "outcome": str(finding.outcome),
        "observed": finding.observed,
    }
