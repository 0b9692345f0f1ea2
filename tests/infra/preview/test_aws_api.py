import json
import re
from collections.abc import Iterator
from typing import Any

import pytest

from infra.preview import aws_model, aws_sdk
from infra.preview.aws_api import check_create, sdk_properties
from infra.preview.aws_call import PROVIDER
from infra.preview.aws_model import Shape
from infra.preview.aws_types import CREATE_CALLS
from infra.preview.aws_values import UNKNOWN_TEXT, python_pattern

NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
SOUND_NODE_GROUP: dict[str, Any] = {
    "amiType": "AL2023_x86_64_NVIDIA",
    "capacityType": "SPOT",
    "clusterName": "gangway-dev",
    "instanceTypes": ["g4dn.xlarge", "g4dn.2xlarge"],
    "labels": {"nvidia.com/gpu.present": "true"},
    "launchTemplate": {"id": "lt-1", "version": "1"},
    "nodeGroupNamePrefix": "gpu-",
    "nodeRepairConfig": {"enabled": True},
    "nodeRoleArn": "arn:aws:iam::123456789012:role/node",
    "scalingConfig": {"desiredSize": 0, "maxSize": 4, "minSize": 0},
    "subnetIds": ["subnet-1"],
    "tags": {"Name": "gpu"},
    "taints": [{"effect": "NO_SCHEDULE", "key": "nvidia.com/gpu", "value": "present"}],
    "updateConfig": {"maxUnavailable": 1, "updateStrategy": "MINIMAL"},
}


def node_group(**changes: Any) -> list[str]:
    return check_create(NODE_GROUP, SOUND_NODE_GROUP | changes)


def test_accepts_a_sound_gpu_node_group() -> None:
    assert node_group() == []


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        pytest.param(
            {"taints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
            "taints[0].effect is 'NoSchedule', but eks CreateNodegroup allows only"
            " NO_SCHEDULE, NO_EXECUTE or PREFER_NO_SCHEDULE",
            id="enumeration",
        ),
        pytest.param(
            {"instanceTypes": ["g4dn.xlrage"]},
            "instanceTypes[0] is 'g4dn.xlrage', but ec2 RunInstances allows only one of its",
            id="an instance type that EC2 does not have",
        ),
        pytest.param(
            {"scalingConfig": {"desiredSize": 0, "maxSize": 0, "minSize": 0}},
            "scalingConfig.maxSize is 0, but eks CreateNodegroup wants at least 1",
            id="range",
        ),
        pytest.param(
            {"updateConfig": {"maxUnavailablePercentage": 101}},
            "updateConfig.maxUnavailablePercentage is 101, but eks CreateNodegroup wants at most",
            id="range above",
        ),
        pytest.param(
            {"labels": {"": "x"}},
            "labels[''] has the key '', but eks CreateNodegroup wants at least 1 characters",
            id="length of a map's key",
        ),
        pytest.param(
            {"scalingConfig": {"minSize": 0, "maxSize": 4}},
            "scalingConfig.desiredSize is required",
            id="missing inside",
        ),
        pytest.param({"clusterName": None}, "clusterName is required", id="missing"),
        pytest.param(
            {"scalingConfig": {"minSize": 0, "maxSize": "4", "desiredSize": 0}},
            "scalingConfig.maxSize is '4', but must be a whole number",
            id="text for a number",
        ),
        pytest.param(
            {"subnetIds": "subnet-1"}, "subnetIds is 'subnet-1', but must be a list", id="no list"
        ),
        pytest.param(
            {"taint": []},
            "taint is no property that Pulumi passes to eks CreateNodegroup; did you mean taints",
            id="unknown name",
        ),
        pytest.param(
            {"scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 0, "minSzie": 1}},
            "scalingConfig.minSzie is no property that Pulumi passes to eks CreateNodegroup;"
            " did you mean minSize",
            id="unknown name inside",
        ),
        pytest.param(
            {"tags": {"aws:owner": "me"}},
            "tags['aws:owner'] begins with aws:, which AWS reserves for its own tags",
            id="reserved tag",
        ),
        pytest.param(
            {"tags": {"owner": 3}}, "tags['owner'] is 3, but must be text", id="tag that is no text"
        ),
    ],
)
def test_rejects_a_node_group_with(changes: dict[str, Any], sentence: str) -> None:
    problems = node_group(**changes)

    assert len(problems) == 1
    assert problems[0].startswith(sentence)


