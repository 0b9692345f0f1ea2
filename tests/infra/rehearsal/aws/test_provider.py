import asyncio
from typing import Any

import pytest
from pulumi.provider.experimental import provider as engine

from infra.errors import GangwayError
from infra.preview.aws_values import UNKNOWN_TEXT
from infra.rehearsal.aws.catalogue import RESOURCE_TYPES
from infra.rehearsal.aws.plain import plain_map, wrapped_map
from infra.rehearsal.aws.provider import kind_of
from tests.infra.rehearsal.aws.conftest import Engine, Made, trust

VPC = "aws:ec2/vpc:Vpc"
ROLE = "aws:iam/role:Role"
TEMPLATE = "aws:ec2/launchTemplate:LaunchTemplate"
WRITE = (
    '{"Version": "2012-10-17", "Statement":'
    ' [{"Effect": "Allow", "Action": "s3:PutObject", "Resource": "arn:aws:s3:::b/*"}]}'
)
BUCKET_KINDS: dict[str, dict[str, Any]] = {
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": {
        "blockPublicAcls": True,
        "blockPublicPolicy": True,
        "ignorePublicAcls": True,
        "restrictPublicBuckets": True,
    },
    "aws:s3/bucketVersioning:BucketVersioning": {"versioningConfiguration": {"status": "Enabled"}},
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": {
        "rules": [
            {
                "applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"},
                "bucketKeyEnabled": True,
            }
        ]
    },
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": {
        "rule": {"objectOwnership": "BucketOwnerEnforced"}
    },
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": {
        "rules": [
            {
                "id": "checkpoints",
                "status": "Enabled",
                "filter": {"prefix": "logs/checkpoints/"},
                "expiration": {"days": 30},
                "abortIncompleteMultipartUpload": {"daysAfterInitiation": 7},
            },
            {
                "id": "old-versions",
                "status": "Enabled",
                "filter": {},
                "noncurrentVersionExpiration": {"noncurrentDays": 30},
            },
        ]
    },
    "aws:s3/bucketPolicy:BucketPolicy": {
        "policy": '{"Version": "2012-10-17", "Statement": [{"Effect": "Deny", "Principal": "*",'
        ' "Action": "s3:*", "Resource": "*"}]}'
    },
}


