"""The AWS layer: network, control plane, add-ons, nodes, results and who may write them."""

from collections.abc import Sequence

import pulumi

from components.cluster_addons import (
    AddonSpec,
    ClusterAddons,
    ClusterAddonsArgs,
    addons_after_nodes,
    addons_before_nodes,
)
from components.eks_cluster import EksCluster, EksClusterArgs
from components.network import ExistingNetwork, Network, NetworkArgs
from components.node_group import SYSTEM_NODE_LABELS, NodeGroup, NodeGroupArgs
from components.node_group_rules import gpu_node_labels
from components.node_role import NodeRole
from components.results_bucket import ResultsBucket, ResultsBucketArgs
from components.trainer_identity import TrainerIdentity, TrainerIdentityArgs
from stacks import capacity
from stacks.plan import SERVICE_ACCOUNT, Plan, after


def network(plan: Plan) -> Network | ExistingNetwork:
    """A VPC of our own, or the ids of one that exists."""
    wanted = plan.settings.network
    if wanted.existing_vpc:
        return ExistingNetwork(
            private_subnets={
                zone: wanted.existing_vpc.private_subnet_ids[zone]
                for zone in wanted.availability_zone_ids
            },
            vpc_id=wanted.existing_vpc.vpc_id,
        )
    return Network(
        "network",
        NetworkArgs(
            availability_zone_ids=wanted.availability_zone_ids,
            cluster_name=plan.name,
            interface_endpoints=wanted.interface_endpoints,
            nat_gateways=wanted.nat_gateways,
            region=plan.settings.region,
            tags=plan.tags,
            vpc_cidr=wanted.vpc_cidr,
        ),
    )


def cluster(plan: Plan, network: Network | ExistingNetwork) -> EksCluster:
    """The control plane in the private subnets."""
    wanted = plan.settings.cluster
    return EksCluster(
        "cluster",
        EksClusterArgs(
            admin_role_arns=wanted.admin_role_arns,
            cluster_name=plan.name,
            log_retention_days=wanted.log_retention_days,
            preview_role_arns=wanted.preview_role_arns,
            private_subnet_ids=list(network.private_subnets.values()),
            protect=wanted.protect,
            public_access_cidrs=wanted.public_access_cidrs,
            tags=plan.tags,
            version=wanted.version,
            vpc_id=network.vpc_id,
        ),
    )


def node_addons(plan: Plan, cluster: EksCluster) -> ClusterAddons:
    """Add-ons without which no node becomes ready."""
    specs = addons_before_nodes(plan.settings.cluster.addon_versions)
    return _addons("node-addons", plan, cluster, specs, pulumi.ResourceOptions())


def cluster_addons(plan: Plan, cluster: EksCluster, system_nodes: NodeGroup) -> ClusterAddons:
    """Add-ons whose pods need a node: declared beside it, CoreDNS would wait for 20 minutes."""
    specs = addons_after_nodes(
        plan.settings.cluster.addon_versions,
        gpu_taints=plan.gpu_taints,
        system_node_count=plan.settings.system_nodes.min_size,
    )
    return _addons("cluster-addons", plan, cluster, specs, after(system_nodes))


def _addons(
    name: str,
    plan: Plan,
    cluster: EksCluster,
    specs: tuple[AddonSpec, ...],
    options: pulumi.ResourceOptions,
) -> ClusterAddons:
    args = ClusterAddonsArgs(addons=specs, cluster_name=cluster.cluster_name, tags=plan.tags)
    return ClusterAddons(name, args, options)


def system_nodes(
    plan: Plan,
    cluster: EksCluster,
    role: NodeRole,
    network: Network | ExistingNetwork,
    addons: ClusterAddons,
) -> NodeGroup:
    """On-demand nodes in every zone for what must not be interrupted."""
    wanted = plan.settings.system_nodes
    return NodeGroup(
        "system",
        NodeGroupArgs(
            ami_type=wanted.ami_type,
            capacity_type="ON_DEMAND",
            cluster_name=cluster.cluster_name,
            disk_gib=wanted.disk_gib,
            instance_types=wanted.instance_types,
            labels=SYSTEM_NODE_LABELS,
            max_size=wanted.max_size,
            min_size=wanted.min_size,
            node_role_arn=role.arn,
            subnet_ids=list(network.private_subnets.values()),
            tags=plan.tags,
            version=plan.settings.cluster.version,
        ),
        after(addons, role),
    )


def gpu_nodes(
    plan: Plan,
    cluster: EksCluster,
    role: NodeRole,
    network: Network | ExistingNetwork,
    addons: ClusterAddons,
) -> list[NodeGroup]:
    """One node group a zone: a gang stays in its zone, and zones do not rebalance."""
    wanted = plan.settings.gpu_nodes
    slicing = plan.settings.device_plugin.time_slicing
    return [
        NodeGroup(
            f"gpu-{zone_id}",
            NodeGroupArgs(
                ami_type=wanted.ami_type,
                capacity_type=wanted.capacity_type,
                cluster_name=cluster.cluster_name,
                disk_gib=wanted.disk_gib,
                gpu_replicas=slicing.replicas if slicing else 1,
                instance_types=wanted.instance_types,
                labels=gpu_node_labels(wanted.instance_types, wanted.extra_labels),
                max_size=wanted.max_size_per_zone,
                min_size=wanted.min_size_per_zone,
                node_role_arn=role.arn,
                subnet_ids=[network.private_subnets[zone_id]],
                tags=plan.tags,
                taints=plan.gpu_taints,
                version=plan.settings.cluster.version,
            ),
            after(addons, role),
        )
        for zone_id in capacity.gpu_zone_ids(plan.settings)
    ]


def bucket(plan: Plan) -> ResultsBucket:
    """Where reports and checkpoints land."""
    wanted = plan.settings.results
    return ResultsBucket(
        "results",
        ResultsBucketArgs(
            bucket_name=wanted.bucket_name,
            checkpoint_expiry_days=wanted.checkpoint_expiry_days,
            force_destroy=wanted.force_destroy,
            noncurrent_expiry_days=wanted.noncurrent_expiry_days,
            prefix=wanted.prefix,
            tags=plan.tags,
        ),
    )


def identity(
    plan: Plan, cluster: EksCluster, bucket: ResultsBucket, earlier: Sequence[pulumi.Resource]
) -> TrainerIdentity:
    """The role that the training pods, and nobody else, assume."""
    return TrainerIdentity(
        "trainer",
        TrainerIdentityArgs(
            bucket_arn=bucket.bucket_arn,
            cluster_name=cluster.cluster_name,
            namespace=plan.settings.training_job.namespace,
            prefix=plan.settings.results.prefix,
            service_account=SERVICE_ACCOUNT,
            tags=plan.tags,
        ),
        after(*earlier),
    )
