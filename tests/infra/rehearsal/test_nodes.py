from dataclasses import dataclass, field
from typing import Any

import pytest

from components.gpu import GPU_RESOURCE, GPU_TAINT, Taint
from components.instance_types import INSTANCE_TYPES
from infra.errors import GangwayError
from infra.rehearsal.nodes import (
    INSTANCE_ANNOTATION,
    NodeReconciler,
    allocatable,
    capacity,
    node_manifest,
)


@dataclass(frozen=True, kw_only=True)
class Instance:
    id: str = "i-1"
    type: str = "g4dn.xlarge"
    zone: str = "us-east-1b"
    zone_id: str = "use1-az2"
    region: str = "us-east-1"
    cluster: str = "gangway-dev"
    node_group: str = "gpu-1"
    capacity_type: str = "SPOT"
    labels: dict[str, str] = field(default_factory=lambda: {"nvidia.com/gpu.present": "true"})
    taints: tuple[Taint, ...] = (GPU_TAINT,)
    private_dns_name: str = "ip-10-0-0-1.ec2.internal"
    private_ip: str = "10.0.0.1"


class FakeApi:
    """Nodes and pods in memory, as far as the reconciler asks."""

    def __init__(self, pods: list[dict[str, Any]] | None = None) -> None:
        self.nodes: dict[str, dict[str, Any]] = {}
        self.pods = pods or []
        self.calls: list[str] = []

    def items(self, path: str, **query: str) -> list[dict[str, Any]]:
        if path == "/api/v1/nodes":
            return list(self.nodes.values())
        node = query.get("fieldSelector", "").removeprefix("spec.nodeName=")
        return [pod for pod in self.pods if not node or pod["spec"].get("nodeName") == node]

    def create(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.nodes[body["metadata"]["name"]] = body
        return body

    def patch(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        self.calls.append(f"patch {path}")
        name = path.split("/")[4]
        if "/nodes/" in path:
            for part, figures in body["status"].items():
                status = self.nodes[name]["status"][part]
                status.update({key: value for key, value in figures.items() if value})
                for key in [key for key, value in figures.items() if not value]:
                    status.pop(key, None)
        return body

    def delete(self, path: str, **_: Any) -> None:
        self.calls.append(f"delete {path}")
        self.nodes.pop(path.rsplit("/", 1)[-1], None)


def _plugin(node: str, phase: str = "Running") -> dict[str, Any]:
    return {
        "metadata": {"name": "plugin", "namespace": "nvidia-device-plugin", "uid": "u"},
        "spec": {"nodeName": node},
        "status": {"phase": phase},
    }


def test_a_node_carries_the_labels_that_eks_sets_and_the_declared_ones() -> None:
    labels = node_manifest(Instance())["metadata"]["labels"]
    expected = {
        "eks.amazonaws.com/capacityType": "SPOT",
        "eks.amazonaws.com/nodegroup": "gpu-1",
        "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": "ip-10-0-0-1.ec2.internal",
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": "g4dn.xlarge",
        "nvidia.com/gpu.present": "true",
        "topology.k8s.aws/zone-id": "use1-az2",
        "topology.kubernetes.io/region": "us-east-1",
        "topology.kubernetes.io/zone": "us-east-1b",
    }
    assert expected.items() <= labels.items()


def test_a_node_is_known_by_its_instance_and_tainted_as_declared() -> None:
    node = node_manifest(Instance())
    assert node["spec"]["providerID"] == "aws:///us-east-1b/i-1"
    taint = {"key": "nvidia.com/gpu", "value": "present", "effect": "NoSchedule"}
    assert node["spec"]["taints"] == [taint]


def test_a_new_node_has_no_gpu_yet() -> None:
    status = node_manifest(Instance())["status"]
    assert GPU_RESOURCE not in status["capacity"]
    assert GPU_RESOURCE not in status["allocatable"]


@pytest.mark.parametrize("name", sorted(INSTANCE_TYPES))
def test_what_is_allocatable_stays_below_the_capacity(name: str) -> None:
    facts = INSTANCE_TYPES[name]
    left, whole = allocatable(facts, gpus=True), capacity(facts, gpus=True)
    assert int(left["memory"].removesuffix("Ki")) < int(whole["memory"].removesuffix("Ki"))
    assert int(left["cpu"].removesuffix("m")) < int(whole["cpu"]) * 1000
    assert left.get(GPU_RESOURCE) == (str(facts.gpus) if facts.gpus else None)


def test_a_g4dn_xlarge_leaves_what_its_eks_node_leaves() -> None:
    left = allocatable(INSTANCE_TYPES["g4dn.xlarge"], gpus=True)
    assert (left["cpu"], left["pods"], left[GPU_RESOURCE]) == ("3920m", "29", "1")


def test_rejects_an_instance_type_of_unknown_size_by_name() -> None:
    with pytest.raises(GangwayError, match=r"p9\.huge has no known size"):
        node_manifest(Instance(type="p9.huge"))


def test_nodes_follow_the_instances_both_ways() -> None:
    api = FakeApi()
    reconciler = NodeReconciler(api)  # type: ignore[arg-type]
    reconciler.reconcile([Instance(), Instance(id="i-2", private_dns_name="two")])
    assert set(api.nodes) == {"ip-10-0-0-1.ec2.internal", "two"}
    reconciler.reconcile([Instance()])
    assert set(api.nodes) == {"ip-10-0-0-1.ec2.internal"}


def test_a_node_that_others_made_is_left_alone() -> None:
    api = FakeApi()
    api.nodes["other"] = {"metadata": {"name": "other"}, "status": {}}
    NodeReconciler(api).reconcile([])  # type: ignore[arg-type]
    assert set(api.nodes) == {"other"}


def test_pods_of_a_removed_node_fail_as_the_garbage_collector_fails_them() -> None:
    api = FakeApi([_plugin("ip-10-0-0-1.ec2.internal")])
    reconciler = NodeReconciler(api)  # type: ignore[arg-type]
    reconciler.reconcile([Instance()])
    api.calls.clear()
    reconciler.reconcile([])
    pod = "/api/v1/namespaces/nvidia-device-plugin/pods/plugin"
    assert [call for call in api.calls if "/pods/" in call] == [
        f"patch {pod}/status",
        f"delete {pod}",
    ]


def test_the_gpu_comes_with_the_device_plugin_and_goes_with_it() -> None:
    api = FakeApi([_plugin("ip-10-0-0-1.ec2.internal")])
    reconciler = NodeReconciler(api)  # type: ignore[arg-type]
    reconciler.reconcile([Instance(), Instance(id="i-2", private_dns_name="two")])
    with_plugin, without = api.nodes["ip-10-0-0-1.ec2.internal"], api.nodes["two"]
    assert with_plugin["status"]["allocatable"][GPU_RESOURCE] == "1"
    assert GPU_RESOURCE not in without["status"]["allocatable"]
    api.pods.clear()
    reconciler.reconcile([Instance(), Instance(id="i-2", private_dns_name="two")])
    assert GPU_RESOURCE not in with_plugin["status"]["allocatable"]


def test_a_plugin_pod_that_does_not_run_brings_no_gpu() -> None:
    api = FakeApi([_plugin("ip-10-0-0-1.ec2.internal", phase="Pending")])
    NodeReconciler(api).reconcile([Instance()])  # type: ignore[arg-type]
    node = api.nodes["ip-10-0-0-1.ec2.internal"]
    assert node["metadata"]["annotations"][INSTANCE_ANNOTATION] == "i-1"
    assert GPU_RESOURCE not in node["status"]["allocatable"]
