import pytest

from tests.support.pod_environment import environment
from tests.support.s3 import MemoryS3
from trainer.checkpoint import Checkpoints, MalformedCheckpointError, pack, unpack
from trainer.exits import StorageError
from trainer.storage import Storage


@pytest.fixture
def client() -> MemoryS3:
    return MemoryS3()


@pytest.fixture
def checkpoints(client: MemoryS3) -> Checkpoints:
    return Checkpoints(Storage(environment().destination, client=client), "gang-train", "uid")


def test_a_checkpoint_comes_back_as_it_was_saved(checkpoints: Checkpoints) -> None:
    key = checkpoints.save(50, b"weights\nand more", {"epoch": 2})
    found = checkpoints.latest()
    assert found
    assert (found.key, found.step, found.payload) == (key, 50, b"weights\nand more")
    assert found.notes == {"epoch": 2}


def test_keys_lie_below_the_prefix_and_the_jobs_uid(checkpoints: Checkpoints) -> None:
    key = checkpoints.save(50, b"")
    assert key == "logs/checkpoints/gang-train/uid/step-0000000050.ckpt"


def test_the_newest_step_wins_whatever_was_written_last(checkpoints: Checkpoints) -> None:
    checkpoints.save(1000, b"new")
    checkpoints.save(200, b"old")
    found = checkpoints.latest()
    assert found
    assert found.step == 1000


def test_no_checkpoint_is_none(checkpoints: Checkpoints) -> None:
    assert checkpoints.latest() is None


def test_another_job_of_the_name_starts_afresh(client: MemoryS3, checkpoints: Checkpoints) -> None:
    checkpoints.save(50, b"weights")
    other = Checkpoints(checkpoints.storage, "gang-train", "another-uid")
    assert other.latest() is None


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        (b"", "its header is not that of a checkpoint"),
        (b"PK\x03\x04 something else", "its header is not that of a checkpoint"),
        (b'{"format": "other"}\n', "its header is not that of a checkpoint"),
        (pack(2, b"weights", {})[:-3], "it holds 4 of 7 bytes"),
        (pack(2, b"weights", {})[:-1] + b"!", "its bytes do not match its hash"),
        (pack(2, b"w", {}).replace(b"checkpoint-1", b"checkpoint-9"), "its format is"),
    ],
    ids=["empty", "foreign", "no header", "cut off", "damaged", "another format"],
)
def test_a_malformed_checkpoint_is_skipped_with_its_reason(
    client: MemoryS3, checkpoints: Checkpoints, body: bytes, reason: str
) -> None:
    checkpoints.save(1, b"good")
    newer = f"{checkpoints.folder}/step-0000000002.ckpt"
    client.objects[newer] = body
    found = checkpoints.latest()
    assert found
    assert found.step == 1
    (skipped,) = checkpoints.skipped
    assert skipped["key"] == newer
    assert reason in skipped["reason"]


def test_an_object_of_another_kind_is_no_checkpoint(
    client: MemoryS3, checkpoints: Checkpoints
) -> None:
    client.objects[f"{checkpoints.folder}/step-1.txt"] = b"x"
    assert checkpoints.latest() is None
    assert checkpoints.skipped == []


def test_rejects_to_unpack_what_is_cut_off() -> None:
    with pytest.raises(MalformedCheckpointError, match="it holds 0 of 1 bytes"):
        unpack("key", pack(1, b"x", {})[:-1])


def test_notes_are_kept_beside_the_checkpoints(checkpoints: Checkpoints) -> None:
    assert checkpoints.read_note("started") is None
    checkpoints.note("started", {"at": "now"})
    checkpoints.note("attempts/000003", {"version": 3})
    assert checkpoints.read_note("started") == {"at": "now"}
    assert checkpoints.note_names("attempts/") == ["attempts/000003"]


def test_rejects_a_note_that_is_not_json(client: MemoryS3, checkpoints: Checkpoints) -> None:
    client.objects[f"{checkpoints.folder}/started.json"] = b"{"
    with pytest.raises(StorageError, match=r"started\.json is not JSON"):
        checkpoints.read_note("started")