@pytest.mark.parametrize(
    ("token", "inputs", "sentence"),
    [
        pytest.param(
            TEMPLATE,
            {"metadataOptions": {"httpTokens": "require"}},
            "metadataOptions.httpTokens is 'require', but ec2 CreateLaunchTemplate allows only"
            " optional or required",
            id="a member under LaunchTemplateData",
        ),
        pytest.param(
            TEMPLATE,
            {"blockDeviceMappings": [{"deviceName": "/dev/xvda", "ebs": {"encrypted": "yes"}}]},
            "blockDeviceMappings[0].ebs.encrypted is 'yes', but ec2 CreateLaunchTemplate allows"
            " only true or false",
            id="a boolean that Pulumi spells as text",
        ),
        pytest.param(
            "aws:eks/cluster:Cluster",
            {
                "enabledClusterLogTypes": ["api", "audits"],
                "roleArn": "arn",
                "vpcConfig": {"subnetIds": ["subnet-1"]},
            },
            "enabledClusterLogTypes[1] is 'audits', but eks CreateCluster allows only api, audit,",
            id="each element of a list spread over a nested path",
        ),
        pytest.param(
            "aws:eks/addon:Addon",
            {
                "addonName": "coredns",
                "clusterName": "gangway-dev",
                "resolveConflictsOnUpdate": "MERGE",
            },
            "resolveConflictsOnUpdate is 'MERGE', but eks UpdateAddon allows only",
            id="a member of another call",
        ),
        pytest.param(
            "aws:iam/role:Role",
            {"assumeRolePolicy": "{}", "name": "my role"},
            "name is 'my role', but iam CreateRole wants text like ",
            id="pattern",
        ),
        pytest.param(
            "aws:s3/bucketOwnershipControls:BucketOwnershipControls",
            {"bucket": "results", "rule": {"objectOwnership": "BucketOwner"}},
            "rule.objectOwnership is 'BucketOwner', but s3 PutBucketOwnershipControls allows only",
            id="one object where the API wants a list",
        ),
        pytest.param(
            "aws:ec2/securityGroup:SecurityGroup",
            {"ingress": [{"fromPort": 443, "toPort": 443, "protocol": "tcp", "cidrBlock": []}]},
            "ingress[0].cidrBlock is no property that Pulumi passes to ec2 CreateSecurityGroup;"
            " did you mean cidrBlocks",
            id="a block that becomes calls of its own",
        ),
        pytest.param(
            "aws:cloudwatch/logGroup:LogGroup",
            {"retentionInDays": 8},
            "retentionInDays is 8, but logs CreateLogGroup allows only 0, 1, 3, 5, 7, 14, 30,",
            id="a value that only the documentation limits",
        ),
        pytest.param(
            "aws:kms/key:Key",
            {"deletionWindowInDays": 3},
            "deletionWindowInDays is 3, but kms CreateKey wants at least 7",
            id="a range that only the documentation gives",
        ),
        pytest.param(
            "aws:cloudwatch/logGroup:LogGroup",
            {"name": "a?b"},
            "name is 'a?b', but logs CreateLogGroup wants text like ",
            id="a name that the API spells otherwise",
        ),
    ],
)
def test_rejects(token: str, inputs: dict[str, Any], sentence: str) -> None:
    problems = check_create(token, inputs)

    assert len(problems) == 1
    assert problems[0].startswith(sentence)


def test_every_problem_is_told_at_once() -> None:
    assert len(node_group(capacityType="spot", amiType="AL2024", diskSize="big")) == 3


def test_rejects_a_type_that_it_cannot_check_by_name() -> None:
    (problem,) = check_create("aws:rds/instance:Instance", {})

    assert problem.startswith("aws:rds/instance:Instance cannot be checked")


