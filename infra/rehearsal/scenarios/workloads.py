"""The objects that a scenario puts into the cluster: nodes, queue, pods, gang jobs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final

from components.gpu import GPU_RESOURCE, GPU_TAINT
from components.instance_types import INSTANCE_TYPES
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.observer import GANG_LABEL
from infra.rehearsal.scenarios.scenario import Scheduler

JsonObject = dict[str, Any]

OWNED_LABEL: Final = "gangway.dev/demo"
"""On every object that a scenario makes; its value names the scheduler under test."""

INSTANCE_TYPE: Final = "g4dn.xlarge"
"""What the scenario's nodes are, and the price that its GPU time has."""

_WORKER_IMAGE: Final = "registry.k8s.io/pause:3.10.1"
"""Does nothing: what a worker computes is not what a scenario is about."""

_WORKER_RESOURCES: Final = {"cpu": "1", "memory": "1Gi"}
_FAKE_NODE: Final = {"kwok.x-k8s.io/node": "fake"}


@dataclass(frozen=True, kw_only=True, slots=True)
class Half:
    """One scheduler's own namespace, nodes and queue; nothing else can land there or leave it."""

    gpus: int
    scheduler: Scheduler

    @property
    def namespace(self) -> str:
        """Its namespace."""
        return f"gangway-demo-{self.scheduler.name}"

    @property
    def queue(self) -> str:
        """Its Volcano queue."""
        return self.namespace

    @property
    def nodes(self) -> tuple[str, ...]:
        """Its nodes, one GPU each."""
        return tuple(f"{self.namespace}-{index}" for index in range(self.gpus))

    @property
    def labels(self) -> dict[str, str]:
        """The labels of everything in it."""
        return {OWNED_LABEL: self.scheduler.name}


def namespace(half: Half) -> JsonObject:
    """The half's namespace."""
    metadata = {"name": half.namespace, "labels": half.labels}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": metadata}


def node(half: Half, name: str) -> JsonObject:
    """A node with one GPU that only this half's pods tolerate and ask for.

    It belongs to no node group, so an autoscaler neither counts nor removes it, and a gang that
    waits for it makes no autoscaler buy anything: no group has the label it asks for.
    """
    facts = INSTANCE_TYPES[INSTANCE_TYPE]
    capacity = {
        "cpu": str(facts.vcpus),
        "memory": f"{facts.memory_mib}Mi",
        "pods": "110",
        GPU_RESOURCE: "1",
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": name,
            "annotations": _FAKE_NODE,
            "labels": half.labels
            | {"kubernetes.io/hostname": name, "node.kubernetes.io/instance-type": INSTANCE_TYPE},
        },
        "spec": {
            "taints": [
                {"key": GPU_TAINT.key, "value": GPU_TAINT.value, "effect": GPU_TAINT.effect},
                {"key": OWNED_LABEL, "value": half.scheduler.name, "effect": "NoSchedule"},
            ]
        },
        "status": {"allocatable": capacity, "capacity": capacity},
    }


def queue(half: Half) -> JsonObject:
    """A queue that is sure of exactly this half's GPUs.

    Guaranteed, so that other queues of the cluster cannot count these GPUs as theirs; capped, so
    that this one does not count theirs.
    """
    share = {
        "cpu": str(8 * half.gpus),
        "memory": f"{16 * half.gpus}Gi",
        GPU_RESOURCE: str(half.gpus),
    }
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": half.queue, "labels": half.labels},
        "spec": {
            "weight": 1,
            "reclaimable": False,
            "capability": share,
            "deserved": share,
            "guarantee": {"resource": share},
        },
    }


def pod(half: Half, gang: Gang, index: int) -> JsonObject:
    """A single worker of a gang."""
    template = _template(half, gang)
    metadata = template["metadata"] | {"name": f"{gang.name}-worker-{index}"}
    return {"apiVersion": "v1", "kind": "Pod", **template, "metadata": metadata}


def gang_job(half: Half, gang: Gang) -> JsonObject:
    """The gang as one Volcano job that starts whole or not at all."""
    task = {"name": "worker", "replicas": gang.size, "template": _template(half, gang)}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": gang.name, "labels": half.labels},
        "spec": {
            "minAvailable": gang.size,
            "queue": half.queue,
            "schedulerName": half.scheduler.name,
            "tasks": [task],
        },
    }


def _template(half: Half, gang: Gang) -> JsonObject:
    limits = _WORKER_RESOURCES | {GPU_RESOURCE: str(gang.gpus_per_worker)}
    container = {
        "name": "worker",
        "image": _WORKER_IMAGE,
        "resources": {"limits": limits, "requests": limits},
    }
    return {
        "metadata": {
            "annotations": {"scheduling.volcano.sh/queue-name": half.queue},
            "labels": half.labels | {GANG_LABEL: gang.name},
        },
        "spec": {
            "containers": [container],
            "nodeSelector": half.labels,
            "restartPolicy": "Never",
            "schedulerName": half.scheduler.name,
            "tolerations": [
                GPU_TAINT.toleration(),
                {"key": OWNED_LABEL, "operator": "Exists", "effect": "NoSchedule"},
            ],
        },
    }


def end_patch(*, fails: bool) -> JsonObject:
    """The status of a worker whose work is done, as its kubelet would write it."""
    code = 1 if fails else 0
    reason = "Error" if fails else "Completed"
    terminated = {"exitCode": code, "reason": reason}
    container = {
        "name": "worker",
        "image": _WORKER_IMAGE,
        "imageID": "",
        "ready": False,
        "restartCount": 0,
        "started": False,
        "state": {"running": None, "terminated": terminated},
    }
    conditions = [{"type": kind, "status": "False"} for kind in ("ContainersReady", "Ready")]
    return {
        "status": {
            "phase": "Failed" if fails else "Succeeded",
            "conditions": conditions,
            "containerStatuses": [container],
        }
    }


def arrivals(half: Half, gangs: Sequence[Gang]) -> list[JsonObject]:
    """The objects by which gangs that come together arrive, in the order of their arrival.

    A scheduler of gangs gets whole jobs. Any other gets the same workers one by one, the gangs
    in turn: jobs submitted at the same moment reach it interleaved, here in every run.
    """
    jobs = [gang_job(half, g) for g in gangs if half.scheduler.gang_jobs and not g.blocker]
    single = [g for g in gangs if g.blocker or not half.scheduler.gang_jobs]
    pods = [
        pod(half, gang, index)
        for index in range(max((gang.size for gang in single), default=0))
        for gang in single
        if index < gang.size
    ]
    return jobs + pods
