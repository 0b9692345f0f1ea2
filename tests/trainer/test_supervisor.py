import json
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.pod_environment import environment, variables
from tests.support.s3 import MemoryS3, client_error
from trainer import hardware, supervisor
from trainer.checkpoint import Checkpoints
from trainer.exits import ConfigurationError, ExitCode
from trainer.identity import Identity
from trainer.storage import Storage
from trainer.supervisor import Supervisor

IDENTITY = Identity(account="123456789012", role="trainer")
LEARN = 'echo \'{"event": "result", "final_loss": 0.25, "samples": 8}\' >> "$GANGWAY_EVENTS_FILE"'


@pytest.fixture(autouse=True)
def on_no_machine(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No GPU, no cluster, the right role; the signal handler is put back."""
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(supervisor, "check_identity", lambda *_: IDENTITY)
    monkeypatch.setattr(hardware, "read_gpus", list)
    yield
    signal.signal(signal.SIGTERM, before)


def a_supervisor(client: MemoryS3, script: str = LEARN, **changes: str) -> Supervisor:
    """The supervisor of a job of one pod that runs a shell script."""
    given = {"WORLD_SIZE": "1", "PATH": "/bin:/usr/bin", **changes}
    found = environment(**given)
    made = Supervisor(found, variables(**given), ["--", "/bin/sh", "-c", script])
    made.storage = Storage(
        found.destination, client=client, deadline_seconds=0.1, first_pause_seconds=0.001
    )
    made.checkpoints = Checkpoints(made.storage, found.job.name, found.job.uid)
    return made


def reports(client: MemoryS3) -> list[str]:
    return [key for key in client.objects if "/checkpoints/" not in key]


def document(client: MemoryS3) -> dict[str, Any]:
    (key,) = [key for key in client.objects if "volcano_training_" in key]
    found: dict[str, Any] = json.loads(client.objects[key])
    return found


def test_a_finished_run_leaves_its_ranks_and_its_jobs_report() -> None:
    client = MemoryS3()
    assert a_supervisor(client).run() is ExitCode.OK
    assert len(reports(client)) == 2
    assert document(client)["training_results"]["final_loss"] == 0.25


def test_a_rerun_changes_no_byte_and_trains_nothing() -> None:
    client = MemoryS3()
    a_supervisor(client).run()
    before = dict(client.objects)
    assert a_supervisor(client, "exit 1", JOB_VERSION="1").run() is ExitCode.OK
    assert client.objects == before


def test_a_process_that_ends_without_a_word_failed() -> None:
    made = a_supervisor(MemoryS3(), "exit 3")
    assert made.run() is ExitCode.TRAINING_FAILED
    assert made.record.failure
    assert "ended with code 3" in made.record.failure["reason"]


def test_a_process_may_name_its_cause() -> None:
    say = (
        'echo \'{"event": "failure", "exit_code": 78, "message": "no such column"}\''
        ' >> "$GANGWAY_EVENTS_FILE"; exit 1'
    )
    made = a_supervisor(MemoryS3(), say)
    assert made.run() is ExitCode.CONFIGURATION
    assert made.record.failure == {"exit_code": 78, "reason": "no such column"}


def test_a_failure_with_a_retry_left_uploads_no_report() -> None:
    client = MemoryS3()
    a_supervisor(client, "exit 3").run()
    assert reports(client) == []


def test_the_last_retry_uploads_its_failure() -> None:
    client = MemoryS3()
    for version in ("0", "2", "5"):
        a_supervisor(client, "exit 3", JOB_VERSION=version).run()
    found = document(client)
    assert (found["status"], found["job"]["attempt"]) == ("failed", 3)
    assert found["failure"]["exit_code"] == 70


def test_a_failure_that_no_retry_mends_is_uploaded_at_once() -> None:
    say = (
        'echo \'{"event": "failure", "exit_code": 78, "message": "no such column"}\''
        ' >> "$GANGWAY_EVENTS_FILE"; exit 1'
    )
    client = MemoryS3()
    a_supervisor(client, say).run()
    assert document(client)["failure"]["reason"] == "no such column"


def test_what_the_supervisor_itself_gets_wrong_is_a_failure_too(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hardware, "read_system", lambda: 1 / 0)
    made = a_supervisor(MemoryS3())
    assert made.run() is ExitCode.TRAINING_FAILED
    assert made.record.failure
    assert "ZeroDivisionError" in made.record.failure["reason"]


def test_every_attempt_has_the_first_ones_start() -> None:
    client = MemoryS3()
    first = a_supervisor(client, "exit 3")
    first.run()
    a_supervisor(client, JOB_VERSION="1").run()
    started = document(client)["started_at"]
    assert started == supervisor.report.utc(first.record.started_at)


def test_rejects_to_write_anything_as_somebody_else(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> Identity:
        message = "this pod is node, expected trainer"
        raise ConfigurationError(message)

    monkeypatch.setattr(supervisor, "check_identity", refuse)
    client = MemoryS3()
    assert a_supervisor(client, GANGWAY_MAX_RETRY="1").run() is ExitCode.CONFIGURATION
    assert client.objects == {}
    assert client.calls == 0


def test_a_report_that_cannot_be_kept_fails_the_pod() -> None:
    client = MemoryS3()
    made = a_supervisor(client)
    put = client.put_object

    def refuse_reports(**given: Any) -> None:
        if "volcano_training_" in given["Key"]:
            client.errors.append(client_error("AccessDenied"))
        put(**given)

    client.put_object = refuse_reports  # type: ignore[method-assign]
    assert made.run() is ExitCode.STORAGE_FAILED


def test_a_pod_that_is_asked_to_end_ends_its_training(tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    made = a_supervisor(
        MemoryS3(), f'trap "exit 0" TERM; touch {ready}; while :; do sleep 0.05; done'
    )

    def ask() -> None:
        pause = threading.Event()
        while not ready.exists():
            pause.wait(0.01)
        made.stop.set()

    threading.Thread(target=ask, daemon=True).start()
    assert made.run() is ExitCode.PREEMPTED


def test_what_the_processes_tell_is_in_the_report() -> None:
    say = "; ".join(
        f"echo '{event}' >> \"$GANGWAY_EVENTS_FILE\""
        for event in (
            '{"event": "resumed", "key": "k50", "step": 50}',
            '{"event": "progress", "step": 51, "loss": 0.5, "samples": 64}',
            '{"event": "checkpoint", "key": "k100", "step": 100}',
        )
    )
    client = MemoryS3()
    assert a_supervisor(client, say).run() is ExitCode.OK
    found = document(client)
    assert found["checkpoints"]["resumed_from"] == {"key": "k50", "step": 50}
    assert found["checkpoints"]["written"] == [{"key": "k100", "step": 100}]
    assert found["loss_curve"] == [{"step": 51, "loss": 0.5}]
    assert found["throughput"]["samples"] == 64
