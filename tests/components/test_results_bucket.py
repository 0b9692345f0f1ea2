"""The bucket is closed in every way, keeps results, and lets go of what only costs."""

import json
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import pytest

from components.results_bucket import (
    ResultsBucket,
    ResultsBucketArgs,
    bucket_policy,
    lifecycle_rules,
)
from tests.support.recorder import Recording, record

ARN = "arn:aws:s3:::results-1"


def args(**changes: Any) -> ResultsBucketArgs:
    values: dict[str, Any] = {
        "checkpoint_expiry_days": 14,
        "force_destroy": False,
        "noncurrent_expiry_days": 30,
        "prefix": "logs/",
    }
    return ResultsBucketArgs(**values | changes)


def recorded(**changes: Any) -> Recording:
    def program() -> None:
        pulumi.export("name", ResultsBucket("results", args(**changes)).bucket_name)

    return record(program)


def resource_type(kind: str) -> str:
    return f"aws:s3/{kind[0].lower()}{kind[1:]}:{kind}"


@pytest.fixture(scope="module")
def recording() -> Recording:
    return recorded()


@pytest.mark.parametrize(
    "key", ["blockPublicAcls", "blockPublicPolicy", "ignorePublicAcls", "restrictPublicBuckets"]
)
def test_public_access_is_blocked(recording: Recording, key: str) -> None:
    assert recording.one(resource_type("BucketPublicAccessBlock")).inputs[key] is True


def test_access_lists_are_off(recording: Recording) -> None:
    rule = recording.one(resource_type("BucketOwnershipControls")).inputs["rule"]
    assert rule == {"objectOwnership": "BucketOwnerEnforced"}


def test_objects_are_encrypted(recording: Recording) -> None:
    kind = resource_type("BucketServerSideEncryptionConfiguration")
    assert recording.one(kind).inputs["rules"] == [
        {"applyServerSideEncryptionByDefault": {"sseAlgorithm": "AES256"}}
    ]


def test_objects_are_versioned(recording: Recording) -> None:
    inputs = recording.one(resource_type("BucketVersioning")).inputs
    assert inputs["versioningConfiguration"] == {"status": "Enabled"}


def statements() -> dict[str, dict[str, Any]]:
    return {item["Sid"]: item for item in json.loads(bucket_policy(ARN))["Statement"]}


def test_plain_http_is_refused_to_everybody() -> None:
    assert statements()["RefusePlainHttp"] == {
        "Action": "s3:*",
        "Condition": {"Bool": {"aws:SecureTransport": "false"}},
        "Effect": "Deny",
        "Principal": "*",
        "Resource": [ARN, f"{ARN}/*"],
        "Sid": "RefusePlainHttp",
    }


def test_old_tls_is_refused() -> None:
    assert statements()["RefuseOldTls"]["Effect"] == "Deny"
    assert statements()["RefuseOldTls"]["Condition"] == {
        "NumericLessThan": {"s3:TlsVersion": "1.2"}
    }


def test_policy_names_the_bucket_itself(recording: Recording) -> None:
    bucket = recording.one(resource_type("Bucket"))
    policy = recording.one(resource_type("BucketPolicy")).inputs
    assert policy["policy"] == bucket_policy(bucket.outputs["arn"])


def test_policy_is_put_after_the_access_block(recording: Recording) -> None:
    block = recording.one(resource_type("BucketPublicAccessBlock"))
    assert block.urn in recording.one(resource_type("BucketPolicy")).depends_on


def test_lifecycle_is_put_after_versioning(recording: Recording) -> None:
    versioning = recording.one(resource_type("BucketVersioning"))
    lifecycle = recording.one(resource_type("BucketLifecycleConfiguration"))
    assert versioning.urn in lifecycle.depends_on


@pytest.mark.parametrize(
    ("rule", "filtered", "key", "value"),
    [
        ("expire-checkpoints", "logs/checkpoints/", "expiration", {"days": 14}),
        (
            "expire-replaced-versions",
            "",
            "noncurrent_version_expiration",
            {"noncurrent_days": 30},
        ),
        (
            "drop-broken-uploads",
            "",
            "abort_incomplete_multipart_upload",
            {"days_after_initiation": 7},
        ),
    ],
)
def test_lifecycle(rule: str, filtered: str, key: str, value: object) -> None:
    rules = {item["id"]: item for item in lifecycle_rules(args())}
    assert rules[rule] == {
        "filter": {"prefix": filtered},
        "id": rule,
        key: value,
        "status": "Enabled",
    }


def test_results_themselves_never_expire() -> None:
    expiring = [
        item["filter"]["prefix"] for item in lifecycle_rules(args()) if "expiration" in item
    ]
    assert expiring == ["logs/checkpoints/"]


def test_bucket_is_named_by_pulumi_and_kept_when_full_by_default(recording: Recording) -> None:
    inputs = recording.one(resource_type("Bucket")).inputs
    assert "bucket" not in inputs
    assert inputs["forceDestroy"] is False


def test_bucket_takes_a_name_tags_and_force_destroy() -> None:
    inputs = recorded(bucket_name="my-results", force_destroy=True, tags={"a": "b"}).one(
        resource_type("Bucket")
    )
    assert inputs.inputs == {"bucket": "my-results", "forceDestroy": True, "tags": {"a": "b"}}


def test_bucket_name_is_known_only_when_the_bucket_is_closed() -> None:
    def program() -> None:
        bucket = ResultsBucket("results", args())
        k8s.core.v1.ConfigMap("reader", data={"bucket": bucket.bucket_name})

    reader = record(program).one("kubernetes:core/v1:ConfigMap")
    kinds = {urn.split("::")[2].rpartition(":")[2] for urn in reader.depends_on}
    assert kinds == {
        "Bucket",
        "BucketOwnershipControls",
        "BucketPolicy",
        "BucketPublicAccessBlock",
        "BucketServerSideEncryptionConfiguration",
    }


@pytest.mark.parametrize("name", ["My-results", "my_results", "ab", "a" * 64, "-ab", "a.b.c"])
def test_rejects_names_that_s3_refuses(name: str) -> None:
    with pytest.raises(ValueError, match="allowed: 3 to 63 of a-z, 0-9 and hyphens"):
        args(bucket_name=name)


@pytest.mark.parametrize("prefix", ["", "logs", "/logs/", "logs/*/"])
def test_rejects_a_prefix_that_is_no_folder(prefix: str) -> None:
    with pytest.raises(ValueError, match="allowed: a folder that ends with /"):
        args(prefix=prefix)


@pytest.mark.parametrize("field", ["checkpoint_expiry_days", "noncurrent_expiry_days"])
def test_rejects_days_that_are_none(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is 0; allowed: 1 or more"):
        args(**{field: 0})
