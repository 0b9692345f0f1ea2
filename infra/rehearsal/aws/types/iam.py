"""Roles, their policies, instance profiles."""

import json
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from infra.rehearsal.aws.account import ACCOUNT_ID, Account
from infra.rehearsal.aws.refusals import AwsError
from infra.rehearsal.aws.resource import (
    Naming,
    Properties,
    ResourceType,
    aws_tags,
    found_or_none,
    if_there,
    pulumi_tags,
    words,
)
from infra.rehearsal.aws.types.ec2_base import given

_NAMED = "name namePrefix path"


def document(policy: Any) -> str:
    """Return a policy as text; IAM refuses what is no JSON with a Version and a Statement."""
    text = policy if isinstance(policy, str) else json.dumps(policy)
    try:
        parsed = json.loads(text)
    except ValueError:
        parsed = None
    if not isinstance(parsed, dict) or "Statement" not in parsed:
        raise AwsError(
            operation="PutPolicy",
            code="MalformedPolicyDocument",
            reason="This policy contains invalid Json",
        )
    return text


def role_name(role: str) -> str:
    """Return a role's name from its name or its ARN (a resource reference's id is its name)."""
    return role.rsplit("/", 1)[-1]


def trusts(account: Account, role_arn: str, service: str) -> bool | None:
    """Return whether a role lets a service assume it, None when the role does not exist.

    A role of another account is taken to exist and to be right: nothing is known of it here.
    """
    if f":{ACCOUNT_ID}:" not in role_arn:
        return True
    found = found_or_none(account.client("iam").get_role, RoleName=role_name(role_arn))
    if found is None:
        return None
    policy = found["Role"]["AssumeRolePolicyDocument"]
    return service in json.dumps(policy)


def attached_policies(account: Account, role_arn: str) -> set[str]:
    """Return the names of the managed policies that a role of this account carries."""
    found = found_or_none(
        account.client("iam").list_attached_role_policies, RoleName=role_name(role_arn)
    )
    return {policy["PolicyName"] for policy in found["AttachedPolicies"]} if found else set()


