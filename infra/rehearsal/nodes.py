"""Kubernetes nodes for the emulated EC2 instances, as EKS would register and remove them."""

import datetime
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final, Protocol

from components.gpu import GPU_RESOURCE
from components.instance_types import INSTANCE_TYPES, InstanceType
from infra.errors import GangwayError
from infra.rehearsal.kubernetes_api import ApiError, KubernetesApi

JsonObject = dict[str, Any]

INSTANCE_ANNOTATION: Final = "gangway.dev/instance-id"
"""Marks the nodes that this module made; other nodes of the cluster are left alone."""

KUBELET_VERSION: Final = "v1.35.4-eks-rehearsal"
DEVICE_PLUGIN_LABEL: Final = "app.kubernetes.io/name=nvidia-device-plugin"
"""Label of the device plugin's pods (its chart 0.20.0, selector labels)."""

DISK_CAPACITY: Final = "100Gi"


class Taint(Protocol):
    """A taint of a node, in Kubernetes' spelling."""

    @property
    def key(self) -> str:
        """Its key."""

    @property
    def value(self) -> str:
        """Its value, which may be empty."""

    @property
    def effect(self) -> str:
        """NoSchedule, NoExecute or PreferNoSchedule."""


class Instance(Protocol):
    """A running instance of a managed node group (see aws.world.Instance)."""

    @property
    def id(self) -> str:
        """EC2's instance id."""

    @property
    def type(self) -> str:
        """The instance type, for example g4dn.xlarge."""

    @property
    def zone(self) -> str:
        """The availability zone's name."""

    @property
    def zone_id(self) -> str:
        """The availability zone's id."""

    @property
    def region(self) -> str:
        """The region."""

    @property
    def cluster(self) -> str:
        """The EKS cluster's name."""

    @property
    def node_group(self) -> str:
        """The node group's name."""

    @property
    def capacity_type(self) -> str:
        """ON_DEMAND or SPOT."""

    @property
    def labels(self) -> Mapping[str, str]:
        """Labels that the node group declares."""

    @property
    def taints(self) -> Sequence[Taint]:
        """Taints that the node group declares."""

    @property
    def private_dns_name(self) -> str:
        """The private host name, which is the node's name."""

    @property
    def private_ip(self) -> str:
        """The private address."""


def instance_facts(name: str) -> InstanceType:
    """Size of an instance type; an unknown one is refused by name."""
    try:
        return INSTANCE_TYPES[name]
    except KeyError as error:
        message = (
            f"instance type {name} has no known size, so its node cannot be made: add it to "
            f"components/instance_types.py or use one of {', '.join(sorted(INSTANCE_TYPES))}"
        )
        raise GangwayError(message) from error


def node_manifest(instance: Instance) -> JsonObject:
    """The node that the instance's kubelet would register, without GPUs yet."""
    facts = instance_facts(instance.type)
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": instance.private_dns_name,
            "labels": node_labels(instance, facts),
            "annotations": {INSTANCE_ANNOTATION: instance.id, "kwok.x-k8s.io/node": "fake"},
        },
        "spec": {
            "providerID": f"aws:///{instance.zone}/{instance.id}",
            "taints": [
                {"key": taint.key, "value": taint.value, "effect": taint.effect}
                for taint in instance.taints
            ],
        },
        "status": _status(instance, facts),
    }


def node_labels(instance: Instance, facts: InstanceType) -> dict[str, str]:
    """Labels that the kubelet, the cloud provider and EKS set, then the declared ones.

    Source: Kubernetes well-known labels; EKS user guide, managed node groups (the two
    eks.amazonaws.com labels) and `topology.k8s.aws/zone-id`.
    """
    own = {
        "beta.kubernetes.io/arch": facts.architecture,
        "beta.kubernetes.io/instance-type": facts.name,
        "beta.kubernetes.io/os": "linux",
        "eks.amazonaws.com/capacityType": instance.capacity_type,
        "eks.amazonaws.com/nodegroup": instance.node_group,
        "failure-domain.beta.kubernetes.io/region": instance.region,
        "failure-domain.beta.kubernetes.io/zone": instance.zone,
        "k8s.io/cloud-provider-aws": hashlib.sha256(instance.cluster.encode()).hexdigest()[:32],
        "kubernetes.io/arch": facts.architecture,
        "kubernetes.io/hostname": instance.private_dns_name,
        "kubernetes.io/os": "linux",
        "node.kubernetes.io/instance-type": facts.name,
        "topology.k8s.aws/zone-id": instance.zone_id,
        "topology.kubernetes.io/region": instance.region,
        "topology.kubernetes.io/zone": instance.zone,
    }
    return own | dict(instance.labels)


def capacity(facts: InstanceType, *, gpus: bool) -> dict[str, str]:
    """What the kubelet reports as capacity; GPUs only while a device plugin runs."""
    figures = {
        "cpu": str(facts.vcpus),
        "memory": f"{int(facts.memory_mib * 0.975) * 1024}Ki",
        "pods": str(facts.max_pods),
        "ephemeral-storage": DISK_CAPACITY,
        "hugepages-1Gi": "0",
        "hugepages-2Mi": "0",
    }
    return figures | ({GPU_RESOURCE: str(facts.gpus)} if gpus and facts.gpus else {})


