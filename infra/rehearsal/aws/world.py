"""The emulated account as the rest of the rehearsal sees it: instances, spot, pod identities."""

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from infra.errors import GangwayError
from infra.rehearsal.aws.account import Account, remembered_region
from infra.rehearsal.aws.types.eks_cluster import NODE_GROUP, POD_IDENTITY
from infra.rehearsal.aws.types.iam import attached_policies

_EFFECTS: Final = {
    "NO_SCHEDULE": "NoSchedule",
    "NO_EXECUTE": "NoExecute",
    "PREFER_NO_SCHEDULE": "PreferNoSchedule",
}
# A node without one of these cannot call EKS, so it never joins
# (docs.aws.amazon.com/eks/latest/userguide/create-node-role.html).
_WORKER_POLICIES: Final = {"AmazonEKSWorkerNodePolicy", "AmazonEKSWorkerNodeMinimalPolicy"}
_ALIVE: Final = ("pending", "running")


@dataclass(frozen=True, kw_only=True, slots=True)
class Taint:
    """A taint in Kubernetes' spelling."""

    key: str
    value: str
    effect: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Instance:
    """A running EC2 instance of a managed node group, which is to be a node."""

    id: str
    type: str
    zone: str
    zone_id: str
    region: str
    cluster: str
    node_group: str
    capacity_type: str
    ami_type: str
    labels: Mapping[str, str]
    """The labels that the node group declares, without those that EKS adds."""
    taints: tuple[Taint, ...]
    private_dns_name: str
    private_ip: str
    launched: str

    @property
    def provider_id(self) -> str:
        """The id by which Kubernetes and the autoscaler know the instance."""
        return f"aws:///{self.zone}/{self.id}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Credentials:
    """Credentials of an assumed role."""

    access_key_id: str
    secret_access_key: str
    token: str
    expiration: str
    role_arn: str


class World:
    """The account of one rehearsal."""

    def __init__(self, account: Account) -> None:
        self._account = account

    @staticmethod
    @functools.cache
    def open(state_dir: Path) -> "World":
        """Open a rehearsal's account in the region it runs in; nothing is started."""
        return World(Account(state_dir=state_dir, region=remembered_region(state_dir)))

    def instances(self) -> tuple[Instance, ...]:
        """Return the instances of every node group that have joined or are to join, by id.

        The Auto Scaling groups are asked each time: whoever sets a desired size (the autoscaler,
        a hand, EKS) changes what is returned. Instances whose role cannot join are left out.
        """
        groups = {
            record["autoScalingGroup"]: (name, record)
            for name, record in self._account.store.all(NODE_GROUP).items()
        }
        if not groups:
            return ()
        members = self._members(groups)
        described = self._described(list(members))
        found = [
            _instance(self._account, one, *members[one["InstanceId"]])
            for one in described
            if one["State"]["Name"] in _ALIVE
        ]
        return tuple(sorted(found, key=lambda instance: instance.id))

    def _members(
        self, groups: Mapping[str, tuple[str, dict[str, Any]]]
    ) -> dict[str, tuple[str, dict[str, Any]]]:
        """Return node group name and record by instance id."""
        answer = self._account.client("autoscaling").describe_auto_scaling_groups(
            AutoScalingGroupNames=list(groups)
        )
        roles = {record["nodeRoleArn"] for _, record in groups.values()}
        can_join = {
            role: bool(attached_policies(self._account, role) & _WORKER_POLICIES) for role in roles
        }
        return {
            one["InstanceId"]: groups[group["AutoScalingGroupName"]]
            for group in answer["AutoScalingGroups"]
            for one in group["Instances"]
            if can_join[groups[group["AutoScalingGroupName"]][1]["nodeRoleArn"]]
        }

    def _described(self, ids: list[str]) -> list[Mapping[str, Any]]:
        if not ids:
            return []
        answer = self._account.client("ec2").describe_instances(InstanceIds=ids)
        return [one for entry in answer["Reservations"] for one in entry["Instances"]]

    def interrupt(self, instance_id: str) -> None:
        """Reclaim a spot instance: it ends, and its group starts another in its place."""
        self._account.client("autoscaling").terminate_instance_in_auto_scaling_group(
            InstanceId=instance_id, ShouldDecrementDesiredCapacity=False
        )

    def pod_identity_role(self, namespace: str, service_account: str) -> str | None:
        """Return the role that the pods of a service account get, None when there is none."""
        for record in self._account.store.all(POD_IDENTITY).values():
            if (record["namespace"], record["serviceAccount"]) == (namespace, service_account):
                role: str = record["roleArn"]
                return role
        return None

    def credentials(self, namespace: str, service_account: str, session: str) -> Credentials:
        """Assume the role of a service account's pods, as the pod identity agent does."""
        role = self.pod_identity_role(namespace, service_account)
        if role is None:
            message = (
                f"no pod identity association for service account {namespace}/{service_account}:"
                " its pods get no credentials"
            )
            raise GangwayError(message)
        given = self._account.client("sts").assume_role(RoleArn=role, RoleSessionName=session)
        found = given["Credentials"]
        return Credentials(
            access_key_id=found["AccessKeyId"],
            secret_access_key=found["SecretAccessKey"],
            token=found["SessionToken"],
            expiration=found["Expiration"].isoformat(),
            role_arn=role,
        )

    def leftovers(self) -> dict[str, list[str]]:
        """Return what is left in the account by kind, apart from what AWS itself provides."""
        return {kind: names for kind, names in _leftovers(self._account).items() if names}


