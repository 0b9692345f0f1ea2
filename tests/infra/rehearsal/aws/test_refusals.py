"""Each refusal of the emulated account, by AWS's code."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from infra.rehearsal.aws.refusals import AwsError
from tests.infra.rehearsal.aws.conftest import Engine, Made, trust

ADDON = "aws:eks/addon:Addon"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
CLUSTER = "aws:eks/cluster:Cluster"
ENTRY = "aws:eks/accessEntry:AccessEntry"
GROUP = "aws:ec2/securityGroup:SecurityGroup"
IDENTITY = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"
POLICY = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
ROLE = "aws:iam/role:Role"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
VIEW = "arn:aws:eks::aws:cluster-access-policy/AmazonEKSViewPolicy"


def refused(code: str, call: Callable[..., Any], *args: Any, **inputs: Any) -> str:
    with pytest.raises(AwsError) as caught:
        call(*args, **inputs)
    assert caught.value.code == code
    assert code in str(caught.value)
    return caught.value.reason


def node_group(
    aws: Engine, cluster: Made, role: Made, network: dict[str, Made], **changes: Any
) -> Made:
    inputs = {
        "clusterName": cluster.id,
        "nodeRoleArn": role["arn"],
        "subnetIds": [network["a"].id],
        "scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 0},
        "instanceTypes": ["t3.medium"],
    }
    return aws.create(NODE_GROUP, **(inputs | changes))


def test_rejects_to_delete_a_vpc_with_subnets(aws: Engine, network: dict[str, Made]) -> None:
    refused("DependencyViolation", network["vpc"].delete)


def test_rejects_to_delete_a_vpc_with_endpoints(aws: Engine) -> None:
    vpc = aws.create("aws:ec2/vpc:Vpc", cidrBlock="10.30.0.0/16")
    aws.create(
        "aws:ec2/vpcEndpoint:VpcEndpoint", vpcId=vpc.id, serviceName="com.amazonaws.us-east-1.s3"
    )

    refused("DependencyViolation", vpc.delete)


def test_rejects_a_subnet_outside_its_vpc(aws: Engine, network: dict[str, Made]) -> None:
    refused(
        "InvalidSubnet.Range",
        aws.create,
        "aws:ec2/subnet:Subnet",
        vpcId=network["vpc"].id,
        cidrBlock="10.99.0.0/20",
    )


def test_rejects_a_subnet_over_another(aws: Engine, network: dict[str, Made]) -> None:
    refused(
        "InvalidSubnet.Conflict",
        aws.create,
        "aws:ec2/subnet:Subnet",
        vpcId=network["vpc"].id,
        cidrBlock="10.20.0.0/20",
    )


def test_rejects_what_a_nat_gateway_still_needs(aws: Engine, network: dict[str, Made]) -> None:
    gateway = aws.create("aws:ec2/internetGateway:InternetGateway", vpcId=network["vpc"].id)
    address = aws.create("aws:ec2/eip:Eip", domain="vpc")
    nat = aws.create(
        "aws:ec2/natGateway:NatGateway", subnetId=network["a"].id, allocationId=address.id
    )

    refused("DependencyViolation", network["a"].delete)
    refused("InvalidIPAddress.InUse", address.delete)
    refused("DependencyViolation", gateway.delete)
    refused(
        "Resource.AlreadyAssociated",
        aws.create,
        "aws:ec2/natGateway:NatGateway",
        subnetId=network["b"].id,
        allocationId=address.id,
    )

    nat.delete()
    again = aws.create(
        "aws:ec2/natGateway:NatGateway", subnetId=network["b"].id, allocationId=address.id
    )
    again.delete()
    network["a"].delete()
    address.delete()
    gateway.delete()


def test_rejects_to_delete_a_route_table_in_use(aws: Engine, network: dict[str, Made]) -> None:
    table = aws.create("aws:ec2/routeTable:RouteTable", vpcId=network["vpc"].id)
    aws.create(
        "aws:ec2/routeTableAssociation:RouteTableAssociation",
        routeTableId=table.id,
        subnetId=network["a"].id,
    )

    refused("DependencyViolation", table.delete)


def test_rejects_a_second_route_to_the_same_place(aws: Engine, network: dict[str, Made]) -> None:
    gateway = aws.create("aws:ec2/internetGateway:InternetGateway", vpcId=network["vpc"].id)
    table = aws.create("aws:ec2/routeTable:RouteTable", vpcId=network["vpc"].id)
    inputs = {
        "routeTableId": table.id,
        "destinationCidrBlock": "0.0.0.0/0",
        "gatewayId": gateway.id,
    }
    aws.create("aws:ec2/route:Route", **inputs)

    refused("RouteAlreadyExists", aws.create, "aws:ec2/route:Route", **inputs)


def test_rejects_a_security_group_name_that_is_taken(aws: Engine, network: dict[str, Made]) -> None:
    inputs = {"vpcId": network["vpc"].id, "name": "taken", "description": "d"}
    aws.create(GROUP, **inputs)

    refused("InvalidGroup.Duplicate", aws.create, GROUP, **inputs)


def test_rejects_to_delete_a_security_group_that_a_rule_names(
    aws: Engine, network: dict[str, Made]
) -> None:
    named = aws.create(GROUP, "named", vpcId=network["vpc"].id)
    rule = {"fromPort": 443, "toPort": 443, "protocol": "tcp", "securityGroups": [named.id]}
    aws.create(GROUP, "naming", vpcId=network["vpc"].id, ingress=[rule])

    refused("DependencyViolation", named.delete)


def test_rejects_to_delete_a_security_group_that_an_endpoint_uses(
    aws: Engine, network: dict[str, Made]
) -> None:
    group = aws.create(GROUP, "used", vpcId=network["vpc"].id)
    endpoint = aws.create(
        "aws:ec2/vpcEndpoint:VpcEndpoint",
        vpcId=network["vpc"].id,
        serviceName="com.amazonaws.us-east-1.ecr.api",
        vpcEndpointType="Interface",
        subnetIds=[network["a"].id],
        securityGroupIds=[group.id],
    )

    refused("DependencyViolation", group.delete)

    endpoint.delete()
    group.delete()


def test_rejects_a_launch_template_name_that_is_taken(aws: Engine) -> None:
    aws.create(TEMPLATE, name=f"taken-{aws.number}")

    refused(
        "InvalidLaunchTemplateName.AlreadyExistsException",
        aws.create,
        TEMPLATE,
        name=f"taken-{aws.number}",
    )


def test_rejects_a_tag_on_a_group_that_is_not_there(aws: Engine) -> None:
    refused(
        "ValidationError",
        aws.create,
        "aws:autoscaling/tag:Tag",
        autoscalingGroupName="eks-none",
        tag={"key": "k", "value": "v", "propagateAtLaunch": True},
    )


def test_rejects_to_delete_a_role_with_attached_policies(aws: Engine, node_role: Made) -> None:
    refused("DeleteConflict", node_role.delete)


def test_rejects_a_policy_on_a_role_that_is_not_there(aws: Engine) -> None:
    policy = "arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy"

    refused("NoSuchEntity", aws.create, ATTACHMENT, role="nobody", policyArn=policy)


def test_rejects_a_managed_policy_that_aws_does_not_have(aws: Engine, node_role: Made) -> None:
    policy = "arn:aws:iam::aws:policy/AmazonEKSWorkerPolicy"

    refused("NoSuchEntity", aws.create, ATTACHMENT, role=node_role.id, policyArn=policy)


@pytest.mark.parametrize("policy", ["no json", "[]", "{}"])
def test_rejects_a_policy_that_is_none(aws: Engine, policy: str) -> None:
    refused("MalformedPolicyDocument", aws.create, ROLE, assumeRolePolicy=policy)


def test_rejects_to_delete_a_bucket_that_is_not_empty(aws: Engine) -> None:
    bucket = aws.create("aws:s3/bucket:Bucket")
    aws.account.client("s3").put_object(Bucket=bucket.id, Key="logs/report.json", Body=b"{}")

    refused("BucketNotEmpty", bucket.delete)

    bucket.update(forceDestroy=True).delete()
    assert bucket.read() is None


def test_rejects_a_log_group_name_that_is_taken(aws: Engine) -> None:
    kind = "aws:cloudwatch/logGroup:LogGroup"
    aws.create(kind, name=f"/taken/{aws.number}")

    refused("ResourceAlreadyExistsException", aws.create, kind, name=f"/taken/{aws.number}")


def test_rejects_a_log_group_with_a_key_that_is_not_there(aws: Engine) -> None:
    key = "arn:aws:kms:us-east-1:123456789012:key/none"

    refused(
        "InvalidParameterException", aws.create, "aws:cloudwatch/logGroup:LogGroup", kmsKeyId=key
    )


def test_rejects_an_alias_that_is_taken(aws: Engine) -> None:
    key = aws.create("aws:kms/key:Key")
    inputs = {"name": f"alias/taken-{aws.number}", "targetKeyId": key.id}
    aws.create("aws:kms/alias:Alias", **inputs)

    refused("AlreadyExistsException", aws.create, "aws:kms/alias:Alias", **inputs)


def cluster_inputs(cluster: Made, **changes: Any) -> dict[str, Any]:
    return cluster.inputs | {"name": f"{cluster.id}-other"} | changes


def test_rejects_a_cluster_name_that_is_taken(aws: Engine, cluster: Made) -> None:
    refused("ResourceInUseException", aws.create, CLUSTER, **cluster.inputs)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param({"version": "1.12"}, "unsupported Kubernetes version 1.12", id="a version"),
        pytest.param(
            {"roleArn": "arn:aws:iam::123456789012:role/nobody"},
            "could not be assumed",
            id="a role that is not there",
        ),
        pytest.param(
            {
                "encryptionConfig": {
                    "provider": {"keyArn": "arn:aws:kms:us-east-1:123456789012:key/none"},
                    "resources": ["secrets"],
                }
            },
            "keyArn",
            id="a key that is not there",
        ),
    ],
)
def test_rejects_a_cluster_with(
    aws: Engine, cluster: Made, changes: dict[str, Any], words: str
) -> None:
    reason = refused(
        "InvalidParameterException", aws.create, CLUSTER, **cluster_inputs(cluster, **changes)
    )

    assert words in reason


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {"endpointPrivateAccess": False, "endpointPublicAccess": False},
            "Private and public endpoint access cannot be false",
            id="no way in",
        ),
        pytest.param(
            {"publicAccessCidrs": ["192.0.2.0/24"]},
            "publicAccessCidrs should not be provided",
            id="networks without a public endpoint",
        ),
    ],
)
def test_rejects_a_cluster_whose_endpoint_has(
    aws: Engine, cluster: Made, changes: dict[str, Any], words: str
) -> None:
    vpc = {**cluster.inputs["vpcConfig"], **changes}

    reason = refused(
        "InvalidParameterException", aws.create, CLUSTER, **cluster_inputs(cluster, vpcConfig=vpc)
    )

    assert words in reason


def test_rejects_a_cluster_in_one_zone(
    aws: Engine, cluster: Made, network: dict[str, Made]
) -> None:
    inputs = cluster_inputs(
        cluster, vpcConfig={"subnetIds": [network["a"].id], "endpointPrivateAccess": True}
    )

    assert "two different AZs" in refused(
        "InvalidParameterException", aws.create, CLUSTER, **inputs
    )


def test_rejects_to_delete_a_cluster_with_node_groups(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    group = node_group(aws, cluster, node_role, network)

    refused("ResourceInUseException", cluster.delete)

    group.delete()
    cluster.delete()
    assert cluster.read() is None


def test_rejects_to_delete_a_protected_cluster(aws: Engine, cluster: Made) -> None:
    refused("InvalidRequestException", cluster.update(deletionProtection=True).delete)


def test_rejects_to_skip_a_kubernetes_version(aws: Engine, cluster: Made) -> None:
    cluster.update(version="1.36")

    assert "from 1.36 to 1.35" in refused(
        "InvalidParameterException", cluster.update, version="1.35"
    )


def test_rejects_to_go_back_to_the_config_map(aws: Engine, cluster: Made) -> None:
    refused(
        "InvalidParameterException",
        cluster.update,
        accessConfig={"authenticationMode": "API_AND_CONFIG_MAP"},
    )


def test_rejects_to_delete_a_subnet_that_a_cluster_uses(
    aws: Engine, cluster: Made, network: dict[str, Made]
) -> None:
    refused("DependencyViolation", network["a"].delete)

    cluster.delete()
    network["a"].delete()


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        pytest.param(
            {"scalingConfig": {"minSize": 2, "maxSize": 4, "desiredSize": 1}},
            "Minimum capacity 2 can't be greater than desired size 1",
            id="less than the least",
        ),
        pytest.param(
            {"scalingConfig": {"minSize": 0, "maxSize": 4, "desiredSize": 5}},
            "desired capacity 5 can't be greater than max size 4",
            id="more than the most",
        ),
        pytest.param(
            {"nodeRoleArn": "arn:aws:iam::123456789012:role/nobody"},
            "cannot be found",
            id="a role that is not there",
        ),
        pytest.param(
            {"subnetIds": ["subnet-0123456789abcdef0"]},
            "do not exist",
            id="a subnet that is not there",
        ),
        pytest.param(
            {"labels": {"kubernetes.io/role": "gpu"}}, "reserved prefixes", id="a reserved label"
        ),
        pytest.param(
            {"amiType": "AL2023_x86_64_NVIDIA"},
            "[t3.medium] is not a valid instance type",
            id="an image for GPUs on a type without",
        ),
    ],
)
def test_rejects_a_node_group_with(
    aws: Engine,
    cluster: Made,
    node_role: Made,
    network: dict[str, Made],
    changes: dict[str, Any],
    words: str,
) -> None:
    reason = refused(
        "InvalidParameterException",
        node_group,
        aws,
        cluster,
        node_role,
        network,
        **changes,
    )

    assert words in reason


def test_rejects_a_node_role_that_instances_cannot_assume(
    aws: Engine, cluster: Made, network: dict[str, Made]
) -> None:
    role = aws.create(ROLE, "wrong", assumeRolePolicy=trust("eks.amazonaws.com"))

    reason = refused("InvalidParameterException", node_group, aws, cluster, role, network)

    assert "[ec2.amazonaws.com]" in reason


def test_rejects_a_node_group_name_that_is_taken(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    node_group(aws, cluster, node_role, network, nodeGroupName="taken")

    refused(
        "ResourceInUseException",
        node_group,
        aws,
        cluster,
        node_role,
        network,
        nodeGroupName="taken",
    )


def test_rejects_a_node_group_of_no_cluster(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    refused(
        "ResourceNotFoundException",
        node_group,
        aws,
        cluster,
        node_role,
        network,
        clusterName="none",
    )


@pytest.mark.parametrize(
    ("template", "changes", "words"),
    [
        pytest.param(
            {"iamInstanceProfile": {"name": "p"}}, {}, "IamInstanceProfile", id="a profile"
        ),
        pytest.param({}, {"diskSize": 100}, "Disk size", id="a disk size beside it"),
        pytest.param(
            {"instanceType": "t3.large"}, {}, "both the launch template", id="a type in both"
        ),
    ],
)
def test_rejects_a_node_group_whose_template_has(
    aws: Engine,
    cluster: Made,
    node_role: Made,
    network: dict[str, Made],
    template: dict[str, Any],
    changes: dict[str, Any],
    words: str,
) -> None:
    made = aws.create(TEMPLATE, **template)
    used = {"id": made.id, "version": "1"}

    reason = refused(
        "InvalidParameterException",
        node_group,
        aws,
        cluster,
        node_role,
        network,
        launchTemplate=used,
        **changes,
    )

    assert words in reason


def test_rejects_a_launch_template_version_that_is_not_there(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    made = aws.create(TEMPLATE)

    refused(
        "InvalidRequestException",
        node_group,
        aws,
        cluster,
        node_role,
        network,
        launchTemplate={"id": made.id, "version": "7"},
    )


def test_rejects_an_addon_that_is_there(aws: Engine, cluster: Made) -> None:
    inputs = {"clusterName": cluster.id, "addonName": "vpc-cni"}
    aws.create(ADDON, **inputs)

    refused("ResourceInUseException", aws.create, ADDON, **inputs)


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        pytest.param({"addonName": "core-dns"}, "Addon core-dns specified", id="unknown"),
        pytest.param(
            {"addonName": "coredns", "addonVersion": "v0.0.1-eksbuild.1"},
            "Addon version specified is not supported",
            id="of an unknown version",
        ),
        pytest.param(
            {"addonName": "coredns", "configurationValues": '{"replicas": 2}'},
            "$.replicas: is not defined in the schema",
            id="with an unknown setting",
        ),
        pytest.param(
            {"addonName": "coredns", "configurationValues": "replicas: 2"},
            "no JSON",
            id="whose settings are no JSON",
        ),
    ],
)
def test_rejects_an_addon(aws: Engine, cluster: Made, inputs: dict[str, str], words: str) -> None:
    reason = refused(
        "InvalidParameterException", aws.create, ADDON, clusterName=cluster.id, **inputs
    )

    assert words in reason


def test_rejects_an_access_entry_that_is_there(aws: Engine, cluster: Made, node_role: Made) -> None:
    inputs = {"clusterName": cluster.id, "principalArn": node_role["arn"]}
    aws.create(ENTRY, **inputs)

    refused("ResourceInUseException", aws.create, ENTRY, **inputs)


def test_rejects_an_access_entry_for_nobody(aws: Engine, cluster: Made) -> None:
    refused(
        "InvalidParameterException",
        aws.create,
        ENTRY,
        clusterName=cluster.id,
        principalArn="arn:aws:iam::123456789012:role/nobody",
    )


def test_rejects_an_access_entry_in_a_group_of_the_system(
    aws: Engine, cluster: Made, node_role: Made
) -> None:
    reason = refused(
        "InvalidParameterException",
        aws.create,
        ENTRY,
        clusterName=cluster.id,
        principalArn=node_role["arn"],
        kubernetesGroups=["system:masters"],
    )

    assert "cannot start with system:" in reason


def test_rejects_an_access_policy_without_an_entry(
    aws: Engine, cluster: Made, node_role: Made
) -> None:
    refused(
        "ResourceNotFoundException",
        aws.create,
        POLICY,
        clusterName=cluster.id,
        principalArn=node_role["arn"],
        policyArn=VIEW,
        accessScope={"type": "cluster"},
    )


def test_rejects_an_access_policy_that_eks_does_not_have(
    aws: Engine, cluster: Made, node_role: Made
) -> None:
    entry = {"clusterName": cluster.id, "principalArn": node_role["arn"]}
    aws.create(ENTRY, **entry)

    refused(
        "InvalidParameterException",
        aws.create,
        POLICY,
        **entry,
        policyArn=f"{VIEW}er",
        accessScope={"type": "cluster"},
    )


def identity_inputs(cluster: Made, role_arn: str) -> dict[str, Any]:
    return {
        "clusterName": cluster.id,
        "namespace": "training",
        "serviceAccount": "trainer",
        "roleArn": role_arn,
    }


def test_rejects_a_second_pod_identity_for_a_service_account(
    aws: Engine, cluster: Made, node_role: Made
) -> None:
    inputs = identity_inputs(cluster, node_role["arn"])
    made = aws.create(IDENTITY, **inputs)

    assert made.id in refused("ResourceInUseException", aws.create, IDENTITY, **inputs)


def test_rejects_a_pod_identity_with_a_role_that_is_not_there(aws: Engine, cluster: Made) -> None:
    inputs = identity_inputs(cluster, "arn:aws:iam::123456789012:role/nobody")

    refused("InvalidParameterException", aws.create, IDENTITY, **inputs)


def test_rejects_a_session_policy_with_session_tags(
    aws: Engine, cluster: Made, node_role: Made
) -> None:
    inputs = identity_inputs(cluster, node_role["arn"])
    policy = json.dumps({"Version": "2012-10-17", "Statement": []})

    refused("InvalidParameterException", aws.create, IDENTITY, **inputs, policy=policy)
