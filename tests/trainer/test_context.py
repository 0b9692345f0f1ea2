import json
from pathlib import Path

import pytest

from tests.support.pod_environment import environment
from tests.support.s3 import MemoryS3
from trainer.checkpoint import Checkpoints
from trainer.context import Context, Events
from trainer.exits import StorageError
from trainer.storage import Storage


def a_context(path: Path, client: MemoryS3 | None = None, **changes: str) -> Context:
    found = environment(**changes)
    storage = Storage(found.destination, client=client or MemoryS3())
    return Context(
        checkpoints=Checkpoints(storage, "gang-train", "uid"),
        environment=found,
        events=Events(str(path)),
        local_rank=0,
        local_world_size=2,
    )


def events(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def test_a_workers_batch_is_shared_by_its_gpus(tmp_path: Path) -> None:
    assert a_context(tmp_path / "events").batch_size == 128


def test_only_rank_0_writes_checkpoints(tmp_path: Path) -> None:
    client = MemoryS3()
    a_context(tmp_path / "events", client, RANK="1").save(5, b"x")
    assert client.objects == {}
    a_context(tmp_path / "events", client, RANK="0").save(5, b"x")
    assert list(client.objects) == ["logs/checkpoints/gang-train/uid/step-0000000005.ckpt"]
    assert [event["event"] for event in events(tmp_path / "events")] == ["checkpoint"]


def test_a_run_resumes_from_what_all_agreed_on(tmp_path: Path) -> None:
    context = a_context(tmp_path / "events")
    context.resume_key = context.checkpoints.save(5, b"old")
    context.checkpoints.save(9, b"newer, but not agreed on")
    found = context.resume()
    assert found
    assert found.payload == b"old"


def test_a_fresh_start_resumes_from_nothing(tmp_path: Path) -> None:
    assert a_context(tmp_path / "events").resume() is None


def test_rejects_an_agreed_checkpoint_that_is_gone(tmp_path: Path) -> None:
    context = a_context(tmp_path / "events")
    context.resume_key = "logs/checkpoints/gone"
    with pytest.raises(StorageError, match="was complete a moment ago"):
        context.resume()


def test_progress_is_thinned(tmp_path: Path) -> None:
    context = a_context(tmp_path / "events")
    for step in range(1000):
        context.progress(step, 0.5, step)
    assert 1 <= len(events(tmp_path / "events")) < 500


def test_a_signal_is_a_wish_to_stop(tmp_path: Path) -> None:
    context = a_context(tmp_path / "events")
    assert not context.stopping
    context.stop(15, None)
    assert context.stopping


def test_the_stop_file_is_a_wish_to_stop(tmp_path: Path) -> None:
    context = a_context(tmp_path / "events")
    context.stop_file = tmp_path / "stop"
    assert not context.stopping
    context.stop_file.touch()
    assert context.stopping


def test_without_a_supervisor_events_go_nowhere() -> None:
    Events(None).emit("progress", step=1)
