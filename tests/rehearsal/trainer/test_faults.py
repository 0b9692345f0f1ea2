"""What a gang of real processes does when a rank, the node, the bucket or the role is lost."""

import os
import signal
import time
from pathlib import Path
from typing import Any

import boto3
import pytest

from tests.rehearsal.trainer.conftest import MakeJob
from tests.support.gang import REGION, Attempt, Aws, GangJob, wait_for

PROMPT_SECONDS = 20.0
STEP_AND_UPLOAD_SECONDS = 90.0
"""What the pods are given; their first step may compile for long on a busy machine."""
ONLY_ON_REQUEST = {"GANGWAY_CHECKPOINT_INTERVAL_STEPS": "1000000"}


def wait_for_step(attempt: Attempt, aws: Aws) -> None:
    """Wait for the first checkpoint, with every rank still running."""
    assert wait_for(aws.checkpoint_steps), attempt.logs()
    assert [rank.process.poll() for rank in attempt.ranks] == [None] * len(attempt.ranks)


def kill(attempt: Attempt, rank: int) -> None:
    os.killpg(attempt.ranks[rank].process.pid, signal.SIGKILL)


def finish(job: GangJob, version: int) -> dict[str, Any]:
    with job.attempt(version) as attempt:
        codes = attempt.exit_codes()
    assert set(codes) == {0}, attempt.logs()
    (document,) = job.aws.job_documents()
    return document


def stop_by_sigterm(job: GangJob) -> tuple[Attempt, list[int]]:
    """Run until training has begun, then ask the last rank's pod to end, as a spot notice does."""
    with job.attempt() as attempt:
        started = wait_for(lambda: all("training step 1" in r.text() for r in attempt.ranks))
        assert started, attempt.logs()
        attempt.ranks[-1].process.send_signal(signal.SIGTERM)
        codes = attempt.exit_codes(STEP_AND_UPLOAD_SECONDS)
    return attempt, codes


@pytest.mark.parametrize("victim", [0, 1])
def test_a_lost_rank_ends_the_others_at_once_and_the_restart_reaches_the_same_loss(
    framework: str, victim: int, make_job: MakeJob, aws: Aws
) -> None:
    job = make_job(framework)
    with job.attempt() as attempt:
        wait_for_step(attempt, aws)
        kill(attempt, victim)
        began = time.monotonic()
        codes = attempt.exit_codes(PROMPT_SECONDS)
        assert time.monotonic() - began < PROMPT_SECONDS
    assert codes[1 - victim] == 75, attempt.logs()
    assert aws.job_documents() == []
    document = finish(job, version=3)
    assert document["checkpoints"]["resumed_from"]["step"] > 0
    assert document["job"]["attempt"] == 2
    assert document["training_results"]["first_step"] > 0
    assert document["training_results"]["final_loss"] == pytest.approx(0.0121338, abs=2e-5)


def test_sigterm_to_one_pod_checkpoints_and_ends_all_at_the_same_step(
    framework: str, make_job: MakeJob, aws: Aws
) -> None:
    job = make_job(framework, settings={**ONLY_ON_REQUEST, "GANGWAY_EPOCHS": "500"})
    attempt, codes = stop_by_sigterm(job)
    assert codes == [143, 143], attempt.logs()
    (step,) = aws.checkpoint_steps()
    assert step > 0


