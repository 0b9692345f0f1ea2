"""The bucket and the resources that set one thing on it."""

import json
from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import override

from infra.rehearsal.aws.account import Account
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
from infra.rehearsal.aws.types.iam import document


class Bucket(ResourceType):
    """A bucket; one that is not empty goes only when `forceDestroy` says so."""

    aws_type = "aws:s3/bucket:Bucket"
    outputs = (
        "arn",
        "bucketDomainName",
        "bucketRegion",
        "bucketRegionalDomainName",
        "hostedZoneId",
        "websiteDomain",
        "websiteEndpoint",
    )
    naming = Naming(property_name="bucket", prefix_property="bucketPrefix", longest=63)
    # terraform-provider-aws internal/service/s3/bucket.go: ForceNew
    replaces = words("bucket bucketNamespace bucketPrefix objectLockEnabled")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        s3 = account.client("s3")
        name: str = inputs["bucket"]
        place: dict[str, Any] = {}
        if account.region != "us-east-1":
            place["CreateBucketConfiguration"] = {"LocationConstraint": account.region}
        s3.create_bucket(Bucket=name, **place)
        if inputs.get("tags"):
            s3.put_bucket_tagging(Bucket=name, Tagging={"TagSet": aws_tags(inputs["tags"])})
        return name

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        s3 = account.client("s3")
        if found_or_none(s3.head_bucket, Bucket=resource_id) is None:
            return None
        tagged = found_or_none(s3.get_bucket_tagging, Bucket=resource_id) or {}
        return {
            "arn": f"arn:aws:s3:::{resource_id}",
            "bucket": resource_id,
            "bucketDomainName": f"{resource_id}.s3.amazonaws.com",
            "bucketRegion": account.region,
            "bucketRegionalDomainName": f"{resource_id}.s3.{account.region}.amazonaws.com",
            "hostedZoneId": "Z3AQBSTGFYJSTF",
            **pulumi_tags(tagged.get("TagSet", [])),
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        s3 = account.client("s3")
        if new.get("tags"):
            s3.put_bucket_tagging(Bucket=resource_id, Tagging={"TagSet": aws_tags(new["tags"])})
        else:
            s3.delete_bucket_tagging(Bucket=resource_id)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        s3 = account.client("s3")
        if state.get("forceDestroy"):
            self._empty(s3, resource_id)
        if_there(s3.delete_bucket, Bucket=resource_id)

    def _empty(self, s3: Any, bucket: str) -> None:
        versions = found_or_none(s3.list_object_versions, Bucket=bucket) or {}
        for listed in ("Versions", "DeleteMarkers"):
            for entry in versions.get(listed, ()):
                s3.delete_object(Bucket=bucket, Key=entry["Key"], VersionId=entry["VersionId"])


class _OnBucket(ResourceType):
    """Something set on a bucket by one call, read and taken away by two others."""

    has_tags = False
    replaces = words("bucket expectedBucketOwner")
    # terraform-provider-aws internal/service/s3/bucket_*.go: ForceNew
    getter: ClassVar[str]
    remover: ClassVar[str]

    def put(self, s3: Any, bucket: str, inputs: Properties) -> None:
        """Set it."""
        raise NotImplementedError

    def shown(self, answer: Mapping[str, Any], state: Properties) -> Properties:
        """Return the getter's answer as the provider shows it."""
        raise NotImplementedError

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        bucket: str = inputs["bucket"]
        self.put(account.client("s3"), bucket, inputs)
        return bucket

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        answer = found_or_none(getattr(account.client("s3"), self.getter), Bucket=resource_id)
        return {"bucket": resource_id, **self.shown(answer, state)} if answer else None

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        self.put(account.client("s3"), resource_id, new)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if not state.get("skipDestroy"):
            if_there(getattr(account.client("s3"), self.remover), Bucket=resource_id)


_BLOCKS = words("blockPublicAcls blockPublicPolicy ignorePublicAcls restrictPublicBuckets")


class BucketPublicAccessBlock(_OnBucket):
    """What keeps a bucket private."""

    aws_type = "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock"
    getter = "get_public_access_block"
    remover = "delete_public_access_block"

    @override
    def put(self, s3: Any, bucket: str, inputs: Properties) -> None:
        settings = {name[0].upper() + name[1:]: bool(inputs.get(name)) for name in _BLOCKS}
        s3.put_public_access_block(Bucket=bucket, PublicAccessBlockConfiguration=settings)

    @override
    def shown(self, answer: Mapping[str, Any], state: Properties) -> Properties:
        settings = answer["PublicAccessBlockConfiguration"]
        return {name: settings[name[0].upper() + name[1:]] for name in sorted(_BLOCKS)}


class BucketVersioning(_OnBucket):
    """Whether a bucket keeps old versions."""

    aws_type = "aws:s3/bucketVersioning:BucketVersioning"
    getter = "get_bucket_versioning"
    remover = "put_bucket_versioning"

    @override
    def put(self, s3: Any, bucket: str, inputs: Properties) -> None:
        settings = {"Status": inputs["versioningConfiguration"]["status"]}
        s3.put_bucket_versioning(Bucket=bucket, VersioningConfiguration=settings)

    @override
    def shown(self, answer: Mapping[str, Any], state: Properties) -> Properties:
        status = answer.get("Status", "Disabled")
        known = state.get("versioningConfiguration") or {}
        return {"versioningConfiguration": {**known, "status": status}}

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        # Versioning cannot be taken away, only suspended; that is what the provider does.
        if_there(
            account.client("s3").put_bucket_versioning,
            Bucket=resource_id,
            VersioningConfiguration={"Status": "Suspended"},
        )


class BucketEncryption(_OnBucket):
    """How a bucket encrypts what it is given."""

    aws_type = (
        "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
    )
    getter = "get_bucket_encryption"
    remover = "delete_bucket_encryption"

    @override
    def put(self, s3: Any, bucket: str, inputs: Properties) -> None:
        rules = []
        for rule in inputs["rules"]:
            default = rule.get("applyServerSideEncryptionByDefault") or {}
            by_default = {"SSEAlgorithm": default.get("sseAlgorithm", "AES256")}
            if default.get("kmsMasterKeyId"):
                by_default["KMSMasterKeyID"] = default["kmsMasterKeyId"]
            rules.append(
                {
                    "ApplyServerSideEncryptionByDefault": by_default,
                    "BucketKeyEnabled": bool(rule.get("bucketKeyEnabled")),
                }
            )
        s3.put_bucket_encryption(Bucket=bucket, ServerSideEncryptionConfiguration={"Rules": rules})

    @override
    def shown(self, answer: Mapping[str, Any], state: Properties) -> Properties:
        return {"rules": state.get("rules") or _encryption_rules(answer)}


def _encryption_rules(answer: Mapping[str, Any]) -> list[Properties]:
    return [
        {
            "applyServerSideEncryptionByDefault": {
                "sseAlgorithm": rule["ApplyServerSideEncryptionByDefault"]["SSEAlgorithm"]
            },
            "bucketKeyEnabled": rule.get("BucketKeyEnabled", False),
        }
        for rule in answer["ServerSideEncryptionConfiguration"]["Rules"]
    ]


class BucketPolicy(_OnBucket):
    """Who may do what with a bucket."""

    aws_type = "aws:s3/bucketPolicy:BucketPolicy"
    getter = "get_bucket_policy"
    remover = "delete_bucket_policy"

    @override
    def put(self, s3: Any, bucket: str, inputs: Properties) -> None:
        s3.put_bucket_policy(Bucket=bucket, Policy=document(inputs["policy"]))

    @override
    def shown(self, answer: Mapping[str, Any], state: Properties) -> Properties:
        return {"policy": json.dumps(json.loads(answer["Policy"]))}


class BucketOwnershipControls(_OnBucket):
    """Who owns what is put into a bucket."""

    aws_type = "aws:s3/bucketOwnershipControls:BucketOwnershipControls"
    getter = "get_bucket_ownership_controls"
    remover = "delete_bucket_ownership_controls"

    @override
    def put(self, s3: Any, bucket: str, inputs: Properties) -> None:
        rule = {"ObjectOwnership": inputs["rule"]["objectOwnership"]}
        s3.put_bucket_ownership_controls(Bucket=bucket, OwnershipControls={"Rules": [rule]})

    @override
    def shown(self, answer: Mapping[str, Any], state: Properties) -> Properties:
        return {
            "rule": {"objectOwnership": answer["OwnershipControls"]["Rules"][0]["ObjectOwnership"]}
        }


class BucketLifecycle(_OnBucket):
    """When what lies in a bucket goes."""

    aws_type = "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration"
    getter = "get_bucket_lifecycle_configuration"
    remover = "delete_bucket_lifecycle"

    @override
    def put(self, s3: Any, bucket: str, inputs: Properties) -> None:
        rules = [_lifecycle_rule(rule) for rule in inputs.get("rules") or ()]
        s3.put_bucket_lifecycle_configuration(
            Bucket=bucket, LifecycleConfiguration={"Rules": rules}
        )

    @override
    def shown(self, answer: Mapping[str, Any], state: Properties) -> Properties:
        present = {rule.get("ID"): rule["Status"] for rule in answer["Rules"]}
        known = state.get("rules") or []
        rules = [{**rule, "status": present[rule["id"]]} for rule in known if rule["id"] in present]
        return {"rules": rules}


def _lifecycle_rule(rule: Properties) -> dict[str, Any]:
    spelled = {"id": "ID", "and": "And", "tags": "Tags"}

    def convert(value: Any) -> Any:
        if isinstance(value, list):
            return [convert(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        return {
            spelled.get(name, name[0].upper() + name[1:]): aws_tags(entry)
            if name == "tags"
            else convert(entry)
            for name, entry in value.items()
            if entry is not None and not name.startswith("__")
        }

    converted: dict[str, Any] = convert(rule)
    if "Filter" not in converted and "Prefix" not in converted:
        converted["Filter"] = {"Prefix": ""}
    return converted
