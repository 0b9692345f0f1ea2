"""What EKS refuses in a node group before it makes anything."""

from collections.abc import Mapping
from typing import Any

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.refusals import AwsError
from infra.rehearsal.aws.resource import Properties, found_or_none, words
from infra.rehearsal.aws.types.eks_cluster import invalid
from infra.rehearsal.aws.types.iam import trusts

_OPERATION = "CreateNodegroup"
# docs.aws.amazon.com/eks/latest/userguide/launch-templates.html: what a template must not hold
_NOT_IN_A_TEMPLATE = (
    "IamInstanceProfile",
    "InstanceMarketOptions",
    "HibernationOptions",
)
_RESERVED_LABELS = ("kubernetes.io/", "k8s.io/", "eks.amazonaws.com/")
# docs.aws.amazon.com/eks/latest/userguide/ml-eks-optimized-ami.html: families with NVIDIA GPUs
_GPU_FAMILIES = words(
    "g4dn g5 g5g g6 g6e gr6 g6f gr6f g7e p3 p3dn p4d p4de p5 p5e p5en p6-b200 p6-b300"
)


def refuse_node_group(account: Account, cluster: Mapping[str, Any], inputs: Properties) -> None:
    """Raise AWS's refusal of a node group that cannot be made."""
    refuse_sizes(_OPERATION, inputs["scalingConfig"])
    _refuse_role(account, inputs["nodeRoleArn"])
    _refuse_subnets(account, cluster, inputs["subnetIds"])
    _refuse_labels(inputs.get("labels") or {})
    _refuse_types(inputs)
    if inputs.get("launchTemplate"):
        _refuse_template(account, inputs)


def refuse_sizes(operation: str, sizes: Properties) -> None:
    """Raise EKS's refusal of sizes out of order."""
    low, wanted, high = (int(sizes[f"{name}Size"]) for name in ("min", "desired", "max"))
    if low > wanted:
        raise invalid(
            operation=operation,
            reason=f"Minimum capacity {low} can't be greater than desired size {wanted}",
        )
    if wanted > high:
        raise invalid(
            operation=operation,
            reason=f"desired capacity {wanted} can't be greater than max size {high}",
        )


def _refuse_role(account: Account, arn: str) -> None:
    trusted = trusts(account, arn, "ec2.amazonaws.com")
    if trusted is None:
        raise invalid(
            operation=_OPERATION,
            reason=f"The role with name {arn.rsplit('/', 1)[-1]} cannot be found.",
        )
    if not trusted:
        raise invalid(
            operation=_OPERATION,
            reason="Following required service principals [ec2.amazonaws.com] were not found in the"
            " trust relationships of nodeRole",
        )


def _refuse_subnets(account: Account, cluster: Mapping[str, Any], subnet_ids: list[str]) -> None:
    found = found_or_none(account.client("ec2").describe_subnets, SubnetIds=subnet_ids)
    if found is None:
        raise invalid(
            operation=_OPERATION, reason=f"One or more of the subnets do not exist: {subnet_ids}"
        )
    if any(subnet["VpcId"] != cluster["vpcId"] for subnet in found["Subnets"]):
        raise invalid(
            operation=_OPERATION,
            reason="Subnets are not in the same VPC as the cluster's: " + ", ".join(subnet_ids),
        )


def _refuse_labels(labels: Mapping[str, str]) -> None:
    for label in labels:
        if label.startswith(_RESERVED_LABELS):
            raise invalid(
                operation=_OPERATION,
                reason="Label cannot contain reserved prefixes"
                f" [{', '.join(_RESERVED_LABELS)}]: {label}",
            )


def _refuse_types(inputs: Properties) -> None:
    if "NVIDIA" not in (inputs.get("amiType") or ""):
        return
    for kind in inputs.get("instanceTypes") or ():
        if kind.split(".")[0] not in _GPU_FAMILIES:
            raise invalid(
                operation=_OPERATION,
                reason=f"[{kind}] is not a valid instance type for requested amiType"
                f" {inputs['amiType']}",
            )


def _refuse_template(account: Account, inputs: Properties) -> None:
    template = inputs["launchTemplate"]
    which = (
        {"LaunchTemplateId": template["id"]}
        if template.get("id")
        else {"LaunchTemplateName": template.get("name", "")}
    )
    found = found_or_none(
        account.client("ec2").describe_launch_template_versions,
        Versions=[str(template["version"])],
        **which,
    )
    versions = found["LaunchTemplateVersions"] if found else []
    if not versions:
        raise AwsError(
            operation=_OPERATION,
            code="InvalidRequestException",
            reason=f"You tried using a launch template that does not exist: {which}",
        )
    data = versions[0]["LaunchTemplateData"]
    for member in _NOT_IN_A_TEMPLATE:
        if data.get(member):
            raise invalid(
                operation=_OPERATION, reason=f"Launch template should not specify {member}."
            )
    if inputs.get("diskSize"):
        raise invalid(
            operation=_OPERATION, reason="Disk size must be specified within the launch template."
        )
    if inputs.get("remoteAccess"):
        raise invalid(
            operation=_OPERATION,
            reason="Remote access configuration cannot be specified with a launch template.",
        )
    if data.get("InstanceType") and inputs.get("instanceTypes"):
        raise invalid(
            operation=_OPERATION,
            reason="You cannot specify an instance type in both the launch template and the API"
            " request",
        )
    if data.get("ImageId") and inputs.get("amiType") not in (None, "CUSTOM"):
        raise invalid(
            operation=_OPERATION,
            reason="You cannot specify amiType when the template names an image.",
        )
