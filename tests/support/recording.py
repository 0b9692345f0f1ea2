"""The recording of a real run: its audit log, read as the demo reads it."""

from pathlib import Path
from typing import Any

from infra.rehearsal.scenarios import observer
from infra.rehearsal.scenarios.events import SECOND, Created, Event, namespace_of
from infra.rehearsal.scenarios.report import document
from infra.rehearsal.scenarios.runner import Mark, Recording
from infra.rehearsal.scenarios.scenario import DEFAULT_SCHEDULER, VOLCANO
from infra.rehearsal.scenarios.story import StoryOptions, tell
from infra.rehearsal.scenarios.workloads import Half
from stacks.prices import load_prices

AUDIT_LOG = Path(__file__).with_name("recordings") / "demo-audit.jsonl"
"""Written by the API server while the demo played on two GPUs; other fields are left out."""

STORY = tell(StoryOptions())
HALVES = [Half(gpus=2, scheduler=scheduler) for scheduler in (DEFAULT_SCHEDULER, VOLCANO)]


def _recording() -> Recording:
    lines = AUDIT_LOG.read_text(encoding="utf-8").splitlines()
    seen: list[Event] = list(observer.events(lines))
    by_half = {
        half.scheduler.name: tuple(e for e in seen if namespace_of(e) == half.namespace)
        for half in HALVES
    }
    started = min(event.at for event in seen)
    arrived = {e.gang: e.at for e in reversed(seen) if isinstance(e, Created)}
    blocker_gone = min(event.at for event in seen if isinstance(event, observer.Deleted))
    moments = {1: started, 2: blocker_gone, 3: arrived["job-a"]}
    return Recording(
        clock_error=1500,
        ended=max(event.at for event in seen) + SECOND // 10,
        events=by_half,
        marks=tuple(Mark(at=at, part=part, says=f"Part {part}.") for part, at in moments.items()),
        started=started,
        stopped=None,
    )


RECORDING = _recording()


def recorded_document(stopped: str | None = None) -> dict[str, Any]:
    """The document of the real run, as if the play had been stopped when `stopped` says so."""
    recording = Recording(
        clock_error=RECORDING.clock_error,
        ended=RECORDING.ended,
        events=RECORDING.events,
        marks=RECORDING.marks,
        started=RECORDING.started,
        stopped=stopped,
    )
    return document(STORY, recording, HALVES, load_prices("us-east-1"))