def test_a_value_that_is_not_known_yet_is_passed_over() -> None:
    assert node_group(clusterName=UNKNOWN_TEXT, subnetIds=[UNKNOWN_TEXT], taints=object()) == []


def test_a_secret_is_checked_like_any_other_value() -> None:
    secret = {
        "4dabf18193072939515e22adb298388d": "1b47061264138c4ac30d75fd1eb44270",
        "value": "spot",
    }

    assert len(node_group(capacityType=secret)) == 1


def test_a_list_of_one_that_pulumi_writes_bare_is_not_counted() -> None:
    encryption = {"provider": {"keyArn": "arn"}, "resources": ["secrets"]}
    inputs = {"roleArn": "arn", "vpcConfig": {"subnetIds": []}, "encryptionConfig": encryption}

    assert check_create("aws:eks/cluster:Cluster", inputs) == []


def test_a_whole_number_may_arrive_as_a_float() -> None:
    assert node_group(scalingConfig={"minSize": 0.0, "maxSize": 4.0, "desiredSize": 0.0}) == []


def test_a_policy_may_be_text_or_an_object() -> None:
    policy = {"Version": "2012-10-17", "Statement": []}

    assert check_create("aws:iam/role:Role", {"assumeRolePolicy": policy}) == []
    assert check_create("aws:iam/role:Role", {"assumeRolePolicy": json.dumps(policy)}) == []


def test_the_properties_file_is_what_the_installed_sdk_takes() -> None:
    assert sdk_properties() == aws_sdk.sdk_properties()


@pytest.mark.parametrize("token", CREATE_CALLS)
def test_each_property_has_a_place_in_the_api_or_is_the_providers(token: str) -> None:
    call = CREATE_CALLS[token]
    start = aws_model.input_shape(call.service, call.operation)
    top = aws_model.follow(call.service, start, call.under) if call.under else start
    members = {name.lower() for shape in (start, top) for name in shape.get("members", {})}
    names = {name.rstrip("!") for name in sdk_properties()[token]} - {"region", "tags"}

    lost = {name for name in names if name.lower() not in members and name not in call.targets}

    assert lost == set()


@pytest.mark.parametrize("token", CREATE_CALLS)
def test_each_target_of_the_table_names_a_property_and_a_member(token: str) -> None:
    call = CREATE_CALLS[token]
    known = set(_paths(sdk_properties()[token], ""))

    for name, targets in call.targets.items():
        assert name in known
        for target in (targets,) if isinstance(targets, str) else targets:
            if target != PROVIDER and not target.lstrip("*").startswith("."):
                assert _resolves(target.lstrip("*"), call.service, call.operation)


def test_each_pattern_of_the_calls_can_be_matched_by_python() -> None:
    for call in CREATE_CALLS.values():
        start = aws_model.input_shape(call.service, call.operation)
        for pattern in _patterns(call.service, start, frozenset()):
            assert isinstance(python_pattern(pattern), re.Pattern)


def _paths(kinds: Any, prefix: str) -> Iterator[str]:
    if isinstance(kinds, list):
        yield from _paths(kinds[0], prefix)
    elif isinstance(kinds, dict):
        for name, kind in kinds.items():
            path = f"{prefix}.{name.rstrip('!')}".removeprefix(".")
            yield path
            yield from _paths(kind, path)


def _resolves(target: str, service: str, operation: str) -> bool:
    if ":" in target:
        operation, target = target.split(":")
        service, operation = operation.split(".") if "." in operation else (service, operation)
    return bool(aws_model.follow(service, aws_model.input_shape(service, operation), target))


def _patterns(service: str, shape: Shape, seen: frozenset[str]) -> Iterator[str]:
    if "pattern" in shape:
        yield shape["pattern"]
    references = [*shape.get("members", {}).values()]
    references += [shape[side] for side in ("member", "key", "value") if side in shape]
    for reference in references:
        name = reference["shape"]
        if name not in seen:
            yield from _patterns(service, aws_model.shape(service, name), seen | {name})
