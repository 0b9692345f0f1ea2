"""A managed node group, for the system or for GPUs, and what the autoscaler must know of it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any, Final

import pulumi
import pulumi_aws as aws

from components import gpu, node_group_rules, tokens
from components.instance_types import INSTANCE_TYPES

SYSTEM_NODE_LABELS: Final = MappingProxyType({gpu.NODE_ROLE_LABEL: gpu.SYSTEM_NODE_ROLE})
"""Labels of the nodes that carry CoreDNS, Volcano and the autoscaler."""

LONGEST_NAME_PREFIX: Final = 37
"""EKS allows 63 characters in a node group's name; the provider adds 26 to a prefix."""

AUTOSCALER_TAG: Final = "k8s.io/cluster-autoscaler"
"""Prefix of the Auto Scaling tags that Cluster Autoscaler reads (its AWS provider's README)."""


def gpu_node_taints(extra: Sequence[gpu.Taint]) -> tuple[gpu.Taint, ...]:
    """The GPU taint and those of the settings."""
    return (gpu.GPU_TAINT, *extra)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeGroupArgs:
    """One managed node group.

    `labels` come from `SYSTEM_NODE_LABELS` or `node_group_rules.gpu_node_labels`, `taints` from
    `gpu_node_taints`. `gpu_replicas` is the number of time slices of a GPU. Without `version` the
    nodes follow the cluster.
    """

    ami_type: str
    capacity_type: str
    cluster_name: pulumi.Input[str]
    disk_gib: int
    instance_types: tuple[str, ...]
    labels: Mapping[str, str]
    max_size: int
    min_size: int
    node_role_arn: pulumi.Input[str]
    subnet_ids: Sequence[pulumi.Input[str]]
    gpu_replicas: int = 1
    tags: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[gpu.Taint, ...] = ()
    version: str | None = None

    def __post_init__(self) -> None:
        """Refuse a group that could not be created, or whose pods would find no place."""
        node_group_rules.check(
            ami_type=self.ami_type,
            capacity_type=self.capacity_type,
            instance_types=self.instance_types,
            labels=self.labels,
            max_size=self.max_size,
            min_size=self.min_size,
            taints=self.taints,
            version=self.version,
        )

    @property
    def gpus(self) -> int:
        """GPUs that a node advertises, time slices counted."""
        return INSTANCE_TYPES[self.instance_types[0]].gpus * self.gpu_replicas


def name_prefix(name: str) -> str:
    """What the node group's name begins with; EKS gets a fresh name for each replacement.

    Raises ValueError when prefix and suffix would not fit into a node group's name.
    """
    prefix = f"{name}-"
    if len(prefix) > LONGEST_NAME_PREFIX:
        message = (
            f"node group name {name!r} has {len(name)} characters; allowed: "
            f"{LONGEST_NAME_PREFIX - 1}, as a suffix is added to it"
        )
        raise ValueError(message)
    return prefix


def block_devices(
    ami_type: str, disk_gib: int
) -> list[aws.ec2.LaunchTemplateBlockDeviceMappingArgs]:
    """Encrypted gp3 disks; Bottlerocket keeps its system on one and containers on another."""

    def device(device_name: str, size: int | None) -> aws.ec2.LaunchTemplateBlockDeviceMappingArgs:
        return aws.ec2.LaunchTemplateBlockDeviceMappingArgs(
            device_name=device_name,
            ebs=aws.ec2.LaunchTemplateBlockDeviceMappingEbsArgs(
                delete_on_termination="true",
                encrypted="true",
                volume_size=size,
                volume_type="gp3",
            ),
        )

    if ami_type.startswith("BOTTLEROCKET"):
        return [device("/dev/xvda", None), device("/dev/xvdb", disk_gib)]
    return [device("/dev/xvda", disk_gib)]


def autoscaler_tags(args: NodeGroupArgs) -> dict[str, str]:
    """Auto Scaling tags from which the autoscaler pictures a node of a group that has none."""
    template = f"{AUTOSCALER_TAG}/node-template"
    tags = {
        f"{AUTOSCALER_TAG}/enabled": "true",
        f"{template}/resources/ephemeral-storage": f"{args.disk_gib}Gi",
        **{f"{template}/label/{key}": value for key, value in args.labels.items()},
        **{f"{template}/taint/{taint.key}": taint.autoscaler_tag_value for taint in args.taints},
    }
    if args.gpus:
        tags[f"{template}/resources/{gpu.GPU_RESOURCE}"] = str(args.gpus)
    return tags


