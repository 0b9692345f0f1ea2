"""Managed node groups: EKS's own launch template and Auto Scaling group behind each."""

import uuid
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.clock import NODE_GROUP_TIMEOUT_SECONDS
from infra.rehearsal.aws.node_group_rules import refuse_node_group, refuse_sizes
from infra.rehearsal.aws.refusals import AwsError, NotReadyError
from infra.rehearsal.aws.resource import (
    Naming,
    Properties,
    ResourceType,
    found_or_none,
    if_there,
    words,
)
from infra.rehearsal.aws.types.eks_cluster import NODE_GROUP, cluster_record
from infra.rehearsal.aws.types.launch import group_or_none
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.waiting import DeadlineExceededError, wait_until

_DEFAULTS: Mapping[str, Any] = {
    "amiType": "AL2023_x86_64_STANDARD",
    "capacityType": "ON_DEMAND",
    "instanceTypes": ["t3.medium"],
    "labels": {},
    "nodeRepairConfig": {"enabled": False},
    "taints": [],
    "updateConfig": {"maxUnavailable": 1},
}
_RELEASE_DATE = "20261120"
_IMAGE = "amazon-eks-node-al2023-rehearsal"


class NodeGroup(ResourceType):
    """A managed node group."""

    aws_type = "aws:eks/nodeGroup:NodeGroup"
    outputs = ("arn", "resources", "status")
    naming = Naming(
        property_name="nodeGroupName", prefix_property="nodeGroupNamePrefix", longest=63
    )
    # terraform-provider-aws internal/service/eks/node_group.go: ForceNew
    replaces = words(
        "amiType capacityType clusterName diskSize instanceTypes launchTemplate.id"
        " launchTemplate.name nodeGroupName nodeGroupNamePrefix nodeRoleArn remoteAccess"
        " subnetIds"
    )

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        cluster, name = inputs["clusterName"], inputs["nodeGroupName"]
        record = cluster_record(account, "CreateNodegroup", cluster)
        refuse_node_group(account, record, inputs)
        identity = str(uuid.uuid4())
        body = {
            **_DEFAULTS,
            **{key: value for key, value in inputs.items() if value is not None},
            "version": inputs.get("version") or record["version"],
            "uuid": identity,
            "autoScalingGroup": f"eks-{name}-{identity}",
        }
        # The name is taken from here on, as on AWS, whatever becomes of the caller.
        if not account.store.add(NODE_GROUP, f"{cluster}:{name}", body):
            raise AwsError(
                operation="CreateNodegroup",
                code="ResourceInUseException",
                reason=f"NodeGroup already exists with name {name} and cluster name {cluster}",
            )
        make_group(account, f"{cluster}:{name}", body)
        return f"{cluster}:{name}"

    @override
    def settle(self, account: Account, resource_id: str, inputs: Properties) -> None:
        """Wait until the instances of the group are nodes."""
        cluster = resource_id.split(":", 1)[0]
        api = account.kubernetes
        if api is None:
            return

        def joined() -> bool:
            record = account.store.get(NODE_GROUP, resource_id)
            group = group_or_none(account, record["autoScalingGroup"]) if record else None
            if group is None:
                return False
            wanted = {
                f"aws:///{one['AvailabilityZone']}/{one['InstanceId']}"
                for one in group["Instances"]
            }
            enough = len(wanted) >= group["DesiredCapacity"]
            return enough and wanted <= _ready_provider_ids(api)

        try:
            wait_until(
                joined,
                what=f"node group {resource_id}",
                deadline_seconds=account.clock.patience(NODE_GROUP_TIMEOUT_SECONDS),
            )
        except DeadlineExceededError as error:
            reason = (
                f"waiting for EKS Node Group ({resource_id}) create: unexpected state"
                " 'CREATE_FAILED', wanted target 'ACTIVE'. last error: NodeCreationFailure:"
                f" Instances failed to join the kubernetes cluster {cluster}"
            )
            outputs = self.observe(account, resource_id, inputs) or {}
            raise NotReadyError(resource_id, outputs, reason) from error

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        record = account.store.get(NODE_GROUP, resource_id)
        if record is None:
            return None
        cluster, name = resource_id.split(":", 1)
        make_group(account, resource_id, record)
        group = group_or_none(account, record["autoScalingGroup"])
        tags = record.get("tags") or {}
        shown = {
            key: value
            for key, value in record.items()
            if key not in ("uuid", "autoScalingGroup", "ownTemplate") and not key.startswith("__")
        }
        return shown | {
            "arn": account.arn("eks", f"nodegroup/{cluster}/{name}/{record['uuid']}"),
            "diskSize": record.get("diskSize", 0 if record.get("launchTemplate") else 20),
            "nodeGroupName": name,
            "releaseVersion": record.get("releaseVersion")
            or f"{record['version']}.0-{_RELEASE_DATE}",
            "resources": [
                {
                    "autoscalingGroups": [{"name": record["autoScalingGroup"]}],
                    "remoteAccessSecurityGroupId": "",
                }
            ],
            "scalingConfig": {
                "desiredSize": group["DesiredCapacity"],
                "maxSize": group["MaxSize"],
                "minSize": group["MinSize"],
            }
            if group
            else record["scalingConfig"],
            "status": "ACTIVE" if group else "DEGRADED",
            "tags": tags,
            "tagsAll": tags,
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        record = account.store.get(NODE_GROUP, resource_id)
        if record is None:
            raise AwsError(
                operation="UpdateNodegroupConfig",
                code="ResourceNotFoundException",
                reason=f"No node group found for name: {resource_id.split(':', 1)[1]}.",
            )
        refuse_sizes("UpdateNodegroupConfig", new["scalingConfig"])
        known = {key: value for key, value in new.items() if value is not None}
        emptied = {key: _DEFAULTS.get(key) for key in old if key not in known and key in record}
        account.store.put(NODE_GROUP, resource_id, {**record, **emptied, **known})
        sizes = new["scalingConfig"]
        account.client("autoscaling").update_auto_scaling_group(
            AutoScalingGroupName=record["autoScalingGroup"],
            MinSize=int(sizes["minSize"]),
            MaxSize=int(sizes["maxSize"]),
            DesiredCapacity=int(sizes["desiredSize"]),
        )
        if any(old.get(key) != new.get(key) for key in ("launchTemplate", "version")):
            self._replace_instances(account, record["autoScalingGroup"])

    def _replace_instances(self, account: Account, group_name: str) -> None:
        """Do the rolling update: each old instance goes, and the group starts another."""
        group = group_or_none(account, group_name)
        for instance in group["Instances"] if group else ():
            account.client("autoscaling").terminate_instance_in_auto_scaling_group(
                InstanceId=instance["InstanceId"], ShouldDecrementDesiredCapacity=False
            )

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        record = account.store.get(NODE_GROUP, resource_id)
        if record is None:
            return
        if group_or_none(account, record["autoScalingGroup"]):
            account.client("autoscaling").delete_auto_scaling_group(
                AutoScalingGroupName=record["autoScalingGroup"], ForceDelete=True
            )
        _drop_template(account, f"eks-{record['uuid']}")
        cluster, name = resource_id.split(":", 1)
        if_there(account.client("eks").delete_nodegroup, clusterName=cluster, nodegroupName=name)
        account.store.remove(NODE_GROUP, resource_id)


def make_group(account: Account, resource_id: str, record: Mapping[str, Any]) -> None:
    """Make a node group's Auto Scaling group, unless it is there already.

    EKS goes on with what it has begun when the caller is gone; here the next one to look does.
    """
    cluster, name = resource_id.split(":", 1)
    if group_or_none(account, record["autoScalingGroup"]):
        return
    _tell_moto(account, cluster, name, record)
    template = f"eks-{record['uuid']}"
    ec2 = account.client("ec2")
    _drop_template(account, template)
    ec2.create_launch_template(
        LaunchTemplateName=template,
        LaunchTemplateData={
            "ImageId": _image(account),
            "InstanceType": record["instanceTypes"][0],
        },
    )
    sizes = record["scalingConfig"]
    spot = record["capacityType"] == "SPOT"
    account.client("autoscaling").create_auto_scaling_group(
        AutoScalingGroupName=record["autoScalingGroup"],
        MinSize=int(sizes["minSize"]),
        MaxSize=int(sizes["maxSize"]),
        DesiredCapacity=int(sizes["desiredSize"]),
        VPCZoneIdentifier=",".join(record["subnetIds"]),
        CapacityRebalance=spot,
        MixedInstancesPolicy={
            "LaunchTemplate": {
                "LaunchTemplateSpecification": {"LaunchTemplateName": template, "Version": "1"},
                "Overrides": [{"InstanceType": kind} for kind in record["instanceTypes"]],
            },
            "InstancesDistribution": {
                "OnDemandPercentageAboveBaseCapacity": 0 if spot else 100,
            },
        },
        Tags=_group_tags(cluster, name),
    )


def _drop_template(account: Account, name: str) -> None:
    """Delete a launch template by name, if it is there."""
    ec2 = account.client("ec2")
    named = [{"Name": "launch-template-name", "Values": [name]}]
    if ec2.describe_launch_templates(Filters=named)["LaunchTemplates"]:
        ec2.delete_launch_template(LaunchTemplateName=name)


def _tell_moto(account: Account, cluster: str, name: str, record: Mapping[str, Any]) -> None:
    """Make the group known to moto's EKS too: the cluster autoscaler asks it for labels."""
    eks = account.client("eks")
    if found_or_none(eks.describe_nodegroup, clusterName=cluster, nodegroupName=name) is None:
        eks.create_nodegroup(
            clusterName=cluster,
            nodegroupName=name,
            nodeRole=record["nodeRoleArn"],
            subnets=record["subnetIds"],
            **{key: record[key] for key in ("amiType", "capacityType", "instanceTypes")},
            labels=record["labels"],
            taints=record["taints"],
            scalingConfig={key: int(size) for key, size in record["scalingConfig"].items()},
        )


def _ready_provider_ids(api: KubernetesApi) -> set[str]:
    return {
        node["spec"].get("providerID", "")
        for node in api.items("/api/v1/nodes")
        if any(
            condition["type"] == "Ready" and condition["status"] == "True"
            for condition in node.get("status", {}).get("conditions", ())
        )
    }


def _group_tags(cluster: str, name: str) -> list[dict[str, Any]]:
    # docs.aws.amazon.com/eks/latest/userguide/managed-node-groups.html: EKS tags the group for
    # the autoscaler's discovery by itself; labels and taints it does not put there.
    tags = {
        "eks:cluster-name": cluster,
        "eks:nodegroup-name": name,
        f"kubernetes.io/cluster/{cluster}": "owned",
        "k8s.io/cluster-autoscaler/enabled": "true",
        f"k8s.io/cluster-autoscaler/{cluster}": "owned",
    }
    return [{"Key": key, "Value": value, "PropagateAtLaunch": True} for key, value in tags.items()]


def _image(account: Account) -> str:
    ec2 = account.client("ec2")
    found = ec2.describe_images(Filters=[{"Name": "name", "Values": [_IMAGE]}])["Images"]
    if found:
        image: str = found[0]["ImageId"]
        return image
    made: str = ec2.register_image(Name=_IMAGE, Architecture="x86_64", RootDeviceName="/dev/xvda")[
        "ImageId"
    ]
    return made
