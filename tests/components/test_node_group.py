"""Launch template, managed node group, and the tags the autoscaler reads."""

import dataclasses
import re
from typing import Any

import pytest

from components import gpu
from components.node_group import (
    SYSTEM_NODE_LABELS,
    NodeGroup,
    NodeGroupArgs,
    autoscaler_tags,
    gpu_node_taints,
    name_prefix,
)
from components.node_group_rules import gpu_node_labels
from tests.support.recorder import Recording, record

TEAM = gpu.Taint(key="team", value="", effect="NoExecute")
GPU_ARGS = NodeGroupArgs(
    ami_type="AL2023_x86_64_NVIDIA",
    capacity_type="SPOT",
    cluster_name="gangway-dev",
    disk_gib=100,
    instance_types=("g4dn.xlarge", "g4dn.2xlarge"),
    labels=gpu_node_labels(("g4dn.xlarge", "g4dn.2xlarge"), {"team": "ml"}),
    max_size=4,
    min_size=0,
    node_role_arn="arn:aws:iam::111122223333:role/nodes",
    subnet_ids=["subnet-1"],
    tags={"cost-center": "ml"},
    taints=gpu_node_taints([TEAM]),
    version="1.35",
)
SYSTEM_ARGS = NodeGroupArgs(
    ami_type="AL2023_x86_64_STANDARD",
    capacity_type="ON_DEMAND",
    cluster_name="gangway-dev",
    disk_gib=50,
    instance_types=("t3.medium",),
    labels=SYSTEM_NODE_LABELS,
    max_size=3,
    min_size=2,
    node_role_arn="arn:aws:iam::111122223333:role/nodes",
    subnet_ids=["subnet-1", "subnet-2"],
    tags={"cost-center": "ml"},
)
GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
TAG = "aws:autoscaling/tag:Tag"


def build(args: NodeGroupArgs, name: str = "gpu-use1-az4") -> Recording:
    return record(lambda: NodeGroup(name, args) and None)


@pytest.fixture(scope="module")
def recorded_gpu() -> Recording:
    return build(GPU_ARGS)


@pytest.fixture(scope="module")
def recorded_system() -> Recording:
    return build(SYSTEM_ARGS, "system")


@pytest.fixture(scope="module")
def group(recorded_gpu: Recording) -> dict[str, Any]:
    return recorded_gpu.one(GROUP).inputs


@pytest.fixture(scope="module")
def template(recorded_gpu: Recording) -> dict[str, Any]:
    return recorded_gpu.one(TEMPLATE).inputs


@pytest.fixture(scope="module")
def tags(recorded_gpu: Recording) -> dict[str, str]:
    pairs = [resource.inputs["tag"] for resource in recorded_gpu.of_type(TAG)]
    return {pair["key"]: pair["value"] for pair in pairs}


def test_the_group_is_what_was_asked_for(group: dict[str, Any]) -> None:
    assert group["amiType"] == "AL2023_x86_64_NVIDIA"
    assert group["capacityType"] == "SPOT"
    assert group["instanceTypes"] == ["g4dn.xlarge", "g4dn.2xlarge"]
    assert group["subnetIds"] == ["subnet-1"]
    assert group["version"] == "1.35"


def test_the_group_joins_its_cluster_with_the_role_given(group: dict[str, Any]) -> None:
    assert group["clusterName"] == "gangway-dev"
    assert group["nodeRoleArn"] == "arn:aws:iam::111122223333:role/nodes"


def test_a_group_starts_at_its_smallest(group: dict[str, Any]) -> None:
    assert group["scalingConfig"] == {"desiredSize": 0, "maxSize": 4, "minSize": 0}


def test_a_system_group_starts_with_all_it_needs(recorded_system: Recording) -> None:
    scaling = recorded_system.one(GROUP).inputs["scalingConfig"]
    assert scaling == {"desiredSize": 2, "maxSize": 3, "minSize": 2}


def test_the_number_of_nodes_is_the_autoscalers_after_creation(recorded_gpu: Recording) -> None:
    assert recorded_gpu.one(GROUP).ignore_changes == ("scalingConfig.desiredSize",)


def test_the_ignored_path_leads_to_a_property(recorded_gpu: Recording) -> None:
    [path] = recorded_gpu.one(GROUP).ignore_changes
    section, key = path.split(".")
    assert key in recorded_gpu.one(GROUP).inputs[section]


def test_a_replacement_finds_a_free_name(group: dict[str, Any]) -> None:
    assert group["nodeGroupNamePrefix"] == "gpu-use1-az4-"
    assert "nodeGroupName" not in group


