"""Each aws resource's inputs hold against the AWS API model of the call that creates it."""

from collections.abc import Iterator
from typing import Any, Final

from infra.preview.checks.verdict import Check, Finding, refused
from infra.preview.checks.walk import title
from infra.preview.mock_outputs import ACCOUNT_ID
from infra.preview.recording import RecordedResource, Recording
from stacks.settings import Settings

EKS_COMPONENT: Final = "eks:index:Cluster"
CONTROL_PLANE: Final = "aws:eks/cluster:Cluster"


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each thing that the API would refuse."""
    from infra.preview.aws_api import check_create  # noqa: PLC0415 - loads botocore's models

    for resource in recording:
        if resource.package == "aws":
            token, inputs = resource.type, resource.inputs
        elif resource.type == EKS_COMPONENT:
            token, inputs = CONTROL_PLANE, control_plane_inputs(resource)
        else:
            continue
        for sentence in check_create(token, inputs):
            yield refused(f"{title(resource)}: {sentence}")


def control_plane_inputs(component: RecordedResource) -> dict[str, Any]:
    """The `aws.eks.Cluster` that pulumi-eks makes of its component's inputs."""
    given = component.inputs
    inputs: dict[str, Any] = {
        "accessConfig": {"authenticationMode": given.get("authenticationMode", "CONFIG_MAP")},
        "deletionProtection": given.get("deletionProtection"),
        "enabledClusterLogTypes": given.get("enabledClusterLogTypes"),
        "name": given.get("name"),
        "roleArn": f"arn:aws:iam::{ACCOUNT_ID}:role/{component.name}-eksRole",
        "tags": given.get("tags"),
        "upgradePolicy": given.get("upgradePolicy"),
        "version": given.get("version"),
        "vpcConfig": {
            "endpointPrivateAccess": given.get("endpointPrivateAccess", False),
            "endpointPublicAccess": given.get("endpointPublicAccess", True),
            "subnetIds": [
                *(given.get("privateSubnetIds") or []),
                *(given.get("publicSubnetIds") or []),
                *(given.get("subnetIds") or []),
            ],
        },
    }
    if given.get("publicAccessCidrs"):
        inputs["vpcConfig"]["publicAccessCidrs"] = given["publicAccessCidrs"]
    if given.get("encryptionConfigKeyArn"):
        inputs["encryptionConfig"] = {
            "provider": {"keyArn": given["encryptionConfigKeyArn"]},
            "resources": ["secrets"],
        }
    return {key: value for key, value in inputs.items() if value is not None}


CHECK = Check(
    name="AWS API",
    claim="every aws resource's inputs fit the AWS API model of its create call",
    find=find,
)
