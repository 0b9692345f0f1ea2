"""Every aws type that the rehearsal emulates, by its token."""

from collections.abc import Mapping
from typing import Final

from infra.rehearsal.aws.resource import ResourceType
from infra.rehearsal.aws.types import (
    eks_access,
    eks_addon,
    eks_cluster,
    eks_node_group,
    iam,
    keys_and_logs,
    launch,
    network,
    routing,
    s3,
    security_groups,
)

_TYPES: tuple[type[ResourceType], ...] = (
    eks_access.AccessEntry,
    eks_access.AccessPolicyAssociation,
    eks_access.PodIdentityAssociation,
    eks_addon.Addon,
    eks_cluster.Cluster,
    eks_node_group.NodeGroup,
    iam.InstanceProfile,
    iam.Policy,
    iam.Role,
    iam.RolePolicy,
    iam.RolePolicyAttachment,
    keys_and_logs.Alias,
    keys_and_logs.Key,
    keys_and_logs.LogGroup,
    launch.AutoScalingTag,
    launch.LaunchTemplate,
    network.Eip,
    network.InternetGateway,
    network.NatGateway,
    network.Subnet,
    network.Vpc,
    routing.FlowLog,
    routing.Route,
    routing.RouteTable,
    routing.RouteTableAssociation,
    routing.VpcEndpoint,
    s3.Bucket,
    s3.BucketEncryption,
    s3.BucketLifecycle,
    s3.BucketOwnershipControls,
    s3.BucketPolicy,
    s3.BucketPublicAccessBlock,
    s3.BucketVersioning,
    security_groups.DefaultSecurityGroup,
    security_groups.EgressRule,
    security_groups.IngressRule,
    security_groups.SecurityGroup,
    security_groups.SecurityGroupRule,
)

RESOURCE_TYPES: Final[Mapping[str, ResourceType]] = {kind.aws_type: kind() for kind in _TYPES}
