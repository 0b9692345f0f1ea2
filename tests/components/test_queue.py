"""Volcano queues: what reaches the manifest, what is refused before Volcano would."""

from typing import Any

import pulumi
import pytest

from components.queue import Queue, QueueArgs, queue_spec
from components.versions import VOLCANO_CHART
from infra.preview import schemas
from tests.support import helm_charts
from tests.support.recorder import RecordedResource, record

QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"


def args(**changes: Any) -> QueueArgs:
    values: dict[str, Any] = {
        "capability": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"},
        "name": "ml-queue",
    }
    return QueueArgs(**values | changes)


def recorded(queue_args: QueueArgs) -> RecordedResource:
    def program() -> None:
        Queue("ml-queue", queue_args)

    return record(program).one(QUEUE)


def test_a_queue_is_no_more_than_capability_weight_and_reclaimable_by_default() -> None:
    assert queue_spec(args()) == {
        "capability": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "4"},
        "reclaimable": True,
        "weight": 1,
    }


@pytest.mark.parametrize(
    ("changes", "key", "value"),
    [
        ({"weight": 3}, "weight", 3),
        ({"reclaimable": False}, "reclaimable", False),
        ({"deserved": {"cpu": "2"}}, "deserved", {"cpu": "2"}),
        ({"parent": "research"}, "parent", "research"),
        (
            {"deserved": {"cpu": "2"}, "guarantee": {"cpu": "1"}},
            "guarantee",
            {"resource": {"cpu": "1"}},
        ),
    ],
    ids=["weight", "reclaimable", "deserved", "parent", "guarantee"],
)
def test_what_is_set_reaches_the_manifest(changes: dict[str, Any], key: str, value: object) -> None:
    assert queue_spec(args(**changes))[key] == value


def test_queue_is_named_as_asked() -> None:
    assert recorded(args()).inputs["metadata"]["name"] == "ml-queue"


def test_queue_is_done_only_when_it_is_open() -> None:
    queue = recorded(args())
    wait_for = queue.inputs["metadata"]["annotations"]["pulumi.com/waitFor"]
    assert wait_for == "jsonpath={.status.state}=Open"
    assert queue.custom_timeouts["create"] == "2m"


def test_queue_edited_by_hand_can_be_set_back() -> None:
    annotations = recorded(args()).inputs["metadata"]["annotations"]
    assert annotations["pulumi.com/patchForce"] == "true"


def test_queue_name_comes_from_the_resource() -> None:
    def program() -> None:
        pulumi.export("queue", Queue("ml-queue", args()).queue_name)

    assert record(program).exports == {"queue": "ml-queue"}


@pytest.mark.parametrize("name", ["default", "root"])
def test_rejects_names_that_volcano_owns(name: str) -> None:
    with pytest.raises(ValueError, match="which Volcano owns"):
        args(name=name)


@pytest.mark.parametrize("weight", [0, -1, 65_536])
def test_rejects_weights_out_of_range(weight: int) -> None:
    with pytest.raises(ValueError, match=f"weight is {weight}; allowed: 1 to 65535"):
        args(weight=weight)


def test_accepts_the_heaviest_weight() -> None:
    assert queue_spec(args(weight=65_535))["weight"] == 65_535


def test_rejects_an_empty_capability() -> None:
    with pytest.raises(ValueError, match="name every resource that the jobs ask for"):
        args(capability={})


def test_rejects_a_guarantee_without_deserved() -> None:
    with pytest.raises(ValueError, match="guarantee is set without deserved"):
        args(guarantee={"cpu": "1"})


def test_rejects_a_guarantee_above_deserved() -> None:
    with pytest.raises(ValueError, match="guarantee cpu is 3, above deserved 2"):
        args(deserved={"cpu": "2"}, guarantee={"cpu": "3"})


def test_rejects_deserved_above_capability() -> None:
    with pytest.raises(ValueError, match="deserved cpu is 9, above capability 8"):
        args(deserved={"cpu": "9"})


def test_queue_fits_the_crd_of_the_pinned_chart() -> None:
    known = schemas.chart_crd_schemas(helm_charts.chart_file(VOLCANO_CHART))
    full = args(
        deserved={"cpu": "2"}, guarantee={"cpu": "1"}, parent="root", reclaimable=False, weight=2
    )
    schema = known["scheduling.volcano.sh/v1beta1:Queue"]
    assert schemas.problems(recorded(full).inputs, schema) == []