def make_all(aws: Engine, network: dict[str, Made]) -> list[Made]:
    """One thing of each type outside EKS."""
    vpc, subnet = network["vpc"], network["a"]
    gateway = aws.create("aws:ec2/internetGateway:InternetGateway", vpcId=vpc.id)
    address = aws.create("aws:ec2/eip:Eip", domain="vpc", tags={"Name": "nat"})
    nat = aws.create("aws:ec2/natGateway:NatGateway", subnetId=subnet.id, allocationId=address.id)
    table = aws.create(
        "aws:ec2/routeTable:RouteTable",
        vpcId=vpc.id,
        routes=[{"cidrBlock": "0.0.0.0/0", "gatewayId": gateway.id}],
    )
    other = aws.create("aws:ec2/routeTable:RouteTable", vpcId=vpc.id)
    group = aws.create(
        "aws:ec2/securityGroup:SecurityGroup",
        vpcId=vpc.id,
        description="endpoints",
        ingress=[
            {"fromPort": 443, "toPort": 443, "protocol": "tcp", "cidrBlocks": ["10.20.0.0/16"]}
        ],
        tags={"Name": "endpoints"},
    )
    role = aws.create(ROLE, "made", assumeRolePolicy=trust("ec2.amazonaws.com"), tags={"a": "b"})
    key = aws.create("aws:kms/key:Key", enableKeyRotation=True, description="secrets")
    bucket = aws.create("aws:s3/bucket:Bucket", forceDestroy=True, tags={"Name": "results"})
    return [
        vpc,
        subnet,
        network["b"],
        gateway,
        address,
        nat,
        table,
        other,
        aws.create(
            "aws:ec2/route:Route",
            routeTableId=other.id,
            destinationCidrBlock="0.0.0.0/0",
            natGatewayId=nat.id,
        ),
        aws.create(
            "aws:ec2/routeTableAssociation:RouteTableAssociation",
            routeTableId=table.id,
            subnetId=subnet.id,
        ),
        group,
        aws.create("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup", vpcId=vpc.id),
        aws.create(
            "aws:ec2/securityGroupRule:SecurityGroupRule",
            securityGroupId=group.id,
            type="egress",
            protocol="-1",
            fromPort=0,
            toPort=0,
            cidrBlocks=["0.0.0.0/0"],
        ),
        aws.create(
            "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule",
            securityGroupId=group.id,
            ipProtocol="tcp",
            fromPort=80,
            toPort=80,
            cidrIpv4="10.0.0.0/8",
        ),
        aws.create(
            "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule",
            securityGroupId=group.id,
            ipProtocol="tcp",
            fromPort=80,
            toPort=80,
            cidrIpv4="10.0.0.0/8",
        ),
        aws.create(
            "aws:ec2/vpcEndpoint:VpcEndpoint",
            "s3",
            vpcId=vpc.id,
            serviceName="com.amazonaws.us-east-1.s3",
            vpcEndpointType="Gateway",
            routeTableIds=[table.id, other.id],
            tags={"Name": "s3"},
        ),
        aws.create(
            "aws:ec2/vpcEndpoint:VpcEndpoint",
            "ecr",
            vpcId=vpc.id,
            serviceName="com.amazonaws.us-east-1.ecr.api",
            vpcEndpointType="Interface",
            subnetIds=[subnet.id],
            securityGroupIds=[group.id],
            privateDnsEnabled=True,
        ),
        aws.create(
            TEMPLATE,
            blockDeviceMappings=[
                {
                    "deviceName": "/dev/xvda",
                    "ebs": {"encrypted": "true", "volumeSize": 100, "volumeType": "gp3"},
                }
            ],
            metadataOptions={"httpTokens": "required", "httpPutResponseHopLimit": 1},
            tagSpecifications=[{"resourceType": "instance", "tags": {"Name": "gpu"}}],
            tags={"Name": "gpu"},
        ),
        role,
        aws.create("aws:iam/rolePolicy:RolePolicy", role=role.id, policy=WRITE),
        aws.create("aws:iam/policy:Policy", policy=WRITE, description="d"),
        aws.create("aws:iam/instanceProfile:InstanceProfile", role=role.id),
        key,
        aws.create("aws:kms/alias:Alias", targetKeyId=key.id),
        aws.create("aws:cloudwatch/logGroup:LogGroup", retentionInDays=7, tags={"a": "b"}),
        bucket,
        *(aws.create(kind, bucket=bucket.id, **inputs) for kind, inputs in BUCKET_KINDS.items()),
    ]


def test_nothing_differs_after_a_refresh_and_all_goes_again(
    aws: Engine, network: dict[str, Made]
) -> None:
    made = make_all(aws, network)

    changed = {}
    for one in made:
        fresh = one.refreshed()
        differing = {
            name: (value, one.state.get(name))
            for name, value in fresh.state.items()
            if value != one.state.get(name)
        }
        # An association, a rule, an attachment made later shows in what it belongs to.
        differing.pop("attachmentCount", None)
        if (
            differing
            or fresh.diff(**one.inputs).changes
            or fresh.inputs.keys() != one.inputs.keys()
        ):
            changed[one.aws_type] = differing or fresh.inputs
    assert changed == {}

    for one in reversed(made):
        one.delete()
        one.delete()
    gone = [one.aws_type for one in made if "Default" not in one.aws_type and one.read()]
    assert set(gone) <= {"aws:ec2/subnet:Subnet", "aws:s3/bucketVersioning:BucketVersioning"}


def test_an_unknown_property_is_refused(aws: Engine) -> None:
    _, failures = aws.check(VPC, {"cidrBlok": "10.0.0.0/16"})

    assert failures == [
        "cidrBlok is no property that Pulumi passes to ec2 CreateVpc; did you mean cidrBlock"
    ]


