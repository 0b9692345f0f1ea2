"""Cluster Autoscaler: GPU nodes come when a gang waits and go when nobody needs them."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi
import pulumi_aws as aws
import pulumi_kubernetes as k8s

from components import charts, identity, tokens, versions, volcano
from components.node_group import SYSTEM_NODE_LABELS

NAMESPACE: Final = "kube-system"
SERVICE_ACCOUNT: Final = "cluster-autoscaler"
RELEASE_NAME: Final = "cluster-autoscaler"
IMAGE: Final = (
    f"registry.k8s.io/autoscaling/cluster-autoscaler:{versions.CLUSTER_AUTOSCALER_IMAGE_TAG}"
)
OWNER_TAG: Final = "aws:ResourceTag/k8s.io/cluster-autoscaler/"

READ_ACTIONS: Final = (
    "autoscaling:DescribeAutoScalingGroups",
    "autoscaling:DescribeAutoScalingInstances",
    "autoscaling:DescribeLaunchConfigurations",
    "autoscaling:DescribeScalingActivities",
    "autoscaling:DescribeTags",
    "ec2:DescribeImages",
    "ec2:DescribeInstanceTypes",
    "ec2:DescribeLaunchTemplateVersions",
    "ec2:GetInstanceTypesFromInstanceRequirements",
)
"""Reads that cannot be limited to a resource (autoscaler's AWS README, full-features policy)."""
WRITE_ACTIONS: Final = (
    "autoscaling:SetDesiredCapacity",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
)


@dataclass(frozen=True, kw_only=True, slots=True)
class ClusterAutoscalerArgs:
    """Which cluster, how fast, and where chart and image come from."""

    chart: charts.ChartSource
    cluster_name: pulumi.Input[str]
    region: str
    image: str = IMAGE
    node_selector: Mapping[str, str] = field(default_factory=lambda: SYSTEM_NODE_LABELS)
    registry_mirrors: Mapping[str, str] = field(default_factory=dict)
    scale_down_unneeded_minutes: int = 10
    scan_interval_seconds: int = 10
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse waits that are no waits, an unpinned image, and pods that could land on GPUs."""
        for name in ("scale_down_unneeded_minutes", "scan_interval_seconds"):
            if getattr(self, name) < 1:
                message = f"{name} is {getattr(self, name)}; allowed: 1 or more"
                raise ValueError(message)
        if not charts.is_pinned(self.image):
            message = f"image is {self.image!r}; name it with a full tag, such as {IMAGE}"
            raise ValueError(message)
        if not self.node_selector:
            message = (
                "node_selector is empty; allowed: labels of nodes that always exist, since the "
                "autoscaler must not live on a node that it may remove"
            )
            raise ValueError(message)


def policy(cluster_name: str) -> str:
    """Read all groups, resize and shrink only those that carry this cluster's tag."""
    return identity.policy_document(
        [
            {"Effect": "Allow", "Action": list(READ_ACTIONS), "Resource": "*"},
            {
                "Effect": "Allow",
                "Action": "eks:DescribeNodegroup",
                "Resource": f"arn:aws:eks:*:*:nodegroup/{cluster_name}/*",
            },
            {
                "Effect": "Allow",
                "Action": list(WRITE_ACTIONS),
                "Resource": "*",
                "Condition": {"StringEquals": {f"{OWNER_TAG}{cluster_name}": "owned"}},
            },
        ]
    )


def helm_values(args: ClusterAutoscalerArgs) -> dict[str, Any]:
    """Values of the chart; `clusterName` may still be an output."""
    repository, _, tag = charts.mirrored_image(args.image, args.registry_mirrors).rpartition(":")
    return {
        "autoDiscovery": {"clusterName": args.cluster_name},
        "awsRegion": args.region,
        "cloudProvider": "aws",
        "containerSecurityContext": {
            "allowPrivilegeEscalation": False,
            "capabilities": {"drop": ["ALL"]},
            "readOnlyRootFilesystem": True,
        },
        # It talks to AWS and the API server only, so it works while CoreDNS does not.
        "dnsPolicy": "Default",
        "extraArgs": _flags(args),
        "fullnameOverride": RELEASE_NAME,
        "image": {"repository": repository, "tag": tag},
        "nodeSelector": dict(args.node_selector),
        "rbac": {"serviceAccount": {"create": True, "name": SERVICE_ACCOUNT}},
        "resources": {
            "limits": {"memory": "600Mi"},
            "requests": {"cpu": "100m", "memory": "300Mi"},
        },
        "securityContext": {
            "runAsGroup": 65534,
            "runAsNonRoot": True,
            "runAsUser": 65534,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }


def _flags(args: ClusterAutoscalerArgs) -> dict[str, Any]:
    unneeded = f"{args.scale_down_unneeded_minutes}m"
    return {
        # Balancing would spread one gang's nodes over zones, and a gang starts in one zone only.
        "balance-similar-node-groups": False,
        # Counts Volcano's pods that have no mark yet, without which whole gangs are not seen (see
        # whole_gangs.py), and ends the wait of 30 s that every GPU pod has by default before its
        # node is asked for (`unschedulablePodWithGpuTimeBuffer`).
        "bypassed-scheduler-names": volcano.SCHEDULER_NAME,
        "expander": "least-waste",
        # The 10 minutes by default would keep every node of a short job paid for as long.
        "scale-down-delay-after-add": unneeded,
        "scale-down-unneeded-time": unneeded,
        "scan-interval": f"{args.scan_interval_seconds}s",
        # A finished trainer has an emptyDir; by default that alone keeps its node for ever.
        "skip-nodes-with-local-storage": False,
        "skip-nodes-with-system-pods": False,
    }


class ClusterAutoscaler(pulumi.ComponentResource):
    """Role, pod identity association and the Helm release, in this order.

    A pod gets its identity when it is created, so the association stands before the release. The
    pod-identity agent and a system node are the caller's to wait for.
    """

    role_arn: pulumi.Output[str]

    def __init__(
        self, name: str, args: ClusterAutoscalerArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.CLUSTER_AUTOSCALER, name, None, opts)
        cluster_name = pulumi.Output.from_input(args.cluster_name)
        role = aws.iam.Role(
            name,
            assume_role_policy=cluster_name.apply(
                lambda cluster: identity.pod_identity_trust(
                    namespace=NAMESPACE, service_account=SERVICE_ACCOUNT, cluster_name=cluster
                )
            ),
            description="Cluster Autoscaler: resize the node groups of its own cluster",
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        role_policy = aws.iam.RolePolicy(
            name,
            role=role.name,
            policy=cluster_name.apply(policy),
            opts=pulumi.ResourceOptions(parent=self),
        )
        association = aws.eks.PodIdentityAssociation(
            name,
            cluster_name=args.cluster_name,
            namespace=NAMESPACE,
            role_arn=role.arn,
            service_account=SERVICE_ACCOUNT,
            tags=args.tags,
            opts=pulumi.ResourceOptions(parent=self),
        )
        k8s.helm.v3.Release(
            name,
            charts.release_args(
                args.chart, name=RELEASE_NAME, namespace=NAMESPACE, values=helm_values(args)
            ),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[association, role_policy]),
        )
        self.role_arn = role.arn
        self.register_outputs({"role_arn": self.role_arn})