def test_another_world_size_resumes_where_the_first_stopped(make_job: MakeJob, aws: Aws) -> None:
    job = make_job(settings={**ONLY_ON_REQUEST, "GANGWAY_EPOCHS": "500"})
    attempt, codes = stop_by_sigterm(job)
    assert codes == [143, 143], attempt.logs()
    (step,) = aws.checkpoint_steps()
    epochs = str(step // 128 + 2)
    smaller = make_job(size=1, settings={"GANGWAY_EPOCHS": epochs})
    document = finish(smaller, version=1)
    assert document["checkpoints"]["resumed_from"]["step"] == step
    assert document["job"]["world_size"] == 1
    assert document["training_results"]["loss_fell_by_factor"] > 10


def test_a_malformed_checkpoint_is_skipped_for_the_one_before(make_job: MakeJob, aws: Aws) -> None:
    job = make_job(settings={**ONLY_ON_REQUEST, "GANGWAY_EPOCHS": "500"})
    attempt, codes = stop_by_sigterm(job)
    assert codes == [143, 143], attempt.logs()
    (key,) = [key for key in aws.object_keys() if key.endswith(".ckpt")]
    step = int(key[-15:-5])
    body = aws.body(key)
    newer = key.replace(f"{step:010d}", f"{step + 1:010d}")
    aws.s3().put_object(Bucket=aws.bucket, Key=newer, Body=body[:-7])
    document = finish(make_job(settings={"GANGWAY_EPOCHS": str(step // 128 + 1)}), version=1)
    assert document["checkpoints"]["resumed_from"]["step"] == step
    assert [one["key"] for one in document["checkpoints"]["skipped"]] == [newer]


def test_a_missing_rank_is_named_when_the_deadline_is_over(make_job: MakeJob, aws: Aws) -> None:
    settings = {"GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS": "3", "GANGWAY_MAX_RETRY": "1"}
    with make_job(settings=settings).attempt(ranks=(0,)) as attempt:
        assert attempt.exit_codes() == [76], attempt.logs()
    assert "1 of 2 ranks came, rank 1 missing" in attempt.logs()
    (document,) = aws.job_documents()
    assert document["failure"]["exit_code"] == 76


def test_a_leader_that_does_not_resolve_is_waited_for_until_the_deadline(
    make_job: MakeJob,
) -> None:
    settings = {"GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS": "3", "MASTER_ADDR": "no-such-leader.invalid"}
    with make_job(settings=settings).attempt(ranks=(1,)) as attempt:
        assert attempt.exit_codes() == [76]
    assert "did not start with its leader no-such-leader.invalid" in attempt.logs()


def test_rejects_to_write_with_another_role(make_job: MakeJob, aws: Aws) -> None:
    session = boto3.client(
        "sts",
        endpoint_url=aws.endpoint,
        region_name=REGION,
        aws_access_key_id="testing",
        aws_secret_access_key="testing",  # noqa: S106 - moto takes anything
    ).assume_role(RoleArn="arn:aws:iam::123456789012:role/node", RoleSessionName="i-0abc")
    credentials = {
        "AWS_ACCESS_KEY_ID": session["Credentials"]["AccessKeyId"],
        "AWS_SECRET_ACCESS_KEY": session["Credentials"]["SecretAccessKey"],
        "AWS_SESSION_TOKEN": session["Credentials"]["SessionToken"],
    }
    with make_job(size=1, settings=credentials).attempt() as attempt:
        assert attempt.exit_codes() == [78], attempt.logs()
    assert "assumed-role/node/i-0abc, expected arn:aws:iam::123456789012:role/trainer" in (
        attempt.logs()
    )
    assert aws.object_keys() == []


def test_a_bucket_that_refuses_fails_the_pod(make_job: MakeJob) -> None:
    settings = {"GANGWAY_RESULTS_BUCKET": "no-such-bucket"}
    with make_job(size=1, settings=settings).attempt() as attempt:
        assert attempt.exit_codes() == [74], attempt.logs()
    assert "NoSuchBucket" in attempt.logs()


def a_script(folder: Path, text: str) -> tuple[str, str]:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    return "--script", str(path)


def test_the_last_retry_uploads_its_failure_before_the_pod_ends(
    make_job: MakeJob, aws: Aws, tmp_path: Path
) -> None:
    text = (
        "def train(context):\n"
        "    if context.rank == 1:\n"
        "        raise ValueError('the labels do not match')\n"
        "    while not context.stopping:\n"
        "        context._stop.wait(0.1)\n"
    )
    job = make_job(arguments=a_script(tmp_path, text), settings={"GANGWAY_MAX_RETRY": "2"})
    with job.attempt(version=0) as attempt:
        assert attempt.exit_codes() == [75, 70], attempt.logs()
    assert aws.job_documents() == []
    with job.attempt(version=2) as attempt:
        assert attempt.exit_codes() == [75, 70], attempt.logs()
    (document,) = aws.job_documents()
    assert document["status"] == "failed"
    assert document["failure"]["rank"] == 1
    assert "the labels do not match" in document["failure"]["reason"]
    assert [rank["rank"] for rank in document["ranks"]] == [0, 1]


def test_a_users_script_keeps_the_report_contract(
    make_job: MakeJob, aws: Aws, tmp_path: Path
) -> None:
    text = (
        "def train(context):\n"
        "    found = context.resume()\n"
        "    context.save(7, b'state', {'note': 'mine'})\n"
        "    context.progress(7, 0.5, 70)\n"
        "    return {'final_loss': 0.5, 'accuracy': 0.9, 'samples': 70}\n"
    )
    document = finish(make_job(size=2, arguments=a_script(tmp_path, text)), version=0)
    assert document["training_results"]["final_loss"] == 0.5
    assert document["training_results"]["metrics"] == {"accuracy": 0.9}
    assert [one["step"] for one in document["checkpoints"]["written"]] == [7]


def test_a_users_own_command_keeps_the_report_contract(make_job: MakeJob, aws: Aws) -> None:
    say = 'echo \'{"event": "result", "final_loss": 0.25}\' >> "$GANGWAY_EVENTS_FILE"'
    document = finish(make_job(size=2, arguments=("--", "/bin/sh", "-c", say)), version=0)
    assert document["training_results"]["final_loss"] == 0.25
    assert len(document["ranks"]) == 2
