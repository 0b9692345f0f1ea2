"""How each Pulumi aws type's properties reach the AWS API: the call that creates it, as data.

A property that bears the name of a member of the call's input needs no entry (capitals do not
count). The others name their member here; the syntax of a target:

* `Member.Inner[].Leaf` a path from the call's input; `[]` steps into a list's element.
* `.member` a path from the member that holds the property's own parent.
* `Operation:Path` or `service.Operation:Path` another call that takes the property.
* `*PATH` each element of the property's list goes to PATH.
* `PROVIDER` the provider's own: only its Pulumi type is checked.

A tuple of targets is checked against each.
"""

from collections.abc import Mapping
from typing import Any, Final

from infra.preview.aws_call import PROVIDER, CreateCall, Target


def _ec2(operation: str, *, under: str = "", filled: str = "", **targets: Target) -> CreateCall:
    return _call("ec2", operation, under=under, filled=filled, targets=targets)


def _call(
    service: str,
    operation: str,
    *,
    targets: Mapping[str, Target] | None = None,
    under: str = "",
    filled: str = "",
    documented: Mapping[str, Mapping[str, object]] | None = None,
) -> CreateCall:
    return CreateCall(
        service=service,
        operation=operation,
        under=under,
        targets=targets or {},
        filled=frozenset(filled.split()),
        documented=documented or {},
    )


def _named(member: str) -> dict[str, Any]:
    return {"name": member, "namePrefix": PROVIDER}


def _permission(operation: str, prefix: str = "") -> dict[str, Any]:
    """Return where the classic rule block's properties go in an EC2 IpPermission."""
    permission = f"{operation}:IpPermissions[]"
    return {
        f"{prefix}protocol": f"{permission}.IpProtocol",
        f"{prefix}fromPort": f"{permission}.FromPort",
        f"{prefix}toPort": f"{permission}.ToPort",
        f"{prefix}cidrBlocks": f"*{permission}.IpRanges[].CidrIp",
        f"{prefix}ipv6CidrBlocks": f"*{permission}.Ipv6Ranges[].CidrIpv6",
        f"{prefix}prefixListIds": f"*{permission}.PrefixListIds[].PrefixListId",
        f"{prefix}description": f"{permission}.IpRanges[].Description",
        f"{prefix}self": PROVIDER,
    }


def _rule_blocks() -> dict[str, Any]:
    blocks: dict[str, Any] = {"revokeRulesOnDelete": PROVIDER}
    for block, operation in (
        ("ingress", "AuthorizeSecurityGroupIngress"),
        ("egress", "AuthorizeSecurityGroupEgress"),
    ):
        groups = f"*{operation}:IpPermissions[].UserIdGroupPairs[].GroupId"
        blocks |= {block: PROVIDER, f"{block}.securityGroups": groups}
        blocks |= _permission(operation, f"{block}.")
    return blocks


def _rule(operation: str) -> CreateCall:
    permission = f"{operation}:IpPermissions[]"
    return _ec2(
        operation,
        securityGroupId="GroupId",
        cidrIpv4=f"{permission}.IpRanges[].CidrIp",
        cidrIpv6=f"{permission}.Ipv6Ranges[].CidrIpv6",
        description=f"{permission}.IpRanges[].Description",
        prefixListId=f"{permission}.PrefixListIds[].PrefixListId",
        referencedSecurityGroupId=f"{permission}.UserIdGroupPairs[].GroupId",
    )


def _modified(operation: str, *members: str) -> dict[str, Any]:
    """Return targets of boolean properties that an attribute call of EC2 takes one by one."""
    return {member[0].lower() + member[1:]: f"{operation}:{member}.Value" for member in members}


# docs.aws.amazon.com/AmazonCloudWatchLogs/latest/APIReference/API_PutRetentionPolicy.html;
# 0 is Pulumi's word for "never expire", for which no call is made.
_RETENTION_DAYS = (
    *(0, 1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365, 400, 545, 731, 1096, 1827),
    *(2192, 2557, 2922, 3288, 3653),
)

_INGRESS = "AuthorizeSecurityGroupIngress"