def test_a_replacement_is_made_before_the_old_group_goes(recorded_gpu: Recording) -> None:
    assert recorded_gpu.one(GROUP).delete_before_replace is not True


def test_the_longest_name_still_takes_a_suffix() -> None:
    assert len(name_prefix("n" * 36)) == 37


def test_rejects_a_name_that_leaves_no_room_for_the_suffix() -> None:
    with pytest.raises(ValueError, match="has 37 characters; allowed: 36, as a suffix is added"):
        name_prefix("n" * 37)


def test_a_sick_node_is_replaced(group: dict[str, Any]) -> None:
    assert group["nodeRepairConfig"] == {"enabled": True}


def test_an_update_of_gpu_nodes_needs_no_spare_node(group: dict[str, Any]) -> None:
    assert group["updateConfig"] == {"maxUnavailable": 1, "updateStrategy": "MINIMAL"}


def test_an_update_of_system_nodes_brings_a_new_one_first(recorded_system: Recording) -> None:
    config = recorded_system.one(GROUP).inputs["updateConfig"]
    assert config == {"maxUnavailable": 1, "updateStrategy": "DEFAULT"}


def test_taints_are_in_eks_spelling(group: dict[str, Any]) -> None:
    assert group["taints"] == [
        {"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"},
        {"key": "team", "effect": "NO_EXECUTE"},
    ]


def test_system_nodes_take_every_pod(recorded_system: Recording) -> None:
    assert recorded_system.one(GROUP).inputs["taints"] == []


def test_nodes_follow_the_cluster_when_no_version_is_given(recorded_system: Recording) -> None:
    assert "version" not in recorded_system.one(GROUP).inputs


def test_the_image_release_is_left_to_eks(group: dict[str, Any]) -> None:
    assert "releaseVersion" not in group


def test_labels_say_what_the_gpu_is(group: dict[str, Any]) -> None:
    assert group["labels"] == {
        "gangway.dev/node-role": "gpu",
        "k8s.amazonaws.com/accelerator": "nvidia-tesla-t4",
        "nvidia.com/gpu.count": "1",
        "nvidia.com/gpu.memory": "15360",
        "nvidia.com/gpu.present": "true",
        "nvidia.com/gpu.product": "Tesla-T4",
        "team": "ml",
    }


def test_labels_follow_the_gpu_model() -> None:
    labels = gpu_node_labels(("g5.xlarge",), {})
    assert labels["nvidia.com/gpu.product"] == "NVIDIA-A10G"
    assert labels["k8s.amazonaws.com/accelerator"] == "nvidia-a10g"


def test_rejects_an_extra_label_that_contradicts_the_instance_type() -> None:
    with pytest.raises(ValueError, match=r"extra labels set nvidia\.com/gpu\.present"):
        gpu_node_labels(("g4dn.xlarge",), {"nvidia.com/gpu.present": "false"})


def test_system_nodes_are_labelled_as_such(recorded_system: Recording) -> None:
    assert recorded_system.one(GROUP).inputs["labels"] == {"gangway.dev/node-role": "system"}


def test_rejects_a_group_that_breaks_a_rule() -> None:
    with pytest.raises(ValueError, match=re.escape("min_size is 0 for system nodes")):
        dataclasses.replace(SYSTEM_ARGS, min_size=0)


def test_the_group_is_pinned_to_the_templates_newest_version(recorded_gpu: Recording) -> None:
    used = recorded_gpu.one(GROUP).inputs["launchTemplate"]
    template = recorded_gpu.one(TEMPLATE)
    assert used == {"id": template.id, "version": "1"}
    assert recorded_gpu.one(GROUP).property_dependencies["launchTemplate"] == (template.urn,)


def test_the_root_disk_is_encrypted(template: dict[str, Any]) -> None:
    assert template["blockDeviceMappings"][0]["ebs"]["encrypted"] == "true"


def test_the_root_disk_has_room_for_the_image(template: dict[str, Any]) -> None:
    [mapping] = template["blockDeviceMappings"]
    assert mapping["deviceName"] == "/dev/xvda"
    assert mapping["ebs"]["volumeSize"] == 100
    assert mapping["ebs"]["volumeType"] == "gp3"


def test_no_disk_outlives_its_node(template: dict[str, Any]) -> None:
    assert template["blockDeviceMappings"][0]["ebs"]["deleteOnTermination"] == "true"


