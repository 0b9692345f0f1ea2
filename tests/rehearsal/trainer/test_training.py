"""What a gang of real processes learns, and that it is what one process would learn."""

import json
import os
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from infra.rehearsal import frameworks
from tests.rehearsal.trainer.conftest import MakeJob
from tests.support.gang import Aws, GangJob, emulated_aws
from trainer.data import LOSS_FACTOR
from trainer.schema import load_schema

LIMIT_SECONDS = 60
SHORT = {"GANGWAY_EPOCHS": "1", "GANGWAY_BATCH_SIZE_PER_WORKER": "512"}
COMPARE = """
import io, json, sys
import numpy
def arrays(path):
    body = open(path, "rb").read()
    return numpy.load(io.BytesIO(body.partition(b"\\n")[2]))
one, two = (arrays(path) for path in sys.argv[1:])
assert sorted(one.files) == sorted(two.files)
names = [name for name in one.files if name.startswith("model/")]
print(json.dumps({name: float(abs(one[name] - two[name]).max()) for name in names}))
"""


class Finished:
    """A default run of two workers, kept for several tests."""

    def __init__(self, aws: Aws, job: GangJob, processor_seconds: float) -> None:
        self.aws = aws
        self.job = job
        self.processor_seconds = processor_seconds

    @property
    def document(self) -> dict[str, Any]:
        (document,) = self.aws.job_documents()
        return document


@pytest.fixture(scope="module")
def finished(framework: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Finished]:
    folder = tmp_path_factory.mktemp(framework)
    interpreter = frameworks.interpreter(framework)
    assert interpreter
    with emulated_aws() as aws:
        job = GangJob(aws, folder, framework, interpreter, settings={"TZ": "Asia/Kolkata"})
        before = os.times()
        with job.attempt() as attempt:
            codes = attempt.exit_codes()
        assert codes == [0, 0], attempt.logs()
        after = os.times()
        used = after.children_user + after.children_system
        yield Finished(aws, job, used - before.children_user - before.children_system)


def test_the_default_task_is_learned_by_the_stated_factor(finished: Finished) -> None:
    results = finished.document["training_results"]
    assert results["loss_fell_by_factor"] > LOSS_FACTOR
    assert results["learned_fraction"] > 0.95
    assert results["steps"] == 640


def test_the_default_task_takes_less_than_a_minute_of_two_cores(finished: Finished) -> None:
    """Counted in processor time, so that a busy machine does not fail it."""
    assert finished.processor_seconds / 2 < LIMIT_SECONDS


def test_every_document_fits_the_schema(finished: Finished) -> None:
    keys = [key for key in finished.aws.object_keys() if "/checkpoints/" not in key]
    assert len(keys) == 3
    for key in keys:
        jsonschema.validate(finished.aws.document(key), load_schema())


def test_keys_name_outcome_first_start_and_uid(finished: Finished) -> None:
    (key,) = [key for key in finished.aws.object_keys() if "volcano_training_" in key]
    assert re.fullmatch(r"logs/volcano_training_success_\d{8}T\d{6}Z_7a1c0d5e\.json", key)


def test_times_are_utc_whatever_the_pods_time_zone_is(finished: Finished) -> None:
    ended = finished.document["finished_at"]
    assert ended.endswith("Z")
    age = datetime.now(UTC) - datetime.fromisoformat(ended)
    assert timedelta(0) <= age < timedelta(minutes=10)


def test_the_ranks_are_joined_in_one_document(finished: Finished) -> None:
    document = finished.document
    assert [rank["rank"] for rank in document["ranks"]] == [0, 1]
    assert {rank["run_id"] for rank in document["ranks"]} == {document["run_id"]}
    assert document["gang"]["started_spread_ms"] < 10_000
    total = sum(rank["throughput"]["samples"] for rank in document["ranks"])
    assert document["throughput"]["samples"] == total == 640 * 512


