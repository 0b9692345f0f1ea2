"""How Volcano runs the gang, and which change makes it another one."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from components import gang
from components.training_job import job_spec
from tests.support.training import job


def test_pytorch_plugin_names_the_tasks_that_exist() -> None:
    assert gang.plugins("pytorch") == {
        "pytorch": ["--master=master", "--worker=worker", "--port=23456"],
        "svc": [],
    }
    assert set(gang.replicas("pytorch", 2)) == {"master", "worker"}


def test_tensorflow_plugin_names_the_task_that_exists() -> None:
    assert gang.plugins("tensorflow") == {
        "tensorflow": ["--worker=worker", "--port=2222"],
        "svc": [],
    }
    assert set(gang.replicas("tensorflow", 2)) == {"worker"}


@pytest.mark.parametrize(
    ("framework", "workers", "counts"),
    [
        ("pytorch", 1, {"master": 1}),
        ("pytorch", 4, {"master": 1, "worker": 3}),
        ("tensorflow", 4, {"worker": 4}),
    ],
)
def test_workers_over_tasks(framework: str, workers: int, counts: dict[str, int]) -> None:
    assert gang.replicas(framework, workers) == counts


@pytest.mark.parametrize("event", ["PodEvicted", "PodFailed"])
def test_one_lost_pod_restarts_the_whole_gang(event: str) -> None:
    actions = {policy.get("event"): policy["action"] for policy in gang.policies(60)}
    assert actions[event] == "RestartJob"


def test_a_hopeless_exit_code_is_met_before_any_failed_pod() -> None:
    policies = gang.policies(60)
    assert policies[0] == {"action": "AbortJob", "exitCode": 78}
    assert [policy.get("event") for policy in policies].index("PodFailed") > 0


def test_a_pod_that_stays_pending_ends_the_job() -> None:
    assert gang.policies(45)[-1] == {
        "action": "AbortJob",
        "event": "PodPending",
        "timeout": "45m0s",
    }


def test_no_policy_restarts_one_task_alone() -> None:
    assert {policy["action"] for policy in gang.policies(60)} == {"AbortJob", "RestartJob"}


def test_digest_does_not_depend_on_order() -> None:
    assert gang.digest({"a": 1, "b": 2}) == gang.digest({"b": 2, "a": 1})


def changed(change: Callable[[dict[str, Any]], object]) -> bool:
    before = job_spec(job(workers=3))
    after = copy.deepcopy(before)
    change(after)
    assert after != before
    return gang.immutable_digest(before) != gang.immutable_digest(after)


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec.update(minAvailable=2),
        lambda spec: spec.update(priorityClassName="high"),
        lambda spec: spec["tasks"][1].update(replicas=5),
        lambda spec: spec["tasks"][1].update(minAvailable=1),
    ],
    ids=["minAvailable", "priorityClassName", "replicas", "task-minAvailable"],
)
def test_what_volcano_updates_in_place_is_the_same_gang(
    change: Callable[[dict[str, Any]], object],
) -> None:
    assert not changed(change)


@pytest.mark.parametrize(
    "change",
    [
        lambda spec: spec["tasks"][0]["template"]["spec"]["containers"][0].update(image="b:2"),
        lambda spec: spec["tasks"].append({"name": "evaluator", "replicas": 1}),
        lambda spec: spec["tasks"].pop(),
        lambda spec: spec.update(maxRetry=20),
        lambda spec: spec.update(queue="other"),
        lambda spec: spec["policies"].pop(),
        lambda spec: spec["plugins"].update(ssh=[]),
    ],
    ids=["image", "task-added", "task-removed", "maxRetry", "queue", "policies", "plugins"],
)
def test_what_volcano_refuses_to_update_is_another_gang(
    change: Callable[[dict[str, Any]], object],
) -> None:
    assert changed(change)