def allocatable(facts: InstanceType, *, gpus: bool) -> dict[str, str]:
    """What is left to pods after EKS's reserve (its formula stands in instance_types)."""
    return capacity(facts, gpus=gpus) | {
        "cpu": f"{facts.allocatable_cpu_millicores}m",
        "memory": f"{facts.allocatable_memory_mib * 1024}Ki",
        "ephemeral-storage": "90Gi",
    }


def _status(instance: Instance, facts: InstanceType) -> JsonObject:
    now = timestamp()
    healthy = {"lastHeartbeatTime": now, "lastTransitionTime": now}
    pressures = ("MemoryPressure", "DiskPressure", "PIDPressure")
    return {
        "capacity": capacity(facts, gpus=False),
        "allocatable": allocatable(facts, gpus=False),
        "addresses": [
            {"type": "InternalIP", "address": instance.private_ip},
            {"type": "Hostname", "address": instance.private_dns_name},
            {"type": "InternalDNS", "address": instance.private_dns_name},
        ],
        "conditions": [
            *(
                {"type": name, "status": "False", "reason": "Sufficient", **healthy}
                for name in pressures
            ),
            {"type": "Ready", "status": "True", "reason": "KubeletReady", **healthy},
        ],
        "nodeInfo": {
            "architecture": facts.architecture,
            "bootID": "",
            "containerRuntimeVersion": "containerd://2.2.4",
            "kernelVersion": "6.18",
            "kubeProxyVersion": KUBELET_VERSION,
            "kubeletVersion": KUBELET_VERSION,
            "machineID": instance.id,
            "operatingSystem": "linux",
            "osImage": "Amazon Linux 2023",
            "systemUUID": instance.id,
        },
    }


def timestamp() -> str:
    """Now, as the Kubernetes API writes it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


class NodeReconciler:
    """Makes the cluster's nodes follow the instances, and their GPUs follow the device plugin."""

    def __init__(self, api: KubernetesApi) -> None:
        self._api = api

    def reconcile(self, instances: Iterable[Instance]) -> None:
        """One pass: missing nodes made, nodes of gone instances removed, GPUs set."""
        wanted = {instance.id: instance for instance in instances}
        nodes = self._own_nodes()
        for identity, instance in wanted.items():
            if identity not in nodes:
                nodes[identity] = self._register(instance)
        for identity in set(nodes) - set(wanted):
            self._remove(nodes.pop(identity)["metadata"]["name"])
        self._follow_device_plugin(nodes.values())

    def _own_nodes(self) -> dict[str, JsonObject]:
        marked = (
            (node["metadata"].get("annotations", {}).get(INSTANCE_ANNOTATION), node)
            for node in self._api.items("/api/v1/nodes", resourceVersion="0")
        )
        return {identity: node for identity, node in marked if identity}

    def _register(self, instance: Instance) -> JsonObject:
        manifest = node_manifest(instance)
        try:
            return self._api.create("/api/v1/nodes", manifest)
        except ApiError as error:
            if error.is_conflict:
                return self._api.get(f"/api/v1/nodes/{instance.private_dns_name}")
            raise

    def _remove(self, name: str) -> None:
        """What the node lifecycle and pod garbage controllers do once an instance is gone."""
        self._api.delete(f"/api/v1/nodes/{name}")
        for pod in self._api.items("/api/v1/pods", fieldSelector=f"spec.nodeName={name}"):
            fail_orphan(self._api, pod)

    def _follow_device_plugin(self, nodes: Iterable[JsonObject]) -> None:
        served = {
            pod["spec"].get("nodeName")
            for pod in self._api.items(
                "/api/v1/pods", labelSelector=DEVICE_PLUGIN_LABEL, resourceVersion="0"
            )
            if pod["status"].get("phase") == "Running"
            and "deletionTimestamp" not in pod["metadata"]
        }
        for node in nodes:
            name = node["metadata"]["name"]
            facts = instance_facts(node["metadata"]["labels"]["node.kubernetes.io/instance-type"])
            has = node["status"].get("allocatable", {}).get(GPU_RESOURCE)
            wants = str(facts.gpus) if facts.gpus and name in served else None
            if has != wants:
                figures = {GPU_RESOURCE: wants}
                self._api.patch(
                    f"/api/v1/nodes/{name}/status",
                    {"status": {"capacity": figures, "allocatable": figures}},
                )


def fail_orphan(api: KubernetesApi, pod: JsonObject) -> None:
    """Fail and delete a pod whose node is gone, at once instead of after 40 s of quarantine.

    Source: Kubernetes pod garbage collector (condition DisruptionTarget, DeletionByPodGC).
    """
    path = f"/api/v1/namespaces/{pod['metadata']['namespace']}/pods/{pod['metadata']['name']}"
    if pod["status"].get("phase") not in ("Succeeded", "Failed"):
        condition = {
            "type": "DisruptionTarget",
            "status": "True",
            "reason": "DeletionByPodGC",
            "message": "PodGC: node no longer exists",
            "lastTransitionTime": timestamp(),
        }
        try:
            api.patch(f"{path}/status", {"status": {"phase": "Failed", "conditions": [condition]}})
        except ApiError as error:
            if not error.is_not_found:
                raise
    api.delete(path, grace_seconds=0, uid=pod["metadata"]["uid"])
