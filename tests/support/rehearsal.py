"""A rehearsal's parts for the slow tests: tools if they are here, a cluster, pods, nodes."""

import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from components.gpu import GPU_TAINT, Taint
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.tools.resolve import check
from infra.waiting import wait_until

DEFAULT = "/api/v1/namespaces/default"


def built_tools(names: Iterable[str]) -> Mapping[str, Path]:
    """The named tools where all are here already; else the test is skipped in one line."""
    plans = {plan.tool.name: plan.path for plan in check(names)}
    missing = sorted(name for name, path in plans.items() if path is None)
    if missing:
        pytest.skip(f"not built here: {', '.join(missing)} (gangway rehearse tools)")
    return {name: path for name, path in plans.items() if path is not None}


@dataclass(frozen=True, kw_only=True)
class FakeInstance:
    """An instance of the emulated account, without the account."""

    id: str
    type: str = "m6i.large"
    zone: str = "us-east-1a"
    zone_id: str = "use1-az1"
    region: str = "us-east-1"
    cluster: str = "gangway-dev"
    node_group: str = "system"
    capacity_type: str = "ON_DEMAND"
    labels: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()

    @property
    def private_dns_name(self) -> str:
        """The node's name."""
        return f"{self.id}.ec2.internal"

    @property
    def private_ip(self) -> str:
        """An address of its own."""
        return f"10.0.{len(self.id)}.{sum(self.id.encode()) % 250 + 1}"


def gpu_instance(identity: str) -> FakeInstance:
    """A tainted g4dn.xlarge that the device plugin would choose."""
    return FakeInstance(
        id=identity,
        type="g4dn.xlarge",
        node_group="gpu",
        capacity_type="SPOT",
        labels={"nvidia.com/gpu.present": "true"},
        taints=(GPU_TAINT,),
    )


def pod(name: str, *, node: str | None = None, **spec: Any) -> dict[str, Any]:
    """A pod with one container `c`; keyword arguments of the container go by `container`."""
    container = {"name": "c", "image": "busybox"} | spec.pop("container", {})
    annotations = spec.pop("annotations", {})
    if node is not None:
        spec["nodeName"] = node
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "annotations": annotations},
        "spec": {"containers": [container], "restartPolicy": "Never", **spec},
    }


def phase(api: KubernetesApi, name: str) -> str:
    """The pod's phase."""
    return str(api.get(f"{DEFAULT}/pods/{name}")["status"].get("phase"))


def wait_for_phase(api: KubernetesApi, name: str, wanted: str, seconds: float = 30) -> dict:
    """Wait until the pod is in the phase; returns its status."""
    wait_until(
        lambda: phase(api, name) == wanted,
        what=f"{wanted} of {name}",
        deadline_seconds=seconds,
        every_seconds=0.1,
    )
    status: dict = api.get(f"{DEFAULT}/pods/{name}")["status"]
    return status


def elapsed(start: float) -> float:
    """Seconds since `start` (time.monotonic)."""
    return time.monotonic() - start
