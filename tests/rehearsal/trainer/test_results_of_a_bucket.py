"""`gangway results` as a user runs it, against a bucket that a server on loopback has."""

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from infra.cli import INTERRUPTED
from tests.support.gang import REGION, REPOSITORY, Aws
from tests.support.training_reports import a_job, a_rank

PATIENCE_SECONDS = 60
COMMAND = (sys.executable, "-c", "from infra.cli import main; main()", "results")


def variables(aws: Aws, home: Path, *, credentials: bool = True) -> dict[str, str]:
    return {
        **(aws.credentials if credentials else {}),
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_ENDPOINT_URL": aws.endpoint,
        "AWS_REGION": REGION,
        "HOME": str(home),
        "PATH": os.environ["PATH"],
        "PYTHONPATH": str(REPOSITORY),
    }


def run(aws: Aws, home: Path, *words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    return subprocess.run(  # noqa: S603 - our own command
        [*COMMAND, *words],
        capture_output=True,
        check=False,
        env=variables(aws, home, **options),
        text=True,
        timeout=PATIENCE_SECONDS,
    )


def put(aws: Aws, key: str, document: dict[str, Any]) -> None:
    aws.s3().put_object(Bucket=aws.bucket, Key=key, Body=json.dumps(document).encode())


def test_reports_and_ranks_without_one_are_listed(aws: Aws, tmp_path: Path) -> None:
    put(aws, "logs/volcano_training_success_1_aaaa.json", a_job("aaaa"))
    put(aws, "logs/ranks/bbbb/rank-1.json", a_rank(1, "bbbb"))
    answer = run(aws, tmp_path, "--bucket", aws.bucket)
    assert answer.returncode == 0, answer.stderr
    assert re.search(r"aaaa +success ", answer.stdout)
    assert re.search(r"bbbb +1 of 2 ranks ", answer.stdout)


def test_following_shows_what_comes_and_ends_on_an_interrupt(aws: Aws, tmp_path: Path) -> None:
    command = [*COMMAND, "--bucket", aws.bucket, "--follow", "--json"]
    with subprocess.Popen(  # noqa: S603 - our own command
        command,
        env=variables(aws, tmp_path) | {"PYTHONUNBUFFERED": "1"},
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout
        assert process.stderr
        try:
            assert "waiting for one" in process.stderr.readline()
            for run_id in ("aaaa", "bbbb"):
                put(aws, f"logs/volcano_training_success_1_{run_id}.json", a_job(run_id))
                assert json.loads(process.stdout.readline())["run_id"] == run_id
            process.send_signal(signal.SIGINT)
            assert process.wait(PATIENCE_SECONDS) == INTERRUPTED
        finally:
            process.kill()


@pytest.mark.parametrize(
    ("bucket", "credentials", "sentence"),
    [
        ("no-such-bucket", True, "there is no bucket 'no-such-bucket': check --bucket"),
        ("any", False, "no AWS credentials were found: set AWS_PROFILE"),
    ],
    ids=["no bucket", "no credentials"],
)
def test_what_is_missing_is_one_sentence(
    aws: Aws, tmp_path: Path, bucket: str, credentials: bool, sentence: str
) -> None:
    answer = run(aws, tmp_path, "--bucket", bucket, credentials=credentials)
    assert answer.returncode == 1
    assert answer.stdout == ""
    assert answer.stderr.startswith(sentence)
    assert answer.stderr.count("\n") == 1


def test_an_endpoint_that_is_down_is_one_sentence(aws: Aws, tmp_path: Path) -> None:
    down = Aws(bucket=aws.bucket, credentials=aws.credentials, endpoint="http://127.0.0.1:1")
    answer = run(down, tmp_path, "--bucket", aws.bucket)
    assert answer.returncode == 1
    assert "could not be read: Could not connect to the endpoint URL" in answer.stderr
    assert answer.stderr.count("\n") == 1
