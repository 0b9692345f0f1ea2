"""Settings reach the AWS components; the whole list of resources is test_gpu_training's."""

from typing import Any

from infra.preview.recording import Recording
from stacks import aws_layer
from tests.support.environments import recorded_with
from tests.support.settings import settings

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def recorded(changes: dict[str, Any]) -> Recording:
    return recorded_with(settings(changes))


def test_gpu_nodes_stand_in_the_zones_named_for_them_only() -> None:
    recording = recorded({"gpuNodes.zoneIds": ["use1-az6"]})
    names = {group.name for group in recording.of_type(NODE_GROUP)}
    assert names == {"system", "gpu-use1-az6"}


def test_a_gpu_group_stands_in_its_own_zones_subnet_alone() -> None:
    recording = recorded({})
    group = recording.one(NODE_GROUP, "gpu-use1-az6")
    subnet = recording.one("aws:ec2/subnet:Subnet", "network-private-use1-az6")
    assert group.inputs["subnetIds"] == [subnet.id]


def test_extra_taints_reach_gpu_nodes_and_no_system_node() -> None:
    recording = recorded({"gpuNodes.extraTaints": [{"key": "team", "effect": "NoExecute"}]})
    gpu_keys = [
        taint["key"] for taint in recording.one(NODE_GROUP, "gpu-use1-az4").inputs["taints"]
    ]
    assert gpu_keys == ["nvidia.com/gpu", "team"]
    assert not recording.one(NODE_GROUP, "system").inputs.get("taints")


def test_time_slices_are_counted_in_what_the_autoscaler_expects() -> None:
    recording = recorded({"devicePlugin.timeSlicing": {"replicas": 4}})
    tag = recording.one(
        "aws:autoscaling/tag:Tag", "gpu-use1-az4-node-template/resources/nvidia.com/gpu"
    )
    assert tag.inputs["tag"]["value"] == "4"


def test_the_buckets_name_and_prefix_reach_bucket_and_role() -> None:
    recording = recorded({"results.bucketName": "gangway-results-1", "results.prefix": "runs/"})
    assert recording.one("aws:s3/bucket:Bucket").inputs["bucket"] == "gangway-results-1"
    policy = recording.one("aws:iam/rolePolicy:RolePolicy", "trainer").inputs["policy"]
    assert "arn:aws:s3:::gangway-results-1/runs/*" in policy


def test_an_existing_vpc_gives_ids_and_makes_nothing() -> None:
    from stacks.plan import plan_for  # noqa: PLC0415 - beside its only use

    subnets = {"use1-az4": "subnet-0a", "use1-az6": "subnet-0b"}
    wanted = settings({"network.existingVpc": {"vpcId": "vpc-0a", "privateSubnetIds": subnets}})
    network = aws_layer.network(plan_for(wanted))
    assert (network.vpc_id, dict(network.private_subnets)) == ("vpc-0a", subnets)