def _auto_scaling_group_name(resources: Sequence[Any]) -> str:
    """A managed node group stands on exactly one Auto Scaling group."""
    return str(resources[0].autoscaling_groups[0].name)


class NodeGroup(pulumi.ComponentResource):
    """Launch template, managed node group, and the tags of its Auto Scaling group.

    A changed instance type, image type or capacity type replaces the group: the new one is made
    first, under a new name. The number of nodes is the autoscaler's after creation.
    """

    auto_scaling_group_name: pulumi.Output[str]
    node_group_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: NodeGroupArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.NODE_GROUP, name, None, opts)
        template = self._launch_template(name, args)
        group = aws.eks.NodeGroup(
            name,
            cluster_name=args.cluster_name,
            node_group_name_prefix=name_prefix(name),
            node_role_arn=args.node_role_arn,
            subnet_ids=list(args.subnet_ids),
            ami_type=args.ami_type,
            capacity_type=args.capacity_type,
            instance_types=list(args.instance_types),
            labels=args.labels,
            launch_template=aws.eks.NodeGroupLaunchTemplateArgs(
                id=template.id, version=template.latest_version.apply(str)
            ),
            node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True),
            scaling_config=aws.eks.NodeGroupScalingConfigArgs(
                desired_size=args.min_size, max_size=args.max_size, min_size=args.min_size
            ),
            taints=[
                aws.eks.NodeGroupTaintArgs(
                    key=taint.key, value=taint.value or None, effect=taint.eks_effect
                )
                for taint in args.taints
            ],
            update_config=aws.eks.NodeGroupUpdateConfigArgs(
                max_unavailable=1,
                # A spare GPU node may be impossible to get while an update goes on.
                update_strategy="MINIMAL" if args.gpus else "DEFAULT",
            ),
            version=args.version,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self, ignore_changes=["scalingConfig.desiredSize"]),
        )
        self.node_group_name = group.node_group_name
        self.auto_scaling_group_name = group.resources.apply(_auto_scaling_group_name)
        self._tag_auto_scaling_group(name, args)
        self.register_outputs(
            {
                "auto_scaling_group_name": self.auto_scaling_group_name,
                "node_group_name": self.node_group_name,
            }
        )

    def _launch_template(self, name: str, args: NodeGroupArgs) -> aws.ec2.LaunchTemplate:
        tags = {**args.tags, "Name": name}
        return aws.ec2.LaunchTemplate(
            name,
            description=f"Disks, metadata service and tags of {name} nodes",
            block_device_mappings=block_devices(args.ami_type, args.disk_gib),
            metadata_options=aws.ec2.LaunchTemplateMetadataOptionsArgs(
                http_endpoint="enabled",
                # One hop: the metadata service answers the node, never a pod.
                http_put_response_hop_limit=1,
                http_tokens="required",
            ),
            tag_specifications=[
                aws.ec2.LaunchTemplateTagSpecificationArgs(resource_type=kind, tags=tags)
                for kind in ("instance", "network-interface", "volume")
            ],
            tags=tags,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _tag_auto_scaling_group(self, name: str, args: NodeGroupArgs) -> None:
        """Tag the group itself: EKS passes a node group's own tags on to nothing."""
        owner = pulumi.Output.concat(f"{AUTOSCALER_TAG}/", args.cluster_name)
        tags: dict[str, tuple[pulumi.Input[str], str]] = {
            key.removeprefix(f"{AUTOSCALER_TAG}/"): (key, value)
            for key, value in autoscaler_tags(args).items()
        }
        tags["owner"] = (owner, "owned")
        for part, (key, value) in sorted(tags.items()):
            aws.autoscaling.Tag(
                f"{name}-{part}",
                autoscaling_group_name=self.auto_scaling_group_name,
                tag=aws.autoscaling.TagTagArgs(key=key, propagate_at_launch=False, value=value),
                opts=pulumi.ResourceOptions(parent=self),
            )
