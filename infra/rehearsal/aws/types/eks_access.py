"""Access entries, their policies, and pod identity associations."""

import datetime
import hashlib
from typing import Any

from typing_extensions import override

from infra.rehearsal.aws.account import ACCOUNT_ID, Account
from infra.rehearsal.aws.refusals import AwsError
from infra.rehearsal.aws.resource import Properties, ResourceType, found_or_none, words
from infra.rehearsal.aws.types.eks_cluster import (
    ACCESS_ENTRY,
    ACCESS_POLICY,
    POD_IDENTITY,
    cluster_record,
    invalid,
)
from infra.rehearsal.aws.types.iam import role_name

# docs.aws.amazon.com/eks/latest/userguide/access-policy-permissions.html
_POLICIES = words(
    "AmazonEKSAdminPolicy AmazonEKSAdminViewPolicy AmazonEKSAutoNodePolicy"
    " AmazonEKSBlockStorageClusterPolicy AmazonEKSBlockStoragePolicy"
    " AmazonEKSClusterAdminPolicy AmazonEKSClusterInsightsPolicy AmazonEKSComputeClusterPolicy"
    " AmazonEKSComputePolicy AmazonEKSEditPolicy AmazonEKSEventPolicy AmazonEKSHybridPolicy"
    " AmazonEKSLoadBalancingClusterPolicy AmazonEKSLoadBalancingPolicy"
    " AmazonEKSNetworkingClusterPolicy AmazonEKSNetworkingPolicy AmazonEKSSecretReaderPolicy"
    " AmazonEKSViewPolicy"
)
_POLICY_PREFIX = "arn:aws:eks::aws:cluster-access-policy/"


def now() -> str:
    """Return the time as EKS prints it."""
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")


def exists(account: Account, arn: str) -> bool:
    """Return whether a principal exists; one of another account is taken to."""
    if f":{ACCOUNT_ID}:role/" not in arn:
        return arn.startswith("arn:aws") and ":iam::" in arn
    return found_or_none(account.client("iam").get_role, RoleName=role_name(arn)) is not None


