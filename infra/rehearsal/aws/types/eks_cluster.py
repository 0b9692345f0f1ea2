"""The EKS cluster: moto holds it, the local control plane answers for it."""

import datetime
import hashlib
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.refusals import AwsError
from infra.rehearsal.aws.resource import (
    Naming,
    Properties,
    ResourceType,
    found_or_none,
    if_there,
    words,
)
from infra.rehearsal.aws.types.ec2_base import delete_interface, given
from infra.rehearsal.aws.types.iam import trusts
from infra.rehearsal.state import StateFolder

CLUSTER = "cluster"
NODE_GROUP = "node-group"
ADDON = "addon"
ACCESS_ENTRY = "access-entry"
ACCESS_POLICY = "access-policy"
POD_IDENTITY = "pod-identity"

_FEWEST_ZONES = 2
_VERSIONS = ("1.31", "1.32", "1.33", "1.34", "1.35", "1.36")
_DEFAULT_VERSION = "1.35"
_SET_BY_THE_PROGRAM = words(
    "accessConfig bootstrapSelfManagedAddons computeConfig controlPlaneScalingConfig"
    " deletionProtection enabledClusterLogTypes encryptionConfig kubernetesNetworkConfig"
    " kubeApiServerConfig kubeControllerManagerConfig kubeSchedulerConfig remoteNetworkConfig"
    " storageConfig upgradePolicy vpcConfig zonalShiftConfig tags"
)


def cluster_record(account: Account, operation: str, name: str) -> dict[str, Any]:
    """Return a cluster's record, or refuse as EKS does when there is no such cluster."""
    record = account.store.get(CLUSTER, name)
    if record is None or found_or_none(account.client("eks").describe_cluster, name=name) is None:
        raise AwsError(
            operation=operation,
            code="ResourceNotFoundException",
            reason=f"No cluster found for name: {name}.",
        )
    return record


def invalid(*, operation: str, reason: str) -> AwsError:
    """Return EKS's refusal of a parameter."""
    return AwsError(operation=operation, code="InvalidParameterException", reason=reason)


