"""The real S3 client against an endpoint that is down, slow, or refuses for a while."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.gang import free_port
from tests.support.pod_environment import environment
from trainer import storage
from trainer.exits import StorageError

BUSY = 503


class Endpoint(BaseHTTPRequestHandler):
    """Answers PUT with the next of the server's statuses; None is no answer at all."""

    def do_PUT(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", "0")))
        status = self.server.statuses.pop(0)  # type: ignore[attr-defined]
        if status is None:
            self.server.over.wait(10)  # type: ignore[attr-defined]
            return
        self.send_response(status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Keep the test's output clean."""


@contextmanager
def endpoint(statuses: list[int | None], monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), Endpoint)
    server.statuses = statuses  # type: ignore[attr-defined]
    server.over = threading.Event()  # type: ignore[attr-defined]
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.over.set()  # type: ignore[attr-defined]
        server.shutdown()
        server.server_close()
        thread.join(5)


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "testing")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "testing")
    monkeypatch.setattr(storage, "READ_SECONDS", 0.5)
    monkeypatch.setattr(storage, "CONNECT_SECONDS", 0.5)


def put(deadline_seconds: float) -> None:
    storage.Storage(
        environment().destination, deadline_seconds=deadline_seconds, first_pause_seconds=0.05
    ).put("logs/a", b"x")


def test_an_endpoint_that_is_down_is_given_up_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AWS_ENDPOINT_URL", f"http://127.0.0.1:{free_port()}")
    with pytest.raises(StorageError, match=r"failed \d+ times: EndpointConnectionError"):
        put(deadline_seconds=0.5)


def test_an_endpoint_that_never_answers_is_given_up_at_the_deadline(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with (
        endpoint([None] * 50, monkeypatch),
        pytest.raises(StorageError, match=r"failed \d+ times: ReadTimeoutError"),
    ):
        put(deadline_seconds=1.0)


def test_an_endpoint_that_is_busy_or_slow_for_a_while_gets_the_object(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    statuses: list[int | None] = [BUSY, None, BUSY, 200]
    with endpoint(statuses, monkeypatch):
        put(deadline_seconds=30.0)
    assert statuses == []
