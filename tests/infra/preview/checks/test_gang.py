"""The recorded gang: whole, in a declared queue that names what it asks for, tolerant."""

from typing import Any

import pytest

from infra.preview.checks import gang
from infra.preview.recording import RecordedResource
from tests.support import settings as sample_settings
from tests.support.recorded import only_sentence, recording, resource

CAPABILITY = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"}
TOLERATIONS = [{"effect": "NoSchedule", "key": "nvidia.com/gpu", "operator": "Exists"}]
NODES = resource(
    "aws:eks/nodeGroup:NodeGroup",
    "gpu",
    {"taints": [{"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": "present"}]},
)


def queue(capability: dict[str, str] | None = None) -> RecordedResource:
    spec = {"capability": CAPABILITY if capability is None else capability}
    return resource(
        "kubernetes:scheduling.volcano.sh/v1beta1:Queue",
        "ml-queue",
        {"metadata": {"name": "ml-queue"}, "spec": spec},
    )


def job(
    tolerations: list[dict[str, str]] | None = None, replicas: int = 2, **spec: Any
) -> RecordedResource:
    limits = {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": "1"}
    pod = {
        "containers": [{"name": "trainer", "resources": {"limits": limits, "requests": limits}}],
        "tolerations": TOLERATIONS if tolerations is None else tolerations,
    }
    task = {"name": "worker", "replicas": replicas, "template": {"spec": pod}}
    whole = {"minAvailable": 2, "queue": "ml-queue", "schedulerName": "volcano", "tasks": [task]}
    return resource("kubernetes:batch.volcano.sh/v1alpha1:Job", "gang", {"spec": whole | spec})


def test_a_gang_that_exactly_fits_is_shown_with_its_arithmetic() -> None:
    said = only_sentence(
        gang.CHECK, "ok", recording(queue(), job(), NODES), sample_settings.settings()
    )
    assert said == (
        'Job "gang" starts 2 pods or none; together 4 cpu, 8Gi memory, 2 nvidia.com/gpu; '
        "a zone reaches 4 GPUs (4 nodes), the fleet 8"
    )


@pytest.mark.parametrize(
    ("recorded", "sentence"),
    [
        pytest.param([job(minAvailable=1), queue()], "minAvailable is 1", id="partial gang"),
        pytest.param([job(schedulerName=None), queue()], "one by one", id="other scheduler"),
        pytest.param([job(queue="other"), queue()], "declared queues: ml-queue", id="queue"),
        pytest.param([job()], "declared queues: none", id="no queue"),
        pytest.param(
            [job(), queue({"cpu": "4", "nvidia.com/gpu": "2"})],
            "asks for memory, which the capability of queue 'ml-queue' does not name",
            id="partial capability",
        ),
        pytest.param(
            [job(), queue(CAPABILITY | {"nvidia.com/gpu": "1"})],
            "asks for 2 nvidia.com/gpu in all, but queue 'ml-queue' has 1",
            id="larger than the queue",
        ),
        pytest.param(
            [job(), queue(CAPABILITY | {"memory": "7Gi"})],
            "asks for 8Gi memory in all, but queue 'ml-queue' has 7Gi",
            id="memory",
        ),
        pytest.param(
            [job(tolerations=[]), queue(), NODES],
            "does not tolerate the taint nvidia.com/gpu:NoSchedule",
            id="taint",
        ),
    ],
)
def test_rejects_a_gang_that_would_never_start_whole(
    recorded: list[RecordedResource], sentence: str
) -> None:
    assert sentence in only_sentence(gang.CHECK, "refused", recording(*recorded))


def test_a_queue_without_capability_takes_any_gang() -> None:
    assert only_sentence(gang.CHECK, "ok", recording(queue({}), job()))


def test_no_gang_is_fine() -> None:
    assert only_sentence(gang.CHECK, "ok", recording()) == "no gang is declared"
