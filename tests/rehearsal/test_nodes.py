from collections.abc import Iterator

import pytest

from components.gpu import GPU_RESOURCE
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.nodes import NodeReconciler
from infra.waiting import wait_until
from tests.support.rehearsal import DEFAULT, FakeInstance, gpu_instance, pod, wait_for_phase

pytestmark = pytest.mark.enable_socket

SYSTEM, GPU = FakeInstance(id="i-system"), gpu_instance("i-gpu")


@pytest.fixture
def reconciler(api: KubernetesApi) -> Iterator[NodeReconciler]:
    reconciler = NodeReconciler(api)
    yield reconciler
    reconciler.reconcile([])


def _ready(api: KubernetesApi, name: str) -> bool:
    node = api.get(f"/api/v1/nodes/{name}")
    conditions = {item["type"]: item["status"] for item in node["status"]["conditions"]}
    return conditions["Ready"] == "True" and not any(
        taint["key"].startswith("node.kubernetes.io") for taint in node["spec"].get("taints", [])
    )


def test_an_instance_becomes_a_ready_node_of_its_size(
    api: KubernetesApi, reconciler: NodeReconciler
) -> None:
    reconciler.reconcile([SYSTEM])
    name = SYSTEM.private_dns_name
    wait_until(lambda: _ready(api, name), what="a ready node", deadline_seconds=20)
    allocatable = api.get(f"/api/v1/nodes/{name}")["status"]["allocatable"]
    assert (allocatable["cpu"], allocatable["pods"]) == ("1930m", "29")


def test_a_node_stays_as_it_was_made(api: KubernetesApi, reconciler: NodeReconciler) -> None:
    reconciler.reconcile([GPU])
    before = api.get(f"/api/v1/nodes/{GPU.private_dns_name}")["metadata"]["uid"]
    reconciler.reconcile([GPU])
    assert api.get(f"/api/v1/nodes/{GPU.private_dns_name}")["metadata"]["uid"] == before


def test_a_tainted_node_takes_only_pods_that_tolerate_it(
    api: KubernetesApi, reconciler: NodeReconciler
) -> None:
    reconciler.reconcile([GPU])
    plain = pod("plain")
    tolerant = pod("tolerant", tolerations=[GPU.taints[0].toleration()])
    for body in (plain, tolerant):
        api.create(f"{DEFAULT}/pods", body)
    wait_for_phase(api, "tolerant", "Running")
    conditions = api.get(f"{DEFAULT}/pods/plain")["status"]["conditions"]
    assert [item["reason"] for item in conditions] == ["Unschedulable"]
    for name in ("plain", "tolerant"):
        api.delete(f"{DEFAULT}/pods/{name}", grace_seconds=0)


def test_the_gpu_is_there_while_the_device_plugin_runs(
    api: KubernetesApi, reconciler: NodeReconciler
) -> None:
    reconciler.reconcile([GPU])
    plugin = pod("plugin", node=GPU.private_dns_name)
    plugin["metadata"]["labels"] = {"app.kubernetes.io/name": "nvidia-device-plugin"}
    api.create(f"{DEFAULT}/pods", plugin)
    wait_for_phase(api, "plugin", "Running")

    def gpus() -> str | None:
        reconciler.reconcile([GPU])
        status = api.get(f"/api/v1/nodes/{GPU.private_dns_name}")["status"]
        answer: str | None = status["allocatable"].get(GPU_RESOURCE)
        return answer

    wait_until(lambda: gpus() == "1", what="the GPU", deadline_seconds=10)
    api.delete(f"{DEFAULT}/pods/plugin", grace_seconds=0)
    wait_until(lambda: gpus() is None, what="the GPU's end", deadline_seconds=10)


def test_a_gone_instance_takes_its_node_and_fails_its_pods(
    api: KubernetesApi, reconciler: NodeReconciler
) -> None:
    reconciler.reconcile([SYSTEM])
    api.create(f"{DEFAULT}/pods", pod("orphan", node=SYSTEM.private_dns_name))
    wait_for_phase(api, "orphan", "Running")
    reconciler.reconcile([])
    assert api.find(f"/api/v1/nodes/{SYSTEM.private_dns_name}") is None
    wait_until(
        lambda: api.find(f"{DEFAULT}/pods/orphan") is None,
        what="the orphan's end",
        deadline_seconds=10,
    )