class AccessEntry(ResourceType):
    """Who may reach a cluster, and as whom."""

    aws_type = "aws:eks/accessEntry:AccessEntry"
    outputs = ("accessEntryArn", "createdAt", "modifiedAt")
    # terraform-provider-aws internal/service/eks/access_entry.go: ForceNew
    replaces = words("clusterName principalArn type")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        cluster, principal = inputs["clusterName"], inputs["principalArn"]
        record = cluster_record(account, "CreateAccessEntry", cluster)
        mode = (record.get("accessConfig") or {}).get("authenticationMode", "CONFIG_MAP")
        if mode == "CONFIG_MAP":
            raise AwsError(
                operation="CreateAccessEntry",
                code="InvalidRequestException",
                reason="The cluster's authentication mode must be set to one of [API,"
                " API_AND_CONFIG_MAP] to perform this operation.",
            )
        if not exists(account, principal):
            raise invalid(
                operation="CreateAccessEntry",
                reason=f"The specified principalArn is invalid: {principal}",
            )
        self._refuse_groups(inputs)
        body = self._body(inputs) | {"createdAt": now(), "modifiedAt": now()}
        if not account.store.add(ACCESS_ENTRY, f"{cluster}:{principal}", body):
            raise AwsError(
                operation="CreateAccessEntry",
                code="ResourceInUseException",
                reason="The specified access entry resource is already in use on this cluster.",
            )
        return f"{cluster}:{principal}"

    def _refuse_groups(self, inputs: Properties) -> None:
        for group in inputs.get("kubernetesGroups") or ():
            if group.startswith(("system:", "eks:")):
                prefix = group.split(":")[0]
                raise invalid(
                    operation="CreateAccessEntry",
                    reason=f"The kubernetes group name {group} is invalid, it cannot start with"
                    f" {prefix}:",
                )

    def _body(self, inputs: Properties) -> Properties:
        names = ("kubernetesGroups", "tags", "type", "userName")
        return {name: inputs[name] for name in names if inputs.get(name) is not None}

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        cluster, principal = resource_id.split(":", 1)
        record = account.store.get(ACCESS_ENTRY, resource_id)
        if record is None:
            return None
        tags = record.get("tags") or {}
        role = role_name(principal)
        digest = hashlib.sha256(resource_id.encode()).hexdigest()[:32]
        return {
            "accessEntryArn": account.arn(
                "eks", f"access-entry/{cluster}/role/{ACCOUNT_ID}/{role}/{digest}"
            ),
            "clusterName": cluster,
            "createdAt": record["createdAt"],
            "kubernetesGroups": record.get("kubernetesGroups") or [],
            "modifiedAt": record["modifiedAt"],
            "principalArn": principal,
            "tags": tags,
            "tagsAll": tags,
            "type": record.get("type", "STANDARD"),
            "userName": record.get(
                "userName",
                f"arn:aws:sts::{ACCOUNT_ID}:assumed-role/{role}/{{{{SessionName}}}}",
            ),
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        self._refuse_groups(new)
        record = account.store.get(ACCESS_ENTRY, resource_id) or {}
        kept = {"createdAt": record.get("createdAt", now()), "modifiedAt": now()}
        account.store.put(ACCESS_ENTRY, resource_id, self._body(new) | kept)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        account.store.remove(ACCESS_ENTRY, resource_id)
        cluster, principal = resource_id.split(":", 1)
        for name in account.store.all(ACCESS_POLICY):
            if name.startswith(f"{cluster}:{principal}#"):
                account.store.remove(ACCESS_POLICY, name)


class AccessPolicyAssociation(ResourceType):
    """What an access entry may do."""

    aws_type = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"
    has_tags = False
    outputs = ("associatedAt", "modifiedAt")
    # terraform-provider-aws internal/service/eks/access_policy_association.go: ForceNew
    replaces = words("accessScope clusterName policyArn principalArn")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        cluster, principal = inputs["clusterName"], inputs["principalArn"]
        policy = inputs["policyArn"]
        cluster_record(account, "AssociateAccessPolicy", cluster)
        if account.store.get(ACCESS_ENTRY, f"{cluster}:{principal}") is None:
            raise AwsError(
                operation="AssociateAccessPolicy",
                code="ResourceNotFoundException",
                reason="The specified principalArn could not be found. You can view your available"
                f" access entries with 'list-access-entries': {principal}",
            )
        if policy.removeprefix(_POLICY_PREFIX) not in _POLICIES:
            raise invalid(
                operation="AssociateAccessPolicy",
                reason=f"The specified policyArn is invalid: {policy}",
            )
        scope = inputs["accessScope"]
        if scope["type"] == "namespace" and not scope.get("namespaces"):
            raise invalid(
                operation="AssociateAccessPolicy",
                reason="namespaces must be given with the namespace scope",
            )
        body = {"accessScope": scope, "associatedAt": now(), "modifiedAt": now()}
        # Associating what is associated already changes its scope, and nothing is refused.
        account.store.put(ACCESS_POLICY, f"{cluster}:{principal}#{policy}", body)
        return f"{cluster}#{principal}#{policy}"

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        cluster, principal, policy = resource_id.split("#")
        record = account.store.get(ACCESS_POLICY, f"{cluster}:{principal}#{policy}")
        if record is None:
            return None
        return {
            **record,
            "clusterName": cluster,
            "policyArn": policy,
            "principalArn": principal,
        }

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        cluster, principal, policy = resource_id.split("#")
        account.store.remove(ACCESS_POLICY, f"{cluster}:{principal}#{policy}")


class PodIdentityAssociation(ResourceType):
    """Which role the pods of a service account get."""

    aws_type = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
    outputs = ("associationArn", "associationId", "externalId")
    # terraform-provider-aws internal/service/eks/pod_identity_association.go: RequiresReplace
    replaces = words("clusterName namespace serviceAccount")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        operation = "CreatePodIdentityAssociation"
        cluster, account_name = inputs["clusterName"], inputs["serviceAccount"]
        cluster_record(account, operation, cluster)
        key = f"{cluster}/{inputs['namespace']}/{account_name}"
        for association, body in account.store.all(POD_IDENTITY).items():
            if body["key"] == key:
                raise AwsError(
                    operation=operation,
                    code="ResourceInUseException",
                    reason=f"Association already exists: {association}",
                )
        self._refuse_role(account, operation, inputs)
        association = f"a-{hashlib.sha256(f'{key} {now()}'.encode()).hexdigest()[:17]}"
        account.store.put(POD_IDENTITY, association, self._body(inputs) | {"key": key})
        return association

    def _refuse_role(self, account: Account, operation: str, inputs: Properties) -> None:
        if not exists(account, inputs["roleArn"]):
            raise AwsError(
                operation=operation,
                code="InvalidParameterException",
                reason="Role provided in the request does not exist.",
            )
        if inputs.get("policy") and not inputs.get("disableSessionTags"):
            raise invalid(
                operation=operation, reason="A session policy needs disableSessionTags to be true."
            )

    def _body(self, inputs: Properties) -> dict[str, Any]:
        return {
            name: value
            for name, value in inputs.items()
            if value is not None and not name.startswith("__")
        }

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        record = account.store.get(POD_IDENTITY, resource_id)
        if record is None:
            return None
        tags = record.get("tags") or {}
        shown = {name: value for name, value in record.items() if name != "key"}
        return shown | {
            "associationArn": account.arn(
                "eks", f"podidentityassociation/{record['clusterName']}/{resource_id}"
            ),
            "associationId": resource_id,
            "disableSessionTags": bool(record.get("disableSessionTags")),
            "externalId": "",
            "tags": tags,
            "tagsAll": tags,
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        self._refuse_role(account, "UpdatePodIdentityAssociation", new)
        record = account.store.get(POD_IDENTITY, resource_id) or {}
        account.store.put(
            POD_IDENTITY, resource_id, self._body(new) | {"key": record.get("key", "")}
        )

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        account.store.remove(POD_IDENTITY, resource_id)