def test_what_is_not_there_is_absent(finished: Finished) -> None:
    for rank in finished.document["ranks"]:
        assert "gpu_info" not in rank
        assert "instance_type" not in rank["aws_metadata"]


def test_a_rerun_of_a_finished_rank_writes_the_same_bytes(finished: Finished) -> None:
    def body(key: str) -> bytes:
        return finished.aws.body(key)

    before = {key: body(key) for key in finished.aws.object_keys()}
    with finished.job.attempt(version=1, ranks=(1, 0)) as attempt:
        assert attempt.exit_codes() == [0, 0], attempt.logs()
    assert {key: body(key) for key in finished.aws.object_keys()} == before


@dataclass(frozen=True)
class Short:
    """What a short run left."""

    checkpoint: Path
    final_loss: float
    interpreter: Path


@contextmanager
def run_short(framework: str, folder: Path, *, size: int, batch: int) -> Iterator[Short]:
    interpreter = frameworks.interpreter(framework)
    assert interpreter
    settings = {**SHORT, "GANGWAY_BATCH_SIZE_PER_WORKER": str(batch)}
    with emulated_aws() as aws:
        job = GangJob(aws, folder, framework, interpreter, size=size, settings=settings)
        results = run_to_end(job)["training_results"]
        yield Short(
            checkpoint=final_checkpoint(aws, folder / "final.ckpt"),
            final_loss=results["final_loss"],
            interpreter=interpreter,
        )


def final_checkpoint(aws: Aws, path: Path) -> Path:
    key = max(key for key in aws.object_keys() if key.endswith(".ckpt"))
    path.write_bytes(aws.body(key))
    return path


def run_to_end(job: GangJob, version: int = 0) -> dict[str, Any]:
    with job.attempt(version) as attempt:
        codes = attempt.exit_codes()
    assert set(codes) == {0}, attempt.logs()
    (document,) = job.aws.job_documents()
    return document


@pytest.fixture(scope="module")
def short(framework: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Short]:
    """A short run of two workers and its last checkpoint."""
    with run_short(framework, tmp_path_factory.mktemp("short"), size=2, batch=512) as found:
        yield found


def test_two_processes_give_the_weights_of_one_on_the_whole_batch(
    framework: str, short: Short, tmp_path: Path
) -> None:
    with run_short(framework, tmp_path, size=1, batch=1024) as alone:
        answer = subprocess.run(  # noqa: S603 - our own comparison
            [str(alone.interpreter), "-c", COMPARE, str(short.checkpoint), str(alone.checkpoint)],
            capture_output=True,
            check=True,
        )
    assert max(json.loads(answer.stdout).values()) < 1e-3


def test_two_runs_with_a_seed_agree(framework: str, short: Short, tmp_path: Path) -> None:
    with run_short(framework, tmp_path, size=2, batch=512) as again:
        assert again.final_loss == short.final_loss


def test_several_gpus_of_a_worker_are_as_many_ranks(make_job: MakeJob) -> None:
    document = run_to_end(make_job(size=2, settings={**SHORT, "LIMIT_GPUS": "2"}))
    assert document["job"]["world_size"] == 2
    assert document["training_results"]["steps"] == 64
    assert document["throughput"]["samples"] == 64 * 1024


def test_eight_workers_train_together(make_job: MakeJob) -> None:
    document = run_to_end(make_job(size=8, settings=SHORT))
    assert len(document["ranks"]) == 8
    assert document["training_results"]["steps"] == 16


def test_mixed_precision_learns_too(framework: str, make_job: MakeJob) -> None:
    settings = {"GANGWAY_EPOCHS": "2", "GANGWAY_MIXED_PRECISION": "true"}
    results = run_to_end(make_job(framework, size=1, settings=settings))["training_results"]
    assert results["mixed_precision"] is True
    assert results["loss_fell_by_factor"] > LOSS_FACTOR