def test_rejects_a_type_that_it_does_not_emulate_by_name() -> None:
    with pytest.raises(GangwayError, match="does not emulate aws:rds/instance:Instance"):
        kind_of("aws:rds/instance:Instance")


def test_a_childs_type_is_what_follows_its_parents() -> None:
    assert kind_of(f"eks:index:Cluster$eks:index:ServiceRole${ROLE}") is RESOURCE_TYPES[ROLE]


def test_rejects_a_function_that_it_does_not_have_by_name(aws: Engine) -> None:
    with pytest.raises(GangwayError, match="no function aws:ec2/getAmi:getAmi"):
        aws.invoke("aws:ec2/getAmi:getAmi")


def test_the_functions_that_pulumi_eks_calls_are_answered(aws: Engine) -> None:
    addon = "aws:eks/getAddonVersion:getAddonVersion"

    assert aws.invoke("aws:index/getPartition:getPartition")["partition"] == "aws"
    assert aws.invoke("aws:index/getRegion:getRegion")["region"] == "us-east-1"
    assert aws.invoke("aws:index/getCallerIdentity:getCallerIdentity")["accountId"].isdigit()
    version = aws.invoke(addon, addonName="vpc-cni", kubernetesVersion="1.35", mostRecent=True)
    assert version["version"].startswith("v1.21")


def test_a_region_is_asked_for(aws: Engine) -> None:
    request = engine.CheckRequest("urn:pulumi:dev::p::pulumi:providers:aws::d", {}, {}, b"")

    failures = asyncio.run(aws.provider.check_config(request)).failures

    assert failures
    assert "aws:region" in failures[0].reason


def test_a_preview_knows_the_inputs_and_what_only_aws_can_know_is_unknown(aws: Engine) -> None:
    foreseen = aws.foresee(VPC, cidrBlock="10.0.0.0/16")

    assert foreseen["cidrBlock"] == "10.0.0.0/16"
    assert foreseen["arn"] == UNKNOWN_TEXT
    assert foreseen["tagsAll"] == UNKNOWN_TEXT


def test_a_preview_leaves_what_aws_adds_to_an_object_unknown(aws: Engine) -> None:
    foreseen = aws.foresee("aws:eks/cluster:Cluster", vpcConfig={"subnetIds": ["subnet-1"]})

    assert foreseen["vpcConfig"]["subnetIds"] == ["subnet-1"]
    assert foreseen["vpcConfig"]["vpcId"] == UNKNOWN_TEXT


def test_a_name_is_made_up_once_and_kept(aws: Engine) -> None:
    first, _ = aws.check(TEMPLATE, {}, name="gpu")
    again, _ = aws.check(TEMPLATE, {}, name="gpu", old=first | {"x": 1})

    assert first["name"].startswith("gpu-")
    assert again["name"] == first["name"]


def test_a_bucket_name_is_made_up_in_small_letters(aws: Engine) -> None:
    assert aws.check("aws:s3/bucket:Bucket", {}, name="Results")[0]["bucket"].startswith("results-")


def test_an_alias_begins_as_kms_wants_it(aws: Engine) -> None:
    inputs, _ = aws.check("aws:kms/alias:Alias", {"targetKeyId": "k"}, name="secrets")

    assert inputs["name"].startswith("alias/secrets-")


def test_a_prefix_is_the_beginning_of_a_name_made_at_creation(aws: Engine) -> None:
    made = aws.create(TEMPLATE, namePrefix="gpu-")

    assert "name" not in made.inputs
    assert made["name"].startswith("gpu-2")


@pytest.mark.parametrize(
    ("change", "replaced"),
    [
        pytest.param({"cidrBlock": "10.9.0.0/16"}, ["cidrBlock"], id="the address range"),
        pytest.param({"enableDnsHostnames": False}, [], id="an attribute"),
        pytest.param({"tags": {"Name": "other"}}, [], id="a tag"),
    ],
)
def test_a_change_replaces_only_where_the_provider_would(
    aws: Engine, change: dict[str, Any], replaced: list[str]
) -> None:
    vpc = aws.create(VPC, cidrBlock="10.8.0.0/16", enableDnsHostnames=True)

    diff = vpc.diff(**change)

    assert diff.changes
    assert diff.replaces == replaced
    vpc.delete()


