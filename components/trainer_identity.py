"""Who the trainer is to AWS: one service account, one role, one prefix of one bucket."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pulumi
import pulumi_aws as aws

from components import identity, tokens
from components.results_bucket import CHECKPOINT_FOLDER, check_prefix


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainerIdentityArgs:
    """Which pods (by namespace and service account) may write below which prefix."""

    bucket_arn: pulumi.Input[str]
    cluster_name: pulumi.Input[str]
    namespace: str
    prefix: str
    service_account: str
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse a prefix that would open more than one folder of the bucket."""
        check_prefix(self.prefix)


def role_policy(bucket_arn: str, prefix: str) -> str:
    """Write results, read back only checkpoints; no delete, no other prefix."""
    checkpoints = f"{prefix}{CHECKPOINT_FOLDER}*"
    return identity.policy_document(
        [
            {
                "Action": ["s3:AbortMultipartUpload", "s3:PutObject"],
                "Effect": "Allow",
                "Resource": f"{bucket_arn}/{prefix}*",
                "Sid": "WriteResults",
            },
            {
                "Action": "s3:GetObject",
                "Effect": "Allow",
                "Resource": f"{bucket_arn}/{checkpoints}",
                "Sid": "ReadCheckpoints",
            },
            {
                "Action": "s3:ListBucket",
                "Condition": {"StringLike": {"s3:prefix": checkpoints}},
                "Effect": "Allow",
                "Resource": bucket_arn,
                "Sid": "FindCheckpoints",
            },
        ]
    )


class TrainerIdentity(pulumi.ComponentResource):
    """A role, its policy and the EKS Pod Identity association.

    A pod gets its identity when it is created: jobs depend on this component. The agent add-on
    and the service account itself are the caller's.
    """

    role_arn: pulumi.Output[str]

    def __init__(
        self, name: str, args: TrainerIdentityArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.TRAINER_IDENTITY, name, None, opts)
        cluster_name = pulumi.Output.from_input(args.cluster_name)
        bucket_arn = pulumi.Output.from_input(args.bucket_arn)
        role = aws.iam.Role(
            name,
            assume_role_policy=cluster_name.apply(
                lambda cluster: identity.pod_identity_trust(
                    namespace=args.namespace,
                    service_account=args.service_account,
                    cluster_name=cluster,
                )
            ),
            description="Training pods: write results and checkpoints under one prefix",
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        policy = aws.iam.RolePolicy(
            name,
            policy=bucket_arn.apply(lambda arn: role_policy(arn, args.prefix)),
            role=role.name,
            opts=pulumi.ResourceOptions(parent=self),
        )
        association = aws.eks.PodIdentityAssociation(
            name,
            cluster_name=cluster_name,
            namespace=args.namespace,
            role_arn=role.arn,
            service_account=args.service_account,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),
        )
        self.role_arn = pulumi.Output.all(role.arn, association.id).apply(
            lambda known: str(known[0])
        )
        self.register_outputs({"role_arn": self.role_arn})
