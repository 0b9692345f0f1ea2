"""The add-ons that the rehearsal knows: versions, and the pods that EKS runs for each.

A node holds these pods like any others, so their requests and tolerations are those of the real
add-ons, as far as they decide where a pod may run and how much room it takes.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

NAMESPACE: Final = "kube-system"

_EVERYWHERE: Final = ({"operator": "Exists"},)
_CRITICAL: Final = (
    {"key": "CriticalAddonsOnly", "operator": "Exists"},
    {"key": "node-role.kubernetes.io/control-plane", "effect": "NoSchedule"},
)


@dataclass(frozen=True, kw_only=True, slots=True)
class AddonPods:
    """What an add-on runs."""

    kind: str
    name: str
    image: str
    cpu: str
    memory: str
    replicas: int = 1
    tolerations: tuple[Mapping[str, Any], ...] = _EVERYWHERE
    host_network: bool = False
    node_selector: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class KnownAddon:
    """An add-on: its versions (newest first; the second is EKS's default) and its pods."""

    versions: tuple[str, ...]
    pods: AddonPods
    settings: frozenset[str]
    """Names that its configuration values take at the top."""
    pods_key: str = ""
    """Where its configuration holds the settings of its pods, when not at the top."""


_REGISTRY = "602401143452.dkr.ecr.us-east-1.amazonaws.com/eks"

# Sources: docs.aws.amazon.com/eks/latest/userguide/workloads-add-ons-available-eks.html for names
# and what they run; the charts in github.com/aws/eks-charts and each add-on's default manifest
# for requests and tolerations. Versions are of the right shape for 1.35, not checked against AWS.
ADDONS: Final[Mapping[str, KnownAddon]] = {
    "vpc-cni": KnownAddon(
        versions=("v1.21.1-eksbuild.3", "v1.20.4-eksbuild.2"),
        pods=AddonPods(
            kind="DaemonSet",
            name="aws-node",
            image=f"{_REGISTRY}/amazon-k8s-cni",
            cpu="50m",
            memory="0",
            host_network=True,
        ),
        settings=frozenset(
            [
                "affinity",
                "enableNetworkPolicy",
                "enableWindowsIpam",
                "env",
                "eniConfig",
                "init",
                "livenessProbe",
                "nodeAgent",
                "podAnnotations",
                "podLabels",
                "readinessProbe",
                "resources",
                "tolerations",
            ]
        ),
    ),
    "kube-proxy": KnownAddon(
        versions=("v1.35.2-eksbuild.4", "v1.35.0-eksbuild.2"),
        pods=AddonPods(
            kind="DaemonSet",
            name="kube-proxy",
            image=f"{_REGISTRY}/kube-proxy",
            cpu="100m",
            memory="0",
            host_network=True,
        ),
        settings=frozenset(["ipvs", "mode", "podAnnotations", "podLabels", "resources"]),
    ),
    "eks-pod-identity-agent": KnownAddon(
        versions=("v1.3.10-eksbuild.2", "v1.3.9-eksbuild.5"),
        pods=AddonPods(
            kind="DaemonSet",
            name="eks-pod-identity-agent",
            image=f"{_REGISTRY}/eks-pod-identity-agent",
            cpu="0",
            memory="0",
            host_network=True,
        ),
        settings=frozenset(
            ["agent", "affinity", "nodeSelector", "podAnnotations", "resources", "tolerations"]
        ),
    ),
    "eks-node-monitoring-agent": KnownAddon(
        versions=("v1.5.1-eksbuild.1", "v1.4.3-eksbuild.1"),
        pods=AddonPods(
            kind="DaemonSet",
            name="eks-node-monitoring-agent",
            image=f"{_REGISTRY}/eks-node-monitoring-agent",
            cpu="10m",
            memory="30Mi",
            host_network=True,
        ),
        settings=frozenset(["dcgmAgent", "monitoringAgent"]),
        pods_key="monitoringAgent",
    ),
    "coredns": KnownAddon(
        versions=("v1.13.2-eksbuild.1", "v1.12.4-eksbuild.1"),
        pods=AddonPods(
            kind="Deployment",
            name="coredns",
            image=f"{_REGISTRY}/coredns",
            cpu="100m",
            memory="70Mi",
            replicas=2,
            tolerations=_CRITICAL,
        ),
        settings=frozenset(
            [
                "affinity",
                "autoScaling",
                "computeType",
                "corefile",
                "nodeSelector",
                "podAnnotations",
                "podDisruptionBudget",
                "podLabels",
                "replicaCount",
                "resources",
                "tolerations",
                "topologySpreadConstraints",
            ]
        ),
    ),
    "metrics-server": KnownAddon(
        versions=("v0.8.0-eksbuild.6", "v0.8.0-eksbuild.2"),
        pods=AddonPods(
            kind="Deployment",
            name="metrics-server",
            image=f"{_REGISTRY}/metrics-server",
            cpu="100m",
            memory="200Mi",
            replicas=2,
            tolerations=_CRITICAL[:1],
        ),
        settings=frozenset(
            [
                "addonResizer",
                "affinity",
                "args",
                "containerPort",
                "defaultArgs",
                "deploymentAnnotations",
                "hostNetwork",
                "livenessProbe",
                "nodeSelector",
                "podAnnotations",
                "podDisruptionBudget",
                "podLabels",
                "priorityClassName",
                "readinessProbe",
                "replicas",
                "resources",
                "service",
                "tolerations",
                "topologySpreadConstraints",
                "updateStrategy",
            ]
        ),
    ),
}


def default_version(addon: str, *, most_recent: bool = False) -> str | None:
    """Return the version EKS installs when none is asked for; None for an unknown add-on."""
    known = ADDONS.get(addon)
    return known.versions[0 if most_recent else 1] if known else None


def workload(addon: str, settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return the Deployment or DaemonSet that EKS would run, with the configuration applied."""
    known = ADDONS[addon]
    pods = known.pods
    own = settings.get(known.pods_key, {}) if known.pods_key else settings
    labels = {"k8s-app": pods.name, "eks.amazonaws.com/component": pods.name}
    resources = own.get("resources") or {"requests": {"cpu": pods.cpu, "memory": pods.memory}}
    pod = {
        "containers": [{"name": pods.name, "image": pods.image, "resources": resources}],
        "hostNetwork": pods.host_network,
        "priorityClassName": "system-node-critical"
        if pods.kind == "DaemonSet"
        else "system-cluster-critical",
        "nodeSelector": {**pods.node_selector, **(own.get("nodeSelector") or {})},
        "tolerations": own.get("tolerations") or [dict(one) for one in pods.tolerations],
    }
    if own.get("affinity"):
        pod["affinity"] = own["affinity"]
    spec: dict[str, Any] = {
        "selector": {"matchLabels": {"k8s-app": pods.name}},
        "template": {"metadata": {"labels": labels}, "spec": pod},
    }
    if pods.kind == "Deployment":
        spec["replicas"] = own.get("replicaCount", own.get("replicas", pods.replicas))
    return {
        "apiVersion": "apps/v1",
        "kind": pods.kind,
        "metadata": {"name": pods.name, "namespace": NAMESPACE, "labels": labels},
        "spec": spec,
    }