class Role(ResourceType):
    """An IAM role with its inline and managed policies."""

    aws_type = "aws:iam/role:Role"
    outputs = ("arn", "createDate", "uniqueId")
    naming = Naming(longest=64)
    replaces = words(_NAMED)  # terraform-provider-aws internal/service/iam/role.go: ForceNew

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        iam = account.client("iam")
        name: str = inputs["name"]
        iam.create_role(
            RoleName=name,
            AssumeRolePolicyDocument=document(inputs["assumeRolePolicy"]),
            **given(
                Path=inputs.get("path"),
                Description=inputs.get("description"),
                MaxSessionDuration=inputs.get("maxSessionDuration"),
                PermissionsBoundary=inputs.get("permissionsBoundary"),
                Tags=aws_tags(inputs.get("tags")),
            ),
        )
        self._attach(account, name, {}, inputs)
        return name

    def _attach(self, account: Account, name: str, old: Properties, new: Properties) -> None:
        iam = account.client("iam")
        before, after = (set(side.get("managedPolicyArns") or ()) for side in (old, new))
        for arn in sorted(after - before):
            iam.attach_role_policy(RoleName=name, PolicyArn=arn)
        for arn in sorted(before - after):
            if_there(iam.detach_role_policy, RoleName=name, PolicyArn=arn)
        for policy in new.get("inlinePolicies") or ():
            iam.put_role_policy(
                RoleName=name,
                PolicyName=policy["name"],
                PolicyDocument=document(policy["policy"]),
            )

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        found = found_or_none(account.client("iam").get_role, RoleName=resource_id)
        if found is None:
            return None
        role = found["Role"]
        managed = {}
        if state.get("managedPolicyArns") is not None:
            attached = account.client("iam").list_attached_role_policies(RoleName=resource_id)
            managed["managedPolicyArns"] = [
                policy["PolicyArn"] for policy in attached["AttachedPolicies"]
            ]
        return {
            "arn": role["Arn"],
            "assumeRolePolicy": json.dumps(role["AssumeRolePolicyDocument"]),
            "createDate": role["CreateDate"].isoformat(),
            "description": role.get("Description", ""),
            "maxSessionDuration": role["MaxSessionDuration"],
            "name": role["RoleName"],
            "path": role["Path"],
            "uniqueId": role["RoleId"],
            **managed,
            **pulumi_tags(role.get("Tags", [])),
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        iam = account.client("iam")
        iam.update_assume_role_policy(
            RoleName=resource_id, PolicyDocument=document(new["assumeRolePolicy"])
        )
        iam.update_role(
            RoleName=resource_id,
            Description=new.get("description") or "",
            MaxSessionDuration=new.get("maxSessionDuration") or 3600,
        )
        self._attach(account, resource_id, old, new)
        gone = [key for key in old.get("tags") or {} if key not in (new.get("tags") or {})]
        if gone:
            iam.untag_role(RoleName=resource_id, TagKeys=gone)
        if new.get("tags"):
            iam.tag_role(RoleName=resource_id, Tags=aws_tags(new["tags"]))

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        iam = account.client("iam")
        arns = list(state.get("managedPolicyArns") or ())
        if state.get("forceDetachPolicies"):
            attached = found_or_none(iam.list_attached_role_policies, RoleName=resource_id) or {}
            arns = [policy["PolicyArn"] for policy in attached.get("AttachedPolicies", ())]
        for arn in arns:
            if_there(iam.detach_role_policy, RoleName=resource_id, PolicyArn=arn)
        for policy in state.get("inlinePolicies") or ():
            if_there(iam.delete_role_policy, RoleName=resource_id, PolicyName=policy["name"])
        if_there(iam.delete_role, RoleName=resource_id)


class RolePolicy(ResourceType):
    """An inline policy of a role."""

    aws_type = "aws:iam/rolePolicy:RolePolicy"
    has_tags = False
    naming = Naming(longest=128)
    replaces = words("name namePrefix role")  # internal/service/iam/role_policy.go: ForceNew

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        role = role_name(inputs["role"])
        self.change(account, f"{role}:{inputs['name']}", {}, inputs)
        return f"{role}:{inputs['name']}"

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        role, name = resource_id.split(":", 1)
        account.client("iam").put_role_policy(
            RoleName=role, PolicyName=name, PolicyDocument=document(new["policy"])
        )

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        role, name = resource_id.split(":", 1)
        found = found_or_none(account.client("iam").get_role_policy, RoleName=role, PolicyName=name)
        if found is None:
            return None
        policy = json.dumps(found["PolicyDocument"])
        return {"name": name, "policy": policy, "role": state.get("role") or role}

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        role, name = resource_id.split(":", 1)
        if_there(account.client("iam").delete_role_policy, RoleName=role, PolicyName=name)


class RolePolicyAttachment(ResourceType):
    """A managed policy on a role."""

    aws_type = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"
    has_tags = False
    replaces = words("policyArn role")  # internal/service/iam/role_policy_attachment.go: ForceNew

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        role, policy = role_name(inputs["role"]), inputs["policyArn"]
        account.client("iam").attach_role_policy(RoleName=role, PolicyArn=policy)
        return f"{role}/{policy}"

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        role, policy = resource_id.split("/", 1)
        found = found_or_none(account.client("iam").list_attached_role_policies, RoleName=role)
        attached = found["AttachedPolicies"] if found else ()
        if not any(entry["PolicyArn"] == policy for entry in attached):
            return None
        return {"policyArn": policy, "role": state.get("role") or role}

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        role, policy = resource_id.split("/", 1)
        if_there(account.client("iam").detach_role_policy, RoleName=role, PolicyArn=policy)


class Policy(ResourceType):
    """A managed policy of our own."""

    aws_type = "aws:iam/policy:Policy"
    outputs = ("arn", "attachmentCount", "policyId")
    naming = Naming(longest=128)
    # terraform-provider-aws internal/service/iam/policy.go: ForceNew
    replaces = words(f"{_NAMED} description")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        answer = account.client("iam").create_policy(
            PolicyName=inputs["name"],
            PolicyDocument=document(inputs["policy"]),
            **given(
                Path=inputs.get("path"),
                Description=inputs.get("description"),
                Tags=aws_tags(inputs.get("tags")),
            ),
        )
        arn: str = answer["Policy"]["Arn"]
        return arn

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        iam = account.client("iam")
        found = found_or_none(iam.get_policy, PolicyArn=resource_id)
        if found is None:
            return None
        policy = found["Policy"]
        version = iam.get_policy_version(
            PolicyArn=resource_id, VersionId=policy["DefaultVersionId"]
        )["PolicyVersion"]
        return {
            "arn": policy["Arn"],
            "attachmentCount": policy["AttachmentCount"],
            "description": policy.get("Description", ""),
            "name": policy["PolicyName"],
            "path": policy["Path"],
            "policy": json.dumps(version["Document"]),
            "policyId": policy["PolicyId"],
            **pulumi_tags(policy.get("Tags", [])),
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        iam = account.client("iam")
        self._drop_old_versions(iam, resource_id)
        iam.create_policy_version(
            PolicyArn=resource_id, PolicyDocument=document(new["policy"]), SetAsDefault=True
        )

    def _drop_old_versions(self, iam: Any, arn: str) -> None:
        for version in iam.list_policy_versions(PolicyArn=arn)["Versions"]:
            if not version["IsDefaultVersion"]:
                iam.delete_policy_version(PolicyArn=arn, VersionId=version["VersionId"])

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        iam = account.client("iam")
        if found_or_none(iam.get_policy, PolicyArn=resource_id):
            self._drop_old_versions(iam, resource_id)
            if_there(iam.delete_policy, PolicyArn=resource_id)


class InstanceProfile(ResourceType):
    """An instance profile with its role."""

    aws_type = "aws:iam/instanceProfile:InstanceProfile"
    outputs = ("arn", "createDate", "uniqueId")
    naming = Naming(longest=128)
    replaces = words(_NAMED)  # internal/service/iam/instance_profile.go: ForceNew

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        iam = account.client("iam")
        name: str = inputs["name"]
        iam.create_instance_profile(InstanceProfileName=name, **given(Path=inputs.get("path")))
        self.change(account, name, {}, inputs)
        return name

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        found = found_or_none(
            account.client("iam").get_instance_profile, InstanceProfileName=resource_id
        )
        return _profile(found["InstanceProfile"], state) if found else None

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        iam = account.client("iam")
        for call, role in (
            (iam.remove_role_from_instance_profile, old.get("role")),
            (iam.add_role_to_instance_profile, new.get("role")),
        ):
            if role and old.get("role") != new.get("role"):
                if_there(call, InstanceProfileName=resource_id, RoleName=role_name(role))

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        self.change(account, resource_id, state, {})
        if_there(account.client("iam").delete_instance_profile, InstanceProfileName=resource_id)


def _profile(profile: Mapping[str, Any], state: Properties) -> Properties:
    roles = profile["Roles"]
    return {
        "arn": profile["Arn"],
        "createDate": profile["CreateDate"].isoformat(),
        "name": profile["InstanceProfileName"],
        "path": profile["Path"],
        "role": state.get("role") or (roles[0]["RoleName"] if roles else None),
        "uniqueId": profile["InstanceProfileId"],
        "tagsAll": state.get("tags") or {},
    }