def _instance(
    account: Account, one: Mapping[str, Any], name: str, record: Mapping[str, Any]
) -> Instance:
    cluster, node_group = name.split(":", 1)
    zone = one["Placement"]["AvailabilityZone"]
    return Instance(
        id=one["InstanceId"],
        type=one["InstanceType"],
        zone=zone,
        zone_id=_zone_ids(account).get(zone, ""),
        region=account.region,
        cluster=cluster,
        node_group=node_group,
        capacity_type=record["capacityType"],
        ami_type=record["amiType"],
        labels=dict(record.get("labels") or {}),
        taints=tuple(
            Taint(key=taint["key"], value=taint.get("value", ""), effect=_EFFECTS[taint["effect"]])
            for taint in record.get("taints") or ()
        ),
        private_dns_name=one["PrivateDnsName"],
        private_ip=one["PrivateIpAddress"],
        launched=one["LaunchTime"].isoformat(),
    )


_ZONE_IDS: dict[str, dict[str, str]] = {}


def _zone_ids(account: Account) -> dict[str, str]:
    if account.region not in _ZONE_IDS:
        zones = account.client("ec2").describe_availability_zones()["AvailabilityZones"]
        _ZONE_IDS[account.region] = {zone["ZoneName"]: zone["ZoneId"] for zone in zones}
    return _ZONE_IDS[account.region]


def _leftovers(account: Account) -> dict[str, list[str]]:
    kept = ("Enabled", "Disabled")
    kms = account.client("kms")
    states = [
        kms.describe_key(KeyId=key["KeyId"])["KeyMetadata"]
        for key in _all(account, "kms", "list_keys", "Keys")
    ]
    gates = _all(account, "ec2", "describe_nat_gateways", "NatGateways")
    vpcs = _all(account, "ec2", "describe_vpcs", "Vpcs")
    named = {
        "address": ("ec2", "describe_addresses", "Addresses", "AllocationId"),
        "Auto Scaling group": (
            "autoscaling",
            "describe_auto_scaling_groups",
            "AutoScalingGroups",
            "AutoScalingGroupName",
        ),
        "bucket": ("s3", "list_buckets", "Buckets", "Name"),
        "launch template": (
            "ec2",
            "describe_launch_templates",
            "LaunchTemplates",
            "LaunchTemplateName",
        ),
        "log group": ("logs", "describe_log_groups", "logGroups", "logGroupName"),
        "role": ("iam", "list_roles", "Roles", "RoleName"),
    }
    return {
        **{
            kind: [one[name] for one in _all(account, service, operation, key)]
            for kind, (service, operation, key, name) in named.items()
        },
        "cluster": account.client("eks").list_clusters()["clusters"],
        "key": [
            state["KeyId"]
            for state in states
            if state["KeyState"] in kept and state.get("KeyManager") == "CUSTOMER"
        ],
        "NAT gateway": [
            one["NatGatewayId"] for one in gates if one["State"] not in ("deleted", "deleting")
        ],
        "policy": [
            one["PolicyName"]
            for one in account.client("iam")
            .get_paginator("list_policies")
            .paginate(Scope="Local")
            .build_full_result()["Policies"]
        ],
        "VPC": [vpc["VpcId"] for vpc in vpcs if not vpc["IsDefault"]],
        **{kind: [f"{count} in the store"] for kind, count in account.store.kinds().items()},
    }


_PAGE_SIZES: Final = {"describe_launch_templates": 200}
"""moto shows 15 launch templates unless it is asked for more, and never a second page."""


def _all(account: Account, service: str, operation: str, key: str) -> list[Mapping[str, Any]]:
    """Every page of a listing: a first page alone would hide what is left behind it."""
    client = account.client(service)
    if not client.can_paginate(operation):
        found: list[Mapping[str, Any]] = getattr(client, operation)()[key]
        return found
    pages = client.get_paginator(operation).paginate(
        PaginationConfig={"PageSize": _PAGE_SIZES.get(operation)}
    )
    return list(pages.build_full_result().get(key, ()))
