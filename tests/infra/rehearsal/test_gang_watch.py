"""What a job's objects say about its gang."""

from typing import Any

import pytest

from infra.rehearsal.gang_watch import gang_state


def _job(minimum: int, phase: str = "Pending") -> dict[str, Any]:
    return {"spec": {"minAvailable": minimum}, "status": {"state": {"phase": phase}}}


def _pod(node: str = "", phase: str = "Pending") -> dict[str, Any]:
    return {"spec": {"nodeName": node} if node else {}, "status": {"phase": phase}}


def test_a_gang_is_bound_when_every_pod_has_a_node() -> None:
    assert gang_state(_job(2), [_pod("a"), _pod("b")]).is_bound


def test_half_a_gang_is_not_bound() -> None:
    assert not gang_state(_job(2), [_pod("a"), _pod()]).is_bound


def test_a_job_without_pods_is_not_bound() -> None:
    assert not gang_state(_job(2), []).is_bound


def test_a_job_that_volcano_has_not_seen_yet_is_pending() -> None:
    assert gang_state({"spec": {"minAvailable": 2}}, []).phase == "Pending"


def test_a_completed_job_was_bound_although_its_pods_are_gone() -> None:
    assert gang_state(_job(2, "Completed"), []).is_bound


def test_running_pods_are_counted() -> None:
    assert gang_state(_job(2), [_pod("a", "Running"), _pod("b")]).running == 1


@pytest.mark.parametrize(
    ("phase", "over"),
    [("Completed", True), ("Failed", True), ("Aborted", True), ("Running", False)],
)
def test_a_job_is_over_in_its_last_phases(phase: str, over: bool) -> None:
    assert gang_state(_job(2, phase), []).has_ended is over
