"""The IAM role of every node: join the cluster, pull images, attach addresses; no S3."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import pulumi
import pulumi_aws as aws

from components import identity, tokens

MANAGED_POLICIES: Final = (
    "AmazonEC2ContainerRegistryPullOnly",
    "AmazonEKSWorkerNodePolicy",
    "AmazonEKS_CNI_Policy",
)
"""What EKS asks of a node role (EKS user guide, node IAM role)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class NodeRoleArgs:
    """Tags of the role."""

    tags: Mapping[str, str] = field(default_factory=dict)


class NodeRole(pulumi.ComponentResource):
    """A role for EC2 nodes with the three managed policies.

    `arn` is known only once the policies are attached: a node that starts earlier does not join,
    and one that outlives them cannot leave.
    """

    arn: pulumi.Output[str]

    def __init__(
        self, name: str, args: NodeRoleArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.NODE_ROLE, name, None, opts)
        role = aws.iam.Role(
            name,
            assume_role_policy=identity.service_trust("ec2.amazonaws.com"),
            description="Nodes: join the cluster, pull images, attach network addresses",
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        attached = [
            aws.iam.RolePolicyAttachment(
                f"{name}-{policy}",
                role=role.name,
                policy_arn=f"arn:aws:iam::aws:policy/{policy}",
                opts=pulumi.ResourceOptions(parent=self),
            ).id
            for policy in MANAGED_POLICIES
        ]
        self.arn = pulumi.Output.all(role.arn, *attached).apply(lambda known: str(known[0]))
        self.register_outputs({"arn": self.arn})
