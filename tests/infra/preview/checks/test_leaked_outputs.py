"""Outputs formatted into strings."""

import pulumi
import pulumi_aws as aws

from infra.preview.checks import leaked_outputs
from tests.support.recorded import only_sentence
from tests.support.recorder import record


def test_rejects_an_output_in_an_f_string() -> None:
    def program() -> None:
        bucket = aws.s3.Bucket("results")
        aws.s3.BucketPolicy("results", bucket=bucket.id, policy=f"arn: {bucket.arn}/*")

    said = only_sentence(leaked_outputs.CHECK, "refused", record(program))
    assert said.startswith('aws.s3.BucketPolicy "results": policy holds the text of an output')


def test_rejects_an_output_in_an_export() -> None:
    def program() -> None:
        pulumi.export("bucket", [f"s3://{aws.s3.Bucket('results').id!r}"])

    said = only_sentence(leaked_outputs.CHECK, "refused", record(program))
    assert said.startswith("the stack's exports: bucket[0]")


def test_a_formatted_output_is_fine() -> None:
    def program() -> None:
        bucket = aws.s3.Bucket("results")
        pulumi.export("bucket", pulumi.Output.format("s3://{0}", bucket.id))

    assert only_sentence(leaked_outputs.CHECK, "ok", record(program))