def test_a_fixed_name_is_deleted_before_it_is_replaced(aws: Engine) -> None:
    policy = trust("ec2.amazonaws.com")
    fixed = aws.create(ROLE, name=f"fixed-{aws.number}", assumeRolePolicy=policy)
    free = aws.create(ROLE, "free", assumeRolePolicy=policy)

    assert fixed.diff(path="/other/").delete_before_replace
    assert not free.diff(path="/other/").delete_before_replace


def test_the_same_policy_in_another_spelling_is_no_change(aws: Engine) -> None:
    role = aws.create(ROLE, "spelled", assumeRolePolicy=trust("ec2.amazonaws.com"))
    spaced = trust("ec2.amazonaws.com").replace(": ", ":  ")

    assert not role.diff(assumeRolePolicy=spaced).changes


def test_a_change_by_hand_shows_in_a_refresh_and_is_undone_by_an_update(aws: Engine) -> None:
    vpc = aws.create(VPC, cidrBlock="10.7.0.0/16", tags={"Name": "it"})
    aws.account.client("ec2").create_tags(
        Resources=[vpc.id], Tags=[{"Key": "Name", "Value": "edited"}]
    )

    fresh = vpc.refreshed()

    assert fresh.inputs["tags"] == {"Name": "edited"}
    assert fresh.diff(tags={"Name": "it"}).changes
    assert fresh.update(tags={"Name": "it"}).refreshed().inputs["tags"] == {"Name": "it"}


def test_a_thing_deleted_by_hand_is_gone_for_a_refresh(aws: Engine) -> None:
    vpc = aws.create(VPC, cidrBlock="10.6.0.0/16")
    aws.account.client("ec2").delete_vpc(VpcId=vpc.id)

    assert vpc.read() is None


def test_a_thing_can_be_imported_by_its_id(aws: Engine) -> None:
    vpc = aws.create(VPC, cidrBlock="10.5.0.0/16", enableDnsHostnames=True, tags={"Name": "it"})

    found = vpc.imported()

    assert found.inputs["cidrBlock"] == "10.5.0.0/16"
    assert found.inputs["enableDnsHostnames"] is True
    assert found.state == vpc.state | {"region": "us-east-1"}


def test_what_an_interrupted_run_left_is_met_again_under_a_fixed_name(aws: Engine) -> None:
    policy = trust("ec2.amazonaws.com")
    aws.create(ROLE, name=f"left-{aws.number}", assumeRolePolicy=policy)  # the answer was lost

    with pytest.raises(GangwayError, match="EntityAlreadyExists"):
        aws.create(ROLE, name=f"left-{aws.number}", assumeRolePolicy=policy)


def test_a_role_may_be_given_as_a_resource(aws: Engine) -> None:
    role = aws.create(ROLE, "referenced", assumeRolePolicy=trust("ec2.amazonaws.com"))

    made = aws.create(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        role=role.id,
        policyArn="arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
    )

    assert made.refreshed()["role"] == role.id


def test_a_launch_template_gets_a_new_version_with_each_change(aws: Engine) -> None:
    template = aws.create(TEMPLATE, metadataOptions={"httpTokens": "optional"})

    changed = template.update(metadataOptions={"httpTokens": "required"})

    assert template["latestVersion"] == 1
    assert changed["latestVersion"] == 2


def test_inputs_are_kept_as_given_on_the_way_to_the_engine() -> None:
    values = {"a": 1, "b": 1.5, "c": True, "d": ["x"], "e": {"f": None, "g": ""}}

    assert plain_map(wrapped_map(values)) == {
        "a": 1,
        "b": 1.5,
        "c": True,
        "d": ["x"],
        "e": {"g": ""},
    }
