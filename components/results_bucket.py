"""The bucket that results and checkpoints go to: private, encrypted, versioned, TLS only."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi
import pulumi_aws as aws

from components import identity, tokens
from components.limits import BUCKET_NAME

CHECKPOINT_FOLDER: Final = "checkpoints/"
"""Below the results prefix; the trainer writes there what only a restart needs."""

UPLOAD_LEFTOVER_DAYS: Final = 7
OLDEST_TLS: Final = "1.2"


def check_prefix(prefix: str) -> None:
    """Refuse a prefix that is no folder, or that would open more than one to a policy."""
    if not prefix.endswith("/") or "*" in prefix or prefix.startswith("/"):
        message = f"prefix is {prefix!r}; allowed: a folder that ends with /, such as logs/"
        raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class ResultsBucketArgs:
    """One bucket. Without `bucket_name` Pulumi chooses a free one.

    With `force_destroy` a destroy deletes the objects too; S3 refuses to delete a full bucket
    otherwise. It counts only once an `up` has set it.
    """

    checkpoint_expiry_days: int
    force_destroy: bool
    noncurrent_expiry_days: int
    prefix: str
    bucket_name: str | None = None
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse names that S3 refuses, a prefix that is no folder, and days that are none."""
        if self.bucket_name is not None and not BUCKET_NAME.fullmatch(self.bucket_name):
            message = (
                f"bucket_name is {self.bucket_name!r}; allowed: 3 to 63 of a-z, 0-9 and hyphens, "
                "or nothing to have one chosen"
            )
            raise ValueError(message)
        check_prefix(self.prefix)
        for name in ("checkpoint_expiry_days", "noncurrent_expiry_days"):
            if getattr(self, name) < 1:
                message = f"{name} is {getattr(self, name)}; allowed: 1 or more"
                raise ValueError(message)


def bucket_policy(bucket_arn: str) -> str:
    """Refuse every request that is not encrypted on its way, whoever makes it."""
    deny = {
        "Action": "s3:*",
        "Effect": "Deny",
        "Principal": "*",
        "Resource": [bucket_arn, f"{bucket_arn}/*"],
    }
    return identity.policy_document(
        [
            {
                **deny,
                "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                "Sid": "RefusePlainHttp",
            },
            {
                **deny,
                "Condition": {"NumericLessThan": {"s3:TlsVersion": OLDEST_TLS}},
                "Sid": "RefuseOldTls",
            },
        ]
    )


def lifecycle_rules(args: ResultsBucketArgs) -> list[dict[str, Any]]:
    """Results stay; checkpoints, replaced versions and broken uploads go after their days."""
    return [
        {
            "id": "expire-checkpoints",
            "status": "Enabled",
            "filter": {"prefix": f"{args.prefix}{CHECKPOINT_FOLDER}"},
            "expiration": {"days": args.checkpoint_expiry_days},
        },
        {
            "id": "expire-replaced-versions",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "noncurrent_version_expiration": {"noncurrent_days": args.noncurrent_expiry_days},
        },
        {
            "id": "drop-broken-uploads",
            "status": "Enabled",
            "filter": {"prefix": ""},
            "abort_incomplete_multipart_upload": {"days_after_initiation": UPLOAD_LEFTOVER_DAYS},
        },
    ]


class ResultsBucket(pulumi.ComponentResource):
    """A bucket with everything that keeps it private; who may use it is up to the caller.

    `bucket_name` is known only once the settings that close the bucket are in place, so nothing
    is written before.
    """

    bucket_arn: pulumi.Output[str]
    bucket_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: ResultsBucketArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.RESULTS_BUCKET, name, None, opts)
        child = pulumi.ResourceOptions(parent=self)
        bucket = aws.s3.Bucket(
            name,
            bucket=args.bucket_name,
            force_destroy=args.force_destroy,
            tags=args.tags,
            opts=child,
        )
        closed = aws.s3.BucketPublicAccessBlock(
            name,
            bucket=bucket.bucket,
            block_public_acls=True,
            block_public_policy=True,
            ignore_public_acls=True,
            restrict_public_buckets=True,
            opts=child,
        )
        owned = aws.s3.BucketOwnershipControls(
            name,
            bucket=bucket.bucket,
            rule={"object_ownership": "BucketOwnerEnforced"},
            opts=child,
        )
        encrypted = aws.s3.BucketServerSideEncryptionConfiguration(
            name,
            bucket=bucket.bucket,
            rules=[{"apply_server_side_encryption_by_default": {"sse_algorithm": "AES256"}}],
            opts=child,
        )
        versioned = aws.s3.BucketVersioning(
            name,
            bucket=bucket.bucket,
            versioning_configuration={"status": "Enabled"},
            opts=child,
        )
        aws.s3.BucketLifecycleConfiguration(
            name,
            bucket=bucket.bucket,
            rules=lifecycle_rules(args),
            # Rules about replaced versions are refused, or do nothing, on an unversioned bucket.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[versioned]),
        )
        policy = aws.s3.BucketPolicy(
            name,
            bucket=bucket.bucket,
            policy=bucket.arn.apply(bucket_policy),
            # S3 answers "conflicting operation" when both are put at the same time.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[closed]),
        )
        self.bucket_arn = bucket.arn
        self.bucket_name = pulumi.Output.all(
            bucket.bucket, closed.id, encrypted.id, owned.id, policy.id
        ).apply(lambda known: str(known[0]))
        self.register_outputs({"bucket_arn": self.bucket_arn, "bucket_name": self.bucket_name})