def test_bottlerocket_keeps_containers_on_a_second_disk() -> None:
    args = dataclasses.replace(SYSTEM_ARGS, ami_type="BOTTLEROCKET_x86_64")
    system, data = build(args, "system").one(TEMPLATE).inputs["blockDeviceMappings"]
    assert (system["deviceName"], data["deviceName"]) == ("/dev/xvda", "/dev/xvdb")
    assert "volumeSize" not in system["ebs"]
    assert data["ebs"]["volumeSize"] == 50
    assert system["ebs"]["encrypted"] == data["ebs"]["encrypted"] == "true"


def test_the_metadata_service_wants_a_session_token(template: dict[str, Any]) -> None:
    assert template["metadataOptions"]["httpTokens"] == "required"


def test_the_metadata_service_does_not_reach_pods(template: dict[str, Any]) -> None:
    assert template["metadataOptions"]["httpPutResponseHopLimit"] == 1


def test_the_metadata_service_answers_the_node(template: dict[str, Any]) -> None:
    assert template["metadataOptions"]["httpEndpoint"] == "enabled"


def test_nodes_use_the_security_group_that_eks_makes(template: dict[str, Any]) -> None:
    assert not {"networkInterfaces", "securityGroupNames", "vpcSecurityGroupIds"} & set(template)


@pytest.mark.parametrize("kind", ["instance", "network-interface", "volume"])
def test_what_a_node_brings_along_is_tagged(template: dict[str, Any], kind: str) -> None:
    specifications = {item["resourceType"]: item["tags"] for item in template["tagSpecifications"]}
    assert specifications[kind] == {"Name": "gpu-use1-az4", "cost-center": "ml"}


@pytest.mark.parametrize("type_token", [GROUP, TEMPLATE])
def test_group_and_template_are_tagged(recorded_gpu: Recording, type_token: str) -> None:
    assert recorded_gpu.one(type_token).inputs["tags"]["cost-center"] == "ml"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("enabled", "true"),
        ("gangway-dev", "owned"),
        ("node-template/label/gangway.dev/node-role", "gpu"),
        ("node-template/label/k8s.amazonaws.com/accelerator", "nvidia-tesla-t4"),
        ("node-template/label/nvidia.com/gpu.present", "true"),
        ("node-template/label/team", "ml"),
        ("node-template/resources/ephemeral-storage", "100Gi"),
        ("node-template/resources/nvidia.com/gpu", "1"),
        ("node-template/taint/nvidia.com/gpu", "present:NoSchedule"),
        ("node-template/taint/team", ":NoExecute"),
    ],
)
def test_the_autoscaler_can_picture_a_node(tags: dict[str, str], key: str, value: str) -> None:
    assert tags[f"k8s.io/cluster-autoscaler/{key}"] == value


def test_every_label_of_the_group_is_an_autoscaler_tag(
    group: dict[str, Any], tags: dict[str, str]
) -> None:
    prefix = "k8s.io/cluster-autoscaler/node-template/label/"
    labels = {
        key.removeprefix(prefix): value for key, value in tags.items() if key.startswith(prefix)
    }
    assert labels == group["labels"]


def test_time_slices_are_told_to_the_autoscaler() -> None:
    sliced = autoscaler_tags(dataclasses.replace(GPU_ARGS, gpu_replicas=4))
    assert sliced["k8s.io/cluster-autoscaler/node-template/resources/nvidia.com/gpu"] == "4"


def test_system_nodes_promise_no_gpu() -> None:
    assert not any("resources/nvidia.com" in key for key in autoscaler_tags(SYSTEM_ARGS))


def test_tags_stand_on_the_groups_own_auto_scaling_group(recorded_gpu: Recording) -> None:
    made = recorded_gpu.one(GROUP).outputs["resources"][0]["autoscalingGroups"][0]["name"]
    groups = {resource.inputs["autoscalingGroupName"] for resource in recorded_gpu.of_type(TAG)}
    assert groups == {made}


def test_autoscaler_tags_stay_off_instances(recorded_gpu: Recording) -> None:
    assert {r.inputs["tag"]["propagateAtLaunch"] for r in recorded_gpu.of_type(TAG)} == {False}


def test_outputs_name_group_and_auto_scaling_group(recorded_gpu: Recording) -> None:
    outputs = recorded_gpu.one("gangway:components:NodeGroup").outputs
    assert outputs["node_group_name"].startswith("gpu-use1-az4-")
    assert outputs["auto_scaling_group_name"].startswith("eks-gpu-use1-az4-")


def test_everything_belongs_to_the_component(recorded_gpu: Recording) -> None:
    component = recorded_gpu.one("gangway:components:NodeGroup")
    assert {item.parent for item in recorded_gpu if item is not component} == {component.urn}
