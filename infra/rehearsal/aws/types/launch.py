"""Launch templates and the tags of Auto Scaling groups."""

from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.refusals import AwsError
from infra.rehearsal.aws.resource import Naming, Properties, ResourceType, aws_tags, if_there, words
from infra.rehearsal.aws.types.ec2_base import Ec2Type, given, retag

_NOT_IN_THE_TEMPLATE = words(
    "defaultVersion description name namePrefix region tags updateDefaultVersion"
)
_SPELLED_OTHERWISE = {
    "vpcSecurityGroupIds": "SecurityGroupIds",
    "securityGroupNames": "SecurityGroups",
    "networkInterfaces.securityGroups": "Groups",
}
_TEXT_BOOLEANS = words("encrypted deleteOnTermination ebsOptimized associatePublicIpAddress")


def template_data(inputs: Properties) -> dict[str, Any]:
    """Return a launch template's inputs as EC2's LaunchTemplateData."""
    data = {
        name: value
        for name, value in inputs.items()
        if name not in _NOT_IN_THE_TEMPLATE and not name.startswith("__")
    }
    converted: dict[str, Any] = _converted(data, "")
    return converted


def _converted(value: Any, path: str) -> Any:
    if isinstance(value, list):
        return [_converted(entry, path) for entry in value]
    if not isinstance(value, dict):
        return value
    answer: dict[str, Any] = {}
    for name, entry in value.items():
        here = f"{path}.{name}" if path else name
        member = _SPELLED_OTHERWISE.get(here, name[0].upper() + name[1:])
        if name == "tags":
            answer[member] = aws_tags(entry)
        elif name in _TEXT_BOOLEANS and isinstance(entry, str):
            answer[member] = entry == "true"
        elif entry is not None:
            answer[member] = _converted(entry, here)
    return answer


class LaunchTemplate(Ec2Type):
    """A launch template; each change is a new version."""

    aws_type = "aws:ec2/launchTemplate:LaunchTemplate"
    describe = ("describe_launch_templates", "LaunchTemplateIds", "LaunchTemplates")
    tag_kind = "launch-template"
    outputs = ("arn", "latestVersion")
    naming = Naming(longest=125)
    # terraform-provider-aws internal/service/ec2/ec2_launch_template.go: ForceNew
    replaces = words("name namePrefix")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        answer = account.client("ec2").create_launch_template(
            LaunchTemplateName=inputs["name"],
            LaunchTemplateData=template_data(inputs),
            **given(
                VersionDescription=inputs.get("description"),
                TagSpecifications=self.tags(inputs),
            ),
        )
        template: str = answer["LaunchTemplate"]["LaunchTemplateId"]
        return template

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        return {
            "arn": account.arn("ec2", f"launch-template/{item['LaunchTemplateId']}"),
            "defaultVersion": item["DefaultVersionNumber"],
            "latestVersion": item["LatestVersionNumber"],
            "name": item["LaunchTemplateName"],
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        ec2 = account.client("ec2")
        version = self.item(account, resource_id)["LatestVersionNumber"]
        if template_data(old) != template_data(new):
            version = ec2.create_launch_template_version(
                LaunchTemplateId=resource_id, LaunchTemplateData=template_data(new)
            )["LaunchTemplateVersion"]["VersionNumber"]
        if new.get("updateDefaultVersion") or new.get("defaultVersion"):
            ec2.modify_launch_template(
                LaunchTemplateId=resource_id,
                DefaultVersion=str(new.get("defaultVersion") or version),
            )
        retag(account, resource_id, old, new)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if_there(account.client("ec2").delete_launch_template, LaunchTemplateId=resource_id)


class AutoScalingTag(ResourceType):
    """One tag on an Auto Scaling group; the cluster autoscaler discovers groups by them."""

    aws_type = "aws:autoscaling/tag:Tag"
    has_tags = False
    # terraform-provider-aws internal/service/autoscaling/tag_gen.go: ForceNew
    replaces = words("autoscalingGroupName tag.key")

    def _tag(self, inputs: Properties) -> dict[str, Any]:
        tag = inputs["tag"]
        return {
            "ResourceId": inputs["autoscalingGroupName"],
            "ResourceType": "auto-scaling-group",
            "Key": tag["key"],
            "Value": tag["value"],
            "PropagateAtLaunch": tag["propagateAtLaunch"],
        }

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        name, key = inputs["autoscalingGroupName"], inputs["tag"]["key"]
        if group_or_none(account, name) is None:
            raise AwsError(
                operation="CreateOrUpdateTags",
                code="ValidationError",
                reason=f"AutoScalingGroup name not found - {name}",
            )
        account.client("autoscaling").create_or_update_tags(Tags=[self._tag(inputs)])
        return f"{name},{key}"

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        name, key = resource_id.split(",", 1)
        group = group_or_none(account, name)
        for tag in group["Tags"] if group else ():
            if tag["Key"] == key:
                shown = {
                    "key": key,
                    "value": tag["Value"],
                    "propagateAtLaunch": bool(tag["PropagateAtLaunch"]),
                }
                return {"autoscalingGroupName": name, "tag": shown}
        return None

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        account.client("autoscaling").create_or_update_tags(Tags=[self._tag(new)])

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if self.observe(account, resource_id, state) is not None:
            tag = self._tag(state)
            del tag["Value"], tag["PropagateAtLaunch"]
            account.client("autoscaling").delete_tags(Tags=[tag])


def group_or_none(account: Account, name: str) -> Mapping[str, Any] | None:
    """Return an Auto Scaling group by name."""
    groups = account.client("autoscaling").describe_auto_scaling_groups(
        AutoScalingGroupNames=[name]
    )["AutoScalingGroups"]
    return groups[0] if groups else None
