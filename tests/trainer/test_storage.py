import pytest
from botocore.exceptions import EndpointConnectionError

from tests.support.pod_environment import environment
from tests.support.s3 import MemoryS3, client_error
from trainer.exits import ExitCode, StorageError
from trainer.storage import REFUSED_TRIES, Storage, persist

DOWN = EndpointConnectionError(endpoint_url="https://s3")


def a_storage(client: MemoryS3, deadline_seconds: float = 5.0) -> Storage:
    return Storage(
        environment().destination,
        client=client,
        deadline_seconds=deadline_seconds,
        first_pause_seconds=0.001,
    )


@pytest.mark.parametrize(
    "error", [DOWN, client_error("SlowDown"), client_error("InternalError")], ids=str
)
def test_a_failure_that_passes_is_retried(error: Exception) -> None:
    client = MemoryS3(errors=[error, error, error])
    a_storage(client).put("logs/a", b"x")
    assert client.objects == {"logs/a": b"x"}
    assert client.calls == 4


def test_a_failure_that_lasts_ends_with_what_was_tried() -> None:
    client = MemoryS3(errors=[DOWN] * 10_000)
    with pytest.raises(
        StorageError, match=r"writing s3://results/logs/a failed \d+ times: EndpointConnection"
    ) as failure:
        a_storage(client, deadline_seconds=0.05).put("logs/a", b"x")
    assert failure.value.exit_code is ExitCode.STORAGE_FAILED


@pytest.mark.parametrize("code", ["AccessDenied", "NoSuchBucket"])
def test_a_refusal_is_tried_only_a_few_times(code: str) -> None:
    client = MemoryS3(errors=[client_error(code)] * 100)
    with pytest.raises(StorageError, match=code):
        a_storage(client).put("logs/a", b"x")
    assert client.calls == REFUSED_TRIES


def test_a_grant_that_comes_late_is_waited_for() -> None:
    client = MemoryS3(errors=[client_error("AccessDenied")] * (REFUSED_TRIES - 1))
    a_storage(client).put("logs/a", b"x")
    assert client.objects


def test_a_missing_object_is_none_at_once() -> None:
    client = MemoryS3()
    assert a_storage(client).get("logs/none") is None
    assert client.calls == 1


def test_keys_are_those_below_the_prefix_over_every_page() -> None:
    client = MemoryS3()
    client.objects = {"logs/a": b"", "logs/b": b"", "other/c": b""}
    assert a_storage(client).keys("logs/") == ["logs/a", "logs/b"]


def test_the_answer_of_the_first_success_is_returned() -> None:
    answers = iter([OSError("no"), "yes"])

    def ask() -> str:
        answer = next(answers)
        if isinstance(answer, Exception):
            raise answer
        return answer

    assert persist("asking", ask, first_pause_seconds=0.001) == "yes"