class Cluster(ResourceType):
    """An EKS cluster with its security group and its interfaces in the subnets."""

    aws_type = "aws:eks/cluster:Cluster"
    outputs = (
        "arn",
        "certificateAuthority",
        "clusterId",
        "createdAt",
        "endpoint",
        "identities",
        "platformVersion",
        "status",
    )
    nested_outputs = ("vpcConfig.clusterSecurityGroupId", "vpcConfig.vpcId")
    naming = Naming(longest=100)
    # terraform-provider-aws internal/service/eks/cluster.go: ForceNew
    replaces = words(
        "accessConfig.bootstrapClusterCreatorAdminPermissions bootstrapSelfManagedAddons"
        " encryptionConfig kubernetesNetworkConfig.ipFamily"
        " kubernetesNetworkConfig.serviceIpv4Cidr name outpostConfig roleArn"
    )

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        name: str = inputs["name"]
        self._refuse(account, inputs)
        vpc = inputs["vpcConfig"]
        version = inputs.get("version") or _DEFAULT_VERSION
        account.client("eks").create_cluster(
            name=name,
            roleArn=inputs["roleArn"],
            version=version,
            resourcesVpcConfig=given(
                subnetIds=vpc["subnetIds"],
                securityGroupIds=vpc.get("securityGroupIds"),
                endpointPublicAccess=vpc.get("endpointPublicAccess"),
                endpointPrivateAccess=vpc.get("endpointPrivateAccess"),
                publicAccessCidrs=vpc.get("publicAccessCidrs"),
            ),
            tags=inputs.get("tags") or {},
        )
        account.store.put(
            CLUSTER,
            name,
            {
                **{key: inputs[key] for key in _SET_BY_THE_PROGRAM if key in inputs},
                "createdAt": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
                "version": version,
                **self._network(account, name, vpc),
            },
        )
        self._make_log_group(account, name, inputs)
        return name

    def _refuse(self, account: Account, inputs: Properties) -> None:
        vpc = inputs["vpcConfig"]
        subnets = account.client("ec2").describe_subnets(SubnetIds=vpc["subnetIds"])["Subnets"]
        if len({subnet["AvailabilityZone"] for subnet in subnets}) < _FEWEST_ZONES:
            raise invalid(
                operation="CreateCluster",
                reason="Subnets specified must be in at least two different AZs",
            )
        if not trusts(account, inputs["roleArn"], "eks.amazonaws.com"):
            raise invalid(
                operation="CreateCluster",
                reason=f"The role {inputs['roleArn']} could not be assumed because it does not"
                " exist or the trusted entity is not correct",
            )
        if inputs.get("version") and inputs["version"] not in _VERSIONS:
            raise invalid(
                operation="CreateCluster",
                reason=f"unsupported Kubernetes version {inputs['version']}",
            )
        _refuse_endpoints("CreateCluster", vpc)
        encryption = inputs.get("encryptionConfig")
        if encryption:
            _refuse_missing_key(account, encryption["provider"]["keyArn"])

    def _network(self, account: Account, name: str, vpc: Properties) -> dict[str, Any]:
        """Make what EKS makes: a group for control plane and nodes, an interface a subnet."""
        ec2 = account.client("ec2")
        subnets = ec2.describe_subnets(SubnetIds=vpc["subnetIds"])["Subnets"]
        vpc_id = subnets[0]["VpcId"]
        digest = str(int(hashlib.sha256(name.encode()).hexdigest()[:8], 16))
        group = ec2.create_security_group(
            GroupName=f"eks-cluster-sg-{name}-{digest}",
            Description=(
                "EKS created security group applied to ENI that is attached to EKS Control Plane"
                " master nodes, as well as any managed workloads."
            ),
            VpcId=vpc_id,
        )["GroupId"]
        for subnet in vpc["subnetIds"]:
            ec2.create_network_interface(
                SubnetId=subnet,
                Groups=[group, *(vpc.get("securityGroupIds") or ())],
                Description=f"Amazon EKS {name}",
            )
        return {"clusterSecurityGroupId": group, "vpcId": vpc_id}

    def _make_log_group(self, account: Account, name: str, inputs: Properties) -> None:
        """Make the log group as EKS does when none is there; it stays when the cluster goes."""
        if not inputs.get("enabledClusterLogTypes"):
            return
        logs = account.client("logs")
        group = f"/aws/eks/{name}/cluster"
        if not logs.describe_log_groups(logGroupNamePrefix=group)["logGroups"]:
            logs.create_log_group(logGroupName=group)

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        found = found_or_none(account.client("eks").describe_cluster, name=resource_id)
        record = account.store.get(CLUSTER, resource_id)
        if found is None or record is None:
            return None
        cluster, vpc = found["cluster"], record["vpcConfig"]
        control_plane = StateFolder(account.state_dir).section("kubernetes")
        tags = record.get("tags") or {}
        return {
            "accessConfig": {"authenticationMode": "CONFIG_MAP"}
            | (record.get("accessConfig") or {}),
            "arn": cluster["arn"],
            "certificateAuthority": {
                "data": control_plane["ca_pem_base64"]
                if control_plane
                else cluster["certificateAuthority"]["data"]
            },
            "createdAt": record["createdAt"],
            "deletionProtection": bool(record.get("deletionProtection")),
            "enabledClusterLogTypes": record.get("enabledClusterLogTypes") or [],
            "endpoint": control_plane["endpoint"] if control_plane else cluster["endpoint"],
            "identities": [{"oidcs": [{"issuer": cluster["identity"]["oidc"]["issuer"]}]}],
            "kubernetesNetworkConfig": {
                "ipFamily": "ipv4",
                "serviceIpv4Cidr": "172.20.0.0/16",
            }
            | (record.get("kubernetesNetworkConfig") or {}),
            "name": resource_id,
            "platformVersion": "eks.1",
            "roleArn": cluster["roleArn"],
            "status": "ACTIVE",
            "tags": tags,
            "tagsAll": tags,
            "upgradePolicy": {"supportType": "EXTENDED"} | (record.get("upgradePolicy") or {}),
            "version": record["version"],
            "vpcConfig": {
                **vpc,
                "clusterSecurityGroupId": record["clusterSecurityGroupId"],
                "vpcId": record["vpcId"],
            },
            **{
                key: record[key]
                for key in ("encryptionConfig", "bootstrapSelfManagedAddons")
                if key in record
            },
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        record = cluster_record(account, "UpdateClusterConfig", resource_id)
        version = new.get("version") or record["version"]
        _refuse_version_jump(record["version"], version)
        _refuse_endpoints("UpdateClusterConfig", new["vpcConfig"])
        _refuse_mode_change(record.get("accessConfig") or {}, new.get("accessConfig") or {})
        changed = {key: new.get(key) for key in _SET_BY_THE_PROGRAM}
        account.store.put(CLUSTER, resource_id, record | changed | {"version": version})

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        record = account.store.get(CLUSTER, resource_id) or {}
        if record.get("deletionProtection"):
            raise AwsError(
                operation="DeleteCluster",
                code="InvalidRequestException",
                reason=f"The cluster {resource_id} cannot be deleted because deletion protection is"
                " enabled",
            )
        groups = [
            name for name in account.store.all(NODE_GROUP) if name.startswith(f"{resource_id}:")
        ]
        if groups:
            raise AwsError(
                operation="DeleteCluster",
                code="ResourceInUseException",
                reason="Cluster has nodegroups attached",
            )
        if_there(account.client("eks").delete_cluster, name=resource_id)
        self._forget(account, resource_id, record)

    def _forget(self, account: Account, name: str, record: Mapping[str, Any]) -> None:
        for kind in (ADDON, ACCESS_ENTRY, ACCESS_POLICY):
            for thing in account.store.all(kind):
                if thing.startswith(f"{name}:"):
                    account.store.remove(kind, thing)
        for association, body in account.store.all(POD_IDENTITY).items():
            if body["clusterName"] == name:
                account.store.remove(POD_IDENTITY, association)
        account.store.remove(CLUSTER, name)
        interfaces = account.client("ec2").describe_network_interfaces(
            Filters=[{"Name": "description", "Values": [f"Amazon EKS {name}"]}]
        )["NetworkInterfaces"]
        for interface in interfaces:
            delete_interface(account, interface["NetworkInterfaceId"])
        if record.get("clusterSecurityGroupId"):
            if_there(
                account.client("ec2").delete_security_group,
                GroupId=record["clusterSecurityGroupId"],
            )


def _refuse_endpoints(operation: str, vpc: Properties) -> None:
    public = vpc.get("endpointPublicAccess", True)
    if not public and not vpc.get("endpointPrivateAccess"):
        raise invalid(
            operation=operation, reason="Private and public endpoint access cannot be false"
        )
    if not public and set(vpc.get("publicAccessCidrs") or ()) - {"0.0.0.0/0"}:
        raise invalid(
            operation=operation,
            reason="publicAccessCidrs should not be provided when public access is disabled",
        )


def _refuse_missing_key(account: Account, arn: str) -> None:
    if account.arn("kms", "") not in arn:
        return  # a key of another account: nothing is known of it here
    if found_or_none(account.client("kms").describe_key, KeyId=arn) is None:
        raise invalid(
            operation="CreateCluster",
            reason=f"The keyArn in encryptionConfig provider is not valid: {arn}",
        )


def _refuse_version_jump(old: str, new: str) -> None:
    before, after = (tuple(map(int, version.split("."))) for version in (old, new))
    if before != after and (after[0], after[1]) != (before[0], before[1] + 1):
        raise invalid(
            operation="UpdateClusterVersion",
            reason=f"Unsupported Kubernetes minor version update from {old} to {new}",
        )


def _refuse_mode_change(old: Properties, new: Properties) -> None:
    order = ("CONFIG_MAP", "API_AND_CONFIG_MAP", "API")
    before = old.get("authenticationMode", "CONFIG_MAP")
    after = new.get("authenticationMode", before)
    if order.index(after) < order.index(before):
        raise AwsError(
            operation="UpdateClusterConfig",
            code="InvalidParameterException",
            reason=f"Unsupported authentication mode update from {before} to {after}",
        )
