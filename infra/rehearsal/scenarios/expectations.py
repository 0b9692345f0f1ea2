"""What the story expects of each scheduler, and why."""

from typing import Final

from infra.rehearsal.scenarios import checks
from infra.rehearsal.scenarios.events import SECOND
from infra.rehearsal.scenarios.findings import Expectation
from infra.rehearsal.scenarios.scenario import DEFAULT_SCHEDULER, VOLCANO

JOB: Final = "train"
BLOCKER: Final = "blocker"
JOB_A: Final = "job-a"
JOB_B: Final = "job-b"

CYCLE: Final = SECOND
"""One scheduling cycle of Volcano (its chart's `scheduler_schedule_period`, 1s)."""


def of_blocked_job(*, fails: bool, workers: int) -> tuple[Expectation, ...]:
    """Parts 1 and 2: the job waits for a blocker, then starts and ends."""
    ends = "fails" if fails else "completes"
    waiting = (
        Expectation(
            check=checks.holds_some(JOB, BLOCKER),
            part=1,
            reason="it places pod by pod and does not know that they are of use only together",
            scheduler=DEFAULT_SCHEDULER.name,
            sentence="some workers start and hold their GPUs, the others wait",
        ),
        Expectation(
            check=checks.holds_none(JOB, BLOCKER),
            part=1,
            reason="the gang plugin commits no placement before there is one for every worker",
            scheduler=VOLCANO.name,
            sentence="all workers wait, none holds a GPU",
        ),
    )
    return (
        *(waiting if workers > 1 else ()),
        Expectation(
            check=checks.waits_for_release(JOB, BLOCKER),
            part=2,
            reason="before that the gang had no place as a whole",
            scheduler=VOLCANO.name,
            sentence="the job starts once the blocker is gone",
        ),
        Expectation(
            check=checks.starts_together(JOB, CYCLE),
            part=2,
            reason="a gang is placed in one scheduling cycle",
            scheduler=VOLCANO.name,
            sentence="all workers start within one scheduling cycle of each other",
        ),
        *(
            Expectation(
                check=checks.finishes(JOB, fails=fails),
                part=2,
                reason="a whole gang can do its work",
                scheduler=scheduler.name,
                sentence=f"the job {ends}",
            )
            for scheduler in (DEFAULT_SCHEDULER, VOLCANO)
        ),
    )


def of_oversized_job() -> tuple[Expectation, ...]:
    """Part 1 of a job that is larger than all GPUs together."""
    return (
        Expectation(
            check=checks.holds_some(JOB, None),
            part=1,
            reason="it places pod by pod and does not know that the rest can never follow",
            scheduler=DEFAULT_SCHEDULER.name,
            sentence="some workers start and hold their GPUs for a job that can never run",
        ),
        Expectation(
            check=checks.holds_none(JOB, None),
            part=1,
            reason="the gang plugin commits no placement before there is one for every worker",
            scheduler=VOLCANO.name,
            sentence="no worker holds a GPU",
        ),
    )


def of_rivals() -> tuple[Expectation, ...]:
    """Part 3: two jobs that each need more than half of the GPUs."""
    return (
        Expectation(
            check=checks.deadlocks(JOB_A, JOB_B),
            part=3,
            reason="each job got some of the GPUs that the other one needs",
            scheduler=DEFAULT_SCHEDULER.name,
            sentence="both jobs end half-placed: a deadlock",
        ),
        Expectation(
            check=checks.runs_in_turn(JOB_A, JOB_B),
            part=3,
            reason="a gang that does not fit takes nothing from the one that does",
            scheduler=VOLCANO.name,
            sentence="one job runs, then the other",
        ),
    )