CREATE_CALLS: Final[Mapping[str, CreateCall]] = {
    "aws:ec2/vpc:Vpc": _ec2(
        "CreateVpc",
        assignGeneratedIpv6CidrBlock="AmazonProvidedIpv6CidrBlock",
        **_modified(
            "ModifyVpcAttribute",
            "EnableDnsHostnames",
            "EnableDnsSupport",
            "EnableNetworkAddressUsageMetrics",
        ),
    ),
    "aws:ec2/subnet:Subnet": _ec2(
        "CreateSubnet",
        customerOwnedIpv4Pool="ModifySubnetAttribute:CustomerOwnedIpv4Pool",
        enableLniAtDeviceIndex="ModifySubnetAttribute:EnableLniAtDeviceIndex",
        privateDnsHostnameTypeOnLaunch="ModifySubnetAttribute:PrivateDnsHostnameTypeOnLaunch",
        **_modified(
            "ModifySubnetAttribute",
            "AssignIpv6AddressOnCreation",
            "EnableDns64",
            "EnableResourceNameDnsARecordOnLaunch",
            "MapCustomerOwnedIpOnLaunch",
            "MapPublicIpOnLaunch",
        )
        | {
            "enableResourceNameDnsAaaaRecordOnLaunch": (
                "ModifySubnetAttribute:EnableResourceNameDnsAAAARecordOnLaunch.Value"
            )
        },
    ),
    "aws:ec2/internetGateway:InternetGateway": _ec2(
        "CreateInternetGateway", vpcId="AttachInternetGateway:VpcId"
    ),
    "aws:ec2/eip:Eip": _ec2(
        "AllocateAddress",
        associateWithPrivateIp="AssociateAddress:PrivateIpAddress",
        instance="AssociateAddress:InstanceId",
        networkInterface="AssociateAddress:NetworkInterfaceId",
    ),
    "aws:ec2/natGateway:NatGateway": _ec2("CreateNatGateway", privateIp="PrivateIpAddress"),
    "aws:ec2/routeTable:RouteTable": _ec2(
        "CreateRouteTable",
        propagatingVgws="*EnableVgwRoutePropagation:GatewayId",
        routes=PROVIDER,
        **{
            "routes.cidrBlock": "CreateRoute:DestinationCidrBlock",
            "routes.ipv6CidrBlock": "CreateRoute:DestinationIpv6CidrBlock",
            "routes.destinationPrefixListId": "CreateRoute:DestinationPrefixListId",
            "routes.egressOnlyGatewayId": "CreateRoute:EgressOnlyInternetGatewayId",
            "routes.carrierGatewayId": "CreateRoute:CarrierGatewayId",
            "routes.coreNetworkArn": "CreateRoute:CoreNetworkArn",
            "routes.gatewayId": "CreateRoute:GatewayId",
            "routes.localGatewayId": "CreateRoute:LocalGatewayId",
            "routes.natGatewayId": "CreateRoute:NatGatewayId",
            "routes.networkInterfaceId": "CreateRoute:NetworkInterfaceId",
            "routes.odbNetworkArn": "CreateRoute:OdbNetworkArn",
            "routes.transitGatewayId": "CreateRoute:TransitGatewayId",
            "routes.vpcEndpointId": "CreateRoute:VpcEndpointId",
            "routes.vpcPeeringConnectionId": "CreateRoute:VpcPeeringConnectionId",
        },
    ),
    "aws:ec2/route:Route": _ec2("CreateRoute", egressOnlyGatewayId="EgressOnlyInternetGatewayId"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _ec2("AssociateRouteTable"),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _ec2(
        "CreateVpcEndpoint", autoAccept=PROVIDER, policy="PolicyDocument"
    ),
    "aws:ec2/securityGroup:SecurityGroup": _ec2(
        "CreateSecurityGroup",
        filled="GroupName Description",
        **(_rule_blocks() | _named("GroupName")),
    ),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": _ec2(
        "DescribeSecurityGroups", vpcId=PROVIDER, **_rule_blocks()
    ),
    "aws:ec2/securityGroupRule:SecurityGroupRule": _ec2(
        _INGRESS,
        type=PROVIDER,
        securityGroupId="GroupId",
        sourceSecurityGroupId=f"{_INGRESS}:IpPermissions[].UserIdGroupPairs[].GroupId",
        **_permission(_INGRESS),
    ),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _rule(_INGRESS),
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _rule(
        "AuthorizeSecurityGroupEgress"
    ),
    "aws:ec2/launchTemplate:LaunchTemplate": _ec2(
        "CreateLaunchTemplate",
        under="LaunchTemplateData",
        filled="LaunchTemplateName",
        defaultVersion=PROVIDER,
        updateDefaultVersion=PROVIDER,
        description="VersionDescription",
        securityGroupNames="LaunchTemplateData.SecurityGroups",
        vpcSecurityGroupIds="LaunchTemplateData.SecurityGroupIds",
        **{
            "networkInterfaces.ipv4AddressCount": ".SecondaryPrivateIpAddressCount",
            "networkInterfaces.ipv4Addresses": "*.PrivateIpAddresses[].PrivateIpAddress",
            "networkInterfaces.ipv4Prefixes": "*.Ipv4Prefixes[].Ipv4Prefix",
            "networkInterfaces.ipv6Addresses": "*.Ipv6Addresses[].Ipv6Address",
            "networkInterfaces.ipv6Prefixes": "*.Ipv6Prefixes[].Ipv6Prefix",
            "networkInterfaces.securityGroups": ".Groups",
            "secondaryInterfaces.privateIpAddresses": "*.PrivateIpAddresses[].PrivateIpAddress",
            "tagSpecifications.tags": PROVIDER,
        },
        **_named("LaunchTemplateName"),
    ),
    "aws:ec2/flowLog:FlowLog": _ec2(
        "CreateFlowLogs",
        filled="ResourceIds ResourceType",
        eniId="ResourceIds[]",
        iamRoleArn="DeliverLogsPermissionArn",
        regionalNatGatewayId="ResourceIds[]",
        subnetId="ResourceIds[]",
        transitGatewayAttachmentId="ResourceIds[]",
        transitGatewayId="ResourceIds[]",
        vpcId="ResourceIds[]",
    ),
    "aws:iam/role:Role": _call(
        "iam",
        "CreateRole",
        filled="RoleName",
        targets={
            "assumeRolePolicy": "AssumeRolePolicyDocument",
            "forceDetachPolicies": PROVIDER,
            "inlinePolicies": PROVIDER,
            "inlinePolicies.name": "PutRolePolicy:PolicyName",
            "inlinePolicies.policy": "PutRolePolicy:PolicyDocument",
            "managedPolicyArns": "*AttachRolePolicy:PolicyArn",
            **_named("RoleName"),
        },
    ),
    "aws:iam/rolePolicy:RolePolicy": _call(
        "iam",
        "PutRolePolicy",
        filled="PolicyName",
        targets={"policy": "PolicyDocument", "role": "RoleName", **_named("PolicyName")},
    ),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _call(
        "iam", "AttachRolePolicy", targets={"role": "RoleName"}
    ),
    "aws:iam/policy:Policy": _call(
        "iam",
        "CreatePolicy",
        filled="PolicyName",
        targets={
            "delayAfterPolicyCreationInMs": PROVIDER,
            "policy": "PolicyDocument",
            **_named("PolicyName"),
        },
    ),
    "aws:iam/instanceProfile:InstanceProfile": _call(
        "iam",
        "CreateInstanceProfile",
        filled="InstanceProfileName",
        targets={
            "role": "AddRoleToInstanceProfile:RoleName",
            **_named("InstanceProfileName"),
        },
    ),
    "aws:eks/cluster:Cluster": _call(
        "eks",
        "CreateCluster",
        filled="name",
        targets={
            "defaultAddonsToRemoves": PROVIDER,
            "enabledClusterLogTypes": "*logging.clusterLogging[].types[]",
            "forceUpdateVersion": PROVIDER,
            "kubernetesNetworkConfig.serviceIpv6Cidr": PROVIDER,
            "vpcConfig": "resourcesVpcConfig",
            "vpcConfig.clusterSecurityGroupId": PROVIDER,
            "vpcConfig.vpcId": PROVIDER,
        },
    ),
    "aws:eks/nodeGroup:NodeGroup": _call(
        "eks",
        "CreateNodegroup",
        filled="nodegroupName",
        targets={
            "forceUpdateVersion": PROVIDER,
            "instanceTypes": ("instanceTypes", "*ec2.RunInstances:InstanceType"),
            "nodeGroupNamePrefix": PROVIDER,
            "nodeRoleArn": "nodeRole",
            "subnetIds": "subnets",
            "remoteAccess.sourceSecurityGroupIds": ".sourceSecurityGroups",
        },
    ),
    "aws:eks/addon:Addon": _call(
        "eks",
        "CreateAddon",
        targets={
            "preserve": "DeleteAddon:preserve",
            "resolveConflictsOnCreate": "resolveConflicts",
            "resolveConflictsOnUpdate": "UpdateAddon:resolveConflicts",
        },
    ),
    "aws:eks/accessEntry:AccessEntry": _call("eks", "CreateAccessEntry"),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": _call(
        "eks", "AssociateAccessPolicy"
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _call(
        "eks", "CreatePodIdentityAssociation"
    ),
    "aws:autoscaling/tag:Tag": _call(
        "autoscaling",
        "CreateOrUpdateTags",
        targets={"autoscalingGroupName": "Tags[].ResourceId", "tag": "Tags[]"},
    ),
    "aws:kms/key:Key": _call(
        "kms",
        "CreateKey",
        targets={
            "deletionWindowInDays": "ScheduleKeyDeletion:PendingWindowInDays",
            "enableKeyRotation": PROVIDER,
            "isEnabled": PROVIDER,
            "rotationPeriodInDays": "EnableKeyRotation:RotationPeriodInDays",
        },
        # docs.aws.amazon.com/kms/latest/APIReference/API_ScheduleKeyDeletion.html
        documented={"deletionWindowInDays": {"type": "integer", "min": 7, "max": 30}},
    ),
    "aws:kms/alias:Alias": _call(
        "kms", "CreateAlias", filled="AliasName", targets=_named("AliasName")
    ),
    "aws:cloudwatch/logGroup:LogGroup": _call(
        "logs",
        "CreateLogGroup",
        filled="logGroupName",
        targets={
            "retentionInDays": "PutRetentionPolicy:retentionInDays",
            "skipDestroy": PROVIDER,
            **_named("logGroupName"),
        },
        documented={"retentionInDays": {"type": "integer", "values": _RETENTION_DAYS}},
    ),
    "aws:s3/bucket:Bucket": _call(
        "s3",
        "CreateBucket",
        filled="Bucket",
        targets={
            "bucketPrefix": PROVIDER,
            "forceDestroy": PROVIDER,
            "objectLockEnabled": "ObjectLockEnabledForBucket",
            "requestPayer": "PutBucketRequestPayment:RequestPaymentConfiguration.Payer",
            "accelerationStatus": (
                "PutBucketAccelerateConfiguration:AccelerateConfiguration.Status"
            ),
            # Deprecated in favour of resources of their own, which are checked.
            **dict.fromkeys(
                (
                    "corsRules",
                    "grants",
                    "lifecycleRules",
                    "logging",
                    "objectLockConfiguration",
                    "policy",
                    "replicationConfiguration",
                    "serverSideEncryptionConfiguration",
                    "versioning",
                    "website",
                ),
                PROVIDER,
            ),
        },
    ),
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _call(
        "s3",
        "PutPublicAccessBlock",
        under="PublicAccessBlockConfiguration",
        targets={"bucket": "Bucket", "skipDestroy": PROVIDER},
    ),
    "aws:s3/bucketVersioning:BucketVersioning": _call(
        "s3", "PutBucketVersioning", targets={"versioningConfiguration.mfaDelete": ".MFADelete"}
    ),
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": _call(
        "s3",
        "PutBucketEncryption",
        under="ServerSideEncryptionConfiguration",
        targets={
            "bucket": "Bucket",
            "expectedBucketOwner": "ExpectedBucketOwner",
            "rules.applyServerSideEncryptionByDefault.kmsMasterKeyId": ".KMSMasterKeyID",
            "rules.blockedEncryptionTypes": "*.BlockedEncryptionTypes.EncryptionType[]",
        },
    ),
    "aws:s3/bucketPolicy:BucketPolicy": _call("s3", "PutBucketPolicy"),
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _call(
        "s3",
        "PutBucketLifecycleConfiguration",
        under="LifecycleConfiguration",
        targets={
            "bucket": "Bucket",
            "expectedBucketOwner": "ExpectedBucketOwner",
            "timeouts": PROVIDER,
            "transitionDefaultMinimumObjectSize": "TransitionDefaultMinimumObjectSize",
            "rules.filter.and.tags": PROVIDER,
        },
    ),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _call(
        "s3",
        "PutBucketOwnershipControls",
        under="OwnershipControls",
        targets={"bucket": "Bucket", "rule": "OwnershipControls.Rules[]"},
    ),
}
"""One entry for each aws type that the stack and pulumi-eks use.

Sources: the botocore model for the calls, the Pulumi registry's resource pages for the rest.
"""
