import hashlib
import socket
from pathlib import Path

import pytest

from infra.rehearsal.tools.web import Web, WebError
from tests.support.tools import Reply, tiny_web

pytestmark = pytest.mark.enable_socket


def ignore(amount: int, total: int | None) -> None:
    pass


def closed_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_a_download_gives_the_sum_and_counts_its_bytes(tmp_path: Path) -> None:
    seen: list[tuple[int, int | None]] = []
    with tiny_web({"/file": Reply(b"content")}) as web:
        found = Web().download(
            f"{web.url}/file", tmp_path / "file", lambda amount, total: seen.append((amount, total))
        )
    assert found == hashlib.sha256(b"content").hexdigest()
    assert (tmp_path / "file").read_bytes() == b"content"
    assert seen == [(7, 7)]


def test_rejects_a_download_that_ends_early(tmp_path: Path) -> None:
    with (
        tiny_web({"/file": Reply(b"cont", announced=7)}) as web,
        pytest.raises(WebError, match=r"/file: the connection (ended after 4 of 7 bytes|broke)"),
    ):
        Web().download(f"{web.url}/file", tmp_path / "file", ignore)


def test_a_missing_file_tells_url_and_status() -> None:
    with tiny_web() as web, pytest.raises(WebError, match=r"/gone: HTTP 404") as caught:
        Web().exists(f"{web.url}/gone")
    assert caught.value.status == 404


def test_existence_is_asked_without_a_body() -> None:
    with tiny_web({"/file": Reply(b"content")}) as web:
        Web().exists(f"{web.url}/file")
    assert web.requests[0][:2] == ("HEAD", "/file")


def test_a_refused_connection_is_named_at_once() -> None:
    with pytest.raises(WebError, match=r"127\.0\.0\.1:\d+ cannot be reached \(Connection refused"):
        Web().text(f"http://127.0.0.1:{closed_port()}/file")


def test_a_dead_host_is_asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    web = Web()
    url = f"http://127.0.0.1:{closed_port()}/file"
    with pytest.raises(WebError):
        web.exists(url)
    monkeypatch.setattr(web, "_opener", None)
    with pytest.raises(WebError, match="cannot be reached"):
        web.exists(url)


def test_a_silent_host_costs_only_the_short_wait() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        with pytest.raises(WebError, match=r"cannot be reached \(timed out\)"):
            Web(connect_seconds=0.05).text(f"http://127.0.0.1:{silent.getsockname()[1]}/")


def test_a_token_does_not_follow_a_redirect() -> None:
    with tiny_web({"/blob": Reply(b"layer")}) as store:
        moved = Reply(status=307, headers={"Location": f"{store.url}/blob"})
        with tiny_web({"/blob": moved}) as front:
            body = Web().body(f"{front.url}/blob", {"Authorization": "Bearer secret"})
    assert body == b"layer"
    assert front.requests[0][2]["Authorization"] == "Bearer secret"
    assert "Authorization" not in store.requests[0][2]


def test_rejects_a_scheme_that_is_not_http() -> None:
    with pytest.raises(WebError, match="only http and https are fetched"):
        Web().text("file:///etc/hostname")
