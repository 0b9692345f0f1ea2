"""EKS add-ons: those that nodes need to become ready, and those that need a node to run on."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pulumi
import pulumi_aws as aws

from components import gpu, tokens
from components.node_group import SYSTEM_NODE_LABELS


@dataclass(frozen=True, kw_only=True, slots=True)
class AddonSpec:
    """One add-on. Without `version` EKS chooses its default for the cluster's version, once."""

    name: str
    configuration: Mapping[str, Any] = field(default_factory=dict)
    version: str | None = None

    def configuration_text(self) -> str | None:
        """The configuration as EKS takes it, or nothing for the add-on's defaults."""
        return json.dumps(dict(self.configuration), sort_keys=True) if self.configuration else None


def addons_before_nodes(versions: Mapping[str, str]) -> tuple[AddonSpec, ...]:
    """Network, proxy and pod identity: DaemonSets without which no node is ready for pods.

    All three tolerate every taint by their own defaults.
    """
    return (
        AddonSpec(name="eks-pod-identity-agent", version=versions.get("eks-pod-identity-agent")),
        AddonSpec(name="kube-proxy", version=versions.get("kube-proxy")),
        AddonSpec(
            name="vpc-cni",
            # Volcano closes each job off by a NetworkPolicy, which nothing enforces otherwise.
            configuration={"enableNetworkPolicy": "true"},
            version=versions.get("vpc-cni"),
        ),
    )


def addons_after_nodes(
    versions: Mapping[str, str], *, system_node_count: int, gpu_taints: Sequence[gpu.Taint]
) -> tuple[AddonSpec, ...]:
    """DNS and metrics on system nodes, the health agent on all; beside missing nodes they hang."""
    selector = dict(SYSTEM_NODE_LABELS)
    replicas = min(2, system_node_count)
    return (
        AddonSpec(
            name="coredns",
            configuration={"nodeSelector": selector, "replicaCount": replicas},
            version=versions.get("coredns"),
        ),
        AddonSpec(
            name="eks-node-monitoring-agent",
            # The agent itself tolerates everything; its GPU part tolerates nothing by default, so
            # it would never see the GPUs it is for.
            configuration={
                "dcgmAgent": {"tolerations": [taint.toleration() for taint in gpu_taints]}
            },
            version=versions.get("eks-node-monitoring-agent"),
        ),
        AddonSpec(
            name="metrics-server",
            configuration={"nodeSelector": selector, "replicas": replicas},
            version=versions.get("metrics-server"),
        ),
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterAddonsArgs:
    """Which add-ons, in which cluster."""

    addons: tuple[AddonSpec, ...]
    cluster_name: pulumi.Input[str]
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an add-on named twice, and no add-on at all."""
        names = [addon.name for addon in self.addons]
        if not names or len(set(names)) != len(names):
            given = ", ".join(names) or "nothing"
            message = f"addons has {given}; name at least one, and each once"
            raise ValueError(message)


class ClusterAddons(pulumi.ComponentResource):
    """Managed add-ons; what is declared wins over what was changed by hand in the cluster.

    The order, before or after nodes, is the caller's: pass it in `opts`.
    """

    addon_names: tuple[str, ...]

    def __init__(
        self, name: str, args: ClusterAddonsArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.CLUSTER_ADDONS, name, None, opts)
        for addon in args.addons:
            aws.eks.Addon(
                f"{name}-{addon.name}",
                addon_name=addon.name,
                cluster_name=args.cluster_name,
                addon_version=addon.version,
                configuration_values=addon.configuration_text(),
                # Gone from the stack means gone from the cluster.
                preserve=False,
                resolve_conflicts_on_create="OVERWRITE",
                resolve_conflicts_on_update="OVERWRITE",
                tags=args.tags,
                opts=pulumi.ResourceOptions(parent=self),
            )
        self.addon_names = tuple(addon.name for addon in args.addons)
        self.register_outputs({"addon_names": list(self.addon_names)})
