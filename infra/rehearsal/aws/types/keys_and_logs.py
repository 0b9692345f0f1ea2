"""KMS keys and aliases, CloudWatch log groups."""

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
from infra.rehearsal.aws.types.ec2_base import given

_KMS_TAGS = ("TagKey", "TagValue")


class Key(ResourceType):
    """A KMS key; deleting it schedules its deletion."""

    aws_type = "aws:kms/key:Key"
    outputs = ("arn", "keyId")
    # terraform-provider-aws internal/service/kms/key.go: ForceNew
    replaces = words("customKeyStoreId customerMasterKeySpec keyUsage multiRegion xksKeyId")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        kms = account.client("kms")
        key_name, value_name = _KMS_TAGS
        answer = kms.create_key(
            **given(
                Description=inputs.get("description"),
                Policy=inputs.get("policy"),
                KeyUsage=inputs.get("keyUsage"),
                KeySpec=inputs.get("customerMasterKeySpec"),
                MultiRegion=inputs.get("multiRegion"),
                Tags=[
                    {key_name: key, value_name: value}
                    for key, value in (inputs.get("tags") or {}).items()
                ],
            )
        )
        key_id: str = answer["KeyMetadata"]["KeyId"]
        self._rotate(kms, key_id, inputs)
        return key_id

    def _rotate(self, kms: Any, key_id: str, inputs: Properties) -> None:
        if inputs.get("enableKeyRotation"):
            days = given(RotationPeriodInDays=inputs.get("rotationPeriodInDays"))
            kms.enable_key_rotation(KeyId=key_id, **days)
        else:
            kms.disable_key_rotation(KeyId=key_id)

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        kms = account.client("kms")
        found = found_or_none(kms.describe_key, KeyId=resource_id)
        if found is None or found["KeyMetadata"]["KeyState"] == "PendingDeletion":
            return None
        key = found["KeyMetadata"]
        key_name, value_name = _KMS_TAGS
        tags = {
            tag[key_name]: tag[value_name]
            for tag in kms.list_resource_tags(KeyId=resource_id)["Tags"]
        }
        policy = kms.get_key_policy(KeyId=resource_id, PolicyName="default")["Policy"]
        return {
            "arn": key["Arn"],
            "customerMasterKeySpec": key["KeySpec"],
            "description": key["Description"],
            "enableKeyRotation": kms.get_key_rotation_status(KeyId=resource_id)[
                "KeyRotationEnabled"
            ],
            "isEnabled": key["Enabled"],
            "keyId": key["KeyId"],
            "keyUsage": key.get("KeyUsage", "ENCRYPT_DECRYPT"),
            "multiRegion": key.get("MultiRegion", False),
            "policy": policy,
            "tags": tags,
            "tagsAll": tags,
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        kms = account.client("kms")
        self._rotate(kms, resource_id, new)
        if new.get("description") != old.get("description"):
            kms.update_key_description(KeyId=resource_id, Description=new.get("description") or "")
        if new.get("policy") and new["policy"] != old.get("policy"):
            kms.put_key_policy(KeyId=resource_id, PolicyName="default", Policy=new["policy"])
        before, after = old.get("tags") or {}, new.get("tags") or {}
        gone = [key for key in before if key not in after]
        if gone:
            kms.untag_resource(KeyId=resource_id, TagKeys=gone)
        if after:
            key_name, value_name = _KMS_TAGS
            pairs = [{key_name: key, value_name: value} for key, value in after.items()]
            kms.tag_resource(KeyId=resource_id, Tags=pairs)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if self.observe(account, resource_id, state) is not None:
            account.client("kms").schedule_key_deletion(
                KeyId=resource_id, PendingWindowInDays=state.get("deletionWindowInDays") or 30
            )


class Alias(ResourceType):
    """A key's other name."""

    aws_type = "aws:kms/alias:Alias"
    has_tags = False
    outputs = ("arn", "targetKeyArn")
    naming = Naming(lead="alias/", longest=255)
    replaces = words("name namePrefix")  # internal/service/kms/alias.go: ForceNew

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        name: str = inputs["name"]
        account.client("kms").create_alias(AliasName=name, TargetKeyId=inputs["targetKeyId"])
        return name

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        aliases = account.client("kms").list_aliases()["Aliases"]
        found = next((one for one in aliases if one["AliasName"] == resource_id), None)
        if found is None:
            return None
        key_id = found["TargetKeyId"]
        key_arn = account.arn("kms", f"key/{key_id}")
        same_key = state.get("targetKeyId") in (key_id, key_arn)
        return {
            "arn": account.arn("kms", resource_id),
            "name": resource_id,
            "targetKeyArn": key_arn,
            "targetKeyId": state["targetKeyId"] if same_key else key_id,
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        account.client("kms").update_alias(AliasName=resource_id, TargetKeyId=new["targetKeyId"])

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if self.observe(account, resource_id, state) is not None:
            account.client("kms").delete_alias(AliasName=resource_id)


class LogGroup(ResourceType):
    """A CloudWatch log group."""

    aws_type = "aws:cloudwatch/logGroup:LogGroup"
    outputs = ("arn",)
    naming = Naming(longest=512)
    # terraform-provider-aws internal/service/logs/group.go: ForceNew
    replaces = words("logGroupClass name namePrefix")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        logs = account.client("logs")
        name: str = inputs["name"]
        if inputs.get("kmsKeyId"):
            _refuse_missing_key(account, inputs["kmsKeyId"])
        logs.create_log_group(
            logGroupName=name,
            **given(kmsKeyId=inputs.get("kmsKeyId"), logGroupClass=inputs.get("logGroupClass")),
            tags=inputs.get("tags") or {},
        )
        self._retain(logs, name, inputs)
        return name

    def _retain(self, logs: Any, name: str, inputs: Properties) -> None:
        if inputs.get("retentionInDays"):
            logs.put_retention_policy(
                logGroupName=name, retentionInDays=int(inputs["retentionInDays"])
            )
        else:
            if_there(logs.delete_retention_policy, logGroupName=name)

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        logs = account.client("logs")
        groups = logs.describe_log_groups(logGroupNamePrefix=resource_id)["logGroups"]
        group = next((one for one in groups if one["logGroupName"] == resource_id), None)
        if group is None:
            return None
        arn = account.arn("logs", f"log-group:{resource_id}")
        tags = logs.list_tags_log_group(logGroupName=resource_id).get("tags", {})
        return {
            "arn": arn,
            "name": resource_id,
            "kmsKeyId": group.get("kmsKeyId", ""),
            "logGroupClass": group.get("logGroupClass", "STANDARD"),
            "retentionInDays": group.get("retentionInDays", 0),
            "tags": tags,
            "tagsAll": tags,
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        logs = account.client("logs")
        self._retain(logs, resource_id, new)
        before, after = old.get("tags") or {}, new.get("tags") or {}
        gone = [key for key in before if key not in after]
        if gone:
            logs.untag_log_group(logGroupName=resource_id, tags=gone)
        if after:
            logs.tag_log_group(logGroupName=resource_id, tags=after)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if not state.get("skipDestroy"):
            if_there(account.client("logs").delete_log_group, logGroupName=resource_id)


def _refuse_missing_key(account: Account, key: str) -> None:
    if found_or_none(account.client("kms").describe_key, KeyId=key) is None:
        raise AwsError(
            operation="CreateLogGroup",
            code="InvalidParameterException",
            reason="The specified KMS key does not exist or is not allowed to be used with"
            " LogGroup",
        )
