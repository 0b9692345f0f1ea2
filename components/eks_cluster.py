"""The EKS control plane: who reaches it, who administers it, what it encrypts and logs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks

from components import tokens

LOG_TYPES: Final = ("api", "audit", "authenticator", "controllerManager", "scheduler")
"""All that EKS offers (botocore eks LogType)."""

ADMIN_POLICY_ARN: Final = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSClusterAdminPolicy"
PREVIEW_POLICY_ARN: Final = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSAdminViewPolicy"
"""Read access to everything, custom resources and Secrets included: a preview reads Volcano's
objects, and Helm keeps its releases in Secrets."""

KEY_DELETION_DAYS: Final = 30
"""KMS's longest wait (7 to 30 days); a key that waits costs nothing and can be taken back."""

FEWEST_SUBNETS: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class EksClusterArgs:
    """The control plane.

    EKS makes whoever creates the cluster an administrator, so that role must not be listed again
    in `admin_role_arns`: a second access entry for it is refused. `protect` guards cluster and
    key from deletion, by Pulumi and by EKS itself. Without `public_access_cidrs` the API server
    is reachable from inside the VPC only.
    """

    admin_role_arns: tuple[str, ...]
    cluster_name: str
    preview_role_arns: tuple[str, ...]
    private_subnet_ids: Sequence[pulumi.Input[str]]
    protect: bool
    public_access_cidrs: tuple[str, ...]
    version: str
    vpc_id: pulumi.Input[str]
    log_retention_days: int = 30
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse what EKS would refuse after minutes, and an API server open to everybody."""
        for cidr in self.public_access_cidrs:
            if cidr.endswith("/0"):
                message = (
                    f"public_access_cidrs has {cidr}, the whole internet; list networks of your "
                    "own, or none for access from inside the VPC only"
                )
                raise ValueError(message)
        if len(self.private_subnet_ids) < FEWEST_SUBNETS:
            message = (
                f"private_subnet_ids has {len(self.private_subnet_ids)} subnet; EKS needs "
                f"{FEWEST_SUBNETS} or more, in different zones"
            )
            raise ValueError(message)
        both = sorted(set(self.admin_role_arns) & set(self.preview_role_arns))
        if both:
            message = (
                f"admin_role_arns and preview_role_arns both have {', '.join(both)}; EKS takes "
                "one access entry for a role, so leave it in one list"
            )
            raise ValueError(message)


def role_key(role_arn: str) -> str:
    """Account, path and name of a role, which no other role shares, for use in logical names."""
    return role_arn.partition(":iam::")[2].replace(":role/", "/")


class EksCluster(pulumi.ComponentResource):
    """Control plane, its KMS key, its log group and the access entries.

    pulumi-eks gets no say in nodes, add-ons and security groups: those are declared beside it,
    where their arguments and order can be seen. Nodes join the security group that EKS makes, in
    which control plane and nodes reach each other on every port, webhooks' included.
    """

    component: eks.Cluster
    cluster_name: pulumi.Output[str]
    cluster_security_group_id: pulumi.Output[str]
    kubeconfig_json: pulumi.Output[str]

    def __init__(
        self, name: str, args: EksClusterArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.EKS_CLUSTER, name, None, opts)
        key = self._key(name, args)
        log_group = aws.cloudwatch.LogGroup(
            f"{name}-logs",
            # EKS writes to this name, and would make it itself, kept for ever.
            name=f"/aws/eks/{args.cluster_name}/cluster",
            retention_in_days=args.log_retention_days,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.component = eks.Cluster(
            name,
            name=args.cluster_name,
            version=args.version,
            vpc_id=args.vpc_id,
            private_subnet_ids=list(args.private_subnet_ids),
            authentication_mode=eks.AuthenticationMode.API,
            deletion_protection=args.protect,
            enabled_cluster_log_types=list(LOG_TYPES),
            encryption_config_key_arn=key.arn,
            endpoint_private_access=True,
            endpoint_public_access=bool(args.public_access_cidrs),
            public_access_cidrs=list(args.public_access_cidrs) or None,
            upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),
            skip_default_node_group=True,
            skip_default_security_groups=True,
            # Neither EKS's unmanaged copies nor pulumi-eks's own add-ons: each add-on is declared
            # once, by ClusterAddons, and CoreDNS would wait 20 minutes for a node here.
            bootstrap_self_managed_addons=False,
            coredns_addon_options=eks.CoreDnsAddonOptionsArgs(enabled=False),
            kube_proxy_addon_options=eks.KubeProxyAddonOptionsArgs(enabled=False),
            use_default_vpc_cni=True,
            tags=args.tags,
            opts=pulumi.ResourceOptions(
                parent=self, depends_on=[log_group], protect=args.protect or None
            ),
        )
        self.cluster_name = self.component.eks_cluster.apply(lambda cluster: cluster.name)
        self.cluster_security_group_id = self.component.cluster_security_group_id
        self.kubeconfig_json = pulumi.Output.secret(self.component.kubeconfig_json)
        self._access(name, args)
        self.register_outputs(
            {
                "cluster_name": self.cluster_name,
                "cluster_security_group_id": self.cluster_security_group_id,
                "kubeconfig_json": self.kubeconfig_json,
            }
        )

    def _key(self, name: str, args: EksClusterArgs) -> aws.kms.Key:
        key = aws.kms.Key(
            f"{name}-secrets",
            description=f"Encrypts the Kubernetes Secrets of {args.cluster_name}",
            deletion_window_in_days=KEY_DELETION_DAYS,
            enable_key_rotation=True,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self, protect=args.protect or None),
        )
        aws.kms.Alias(
            f"{name}-secrets",
            name=f"alias/{args.cluster_name}-secrets",
            target_key_id=key.key_id,
            opts=pulumi.ResourceOptions(parent=self),
        )
        return key

    def _access(self, name: str, args: EksClusterArgs) -> None:
        roles = {
            **dict.fromkeys(args.admin_role_arns, ADMIN_POLICY_ARN),
            **dict.fromkeys(args.preview_role_arns, PREVIEW_POLICY_ARN),
        }
        for role_arn, policy_arn in roles.items():
            entry = aws.eks.AccessEntry(
                f"{name}-{role_key(role_arn)}",
                cluster_name=self.cluster_name,
                principal_arn=role_arn,
                type="STANDARD",
                tags=args.tags,
                opts=pulumi.ResourceOptions(parent=self),
            )
            aws.eks.AccessPolicyAssociation(
                f"{name}-{role_key(role_arn)}",
                cluster_name=self.cluster_name,
                principal_arn=entry.principal_arn,
                policy_arn=policy_arn,
                access_scope=aws.eks.AccessPolicyAssociationAccessScopeArgs(type="cluster"),
                opts=pulumi.ResourceOptions(parent=self),
            )
