"""HTTP without surprises: short waits, a dead host asked once, checksums on the way."""

import hashlib
import http.client
import socket
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from contextlib import closing
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

CONNECT_SECONDS: Final = 3.0
"""A reachable host answers well within it; a firewall that drops packets costs no more."""

_STALL_SECONDS: Final = 30.0
_CHUNK: Final = 1 << 20
_LARGEST_TEXT: Final = 64 << 20
_USER_AGENT: Final = "gangway-rehearsal-tools"

Answer = http.client.HTTPResponse


class WebError(Exception):
    """A URL did not give what was asked; the message names it and says why."""

    def __init__(self, message: str, status: int = 0, headers: Mapping[str, str] | None = None):
        super().__init__(message)
        self.status = status
        self.headers = headers or {}


class Web:
    """Fetches URLs, remembering for its lifetime which hosts do not answer."""

    def __init__(self, connect_seconds: float = CONNECT_SECONDS):
        self._connect_seconds = connect_seconds
        self._dead: dict[str, str] = {}
        self._opener = urllib.request.build_opener()

    def exists(self, url: str) -> None:
        """Raise WebError unless the URL can be fetched."""
        self._open(url, {}, method="HEAD").close()

    def body(self, url: str, headers: Mapping[str, str] | None = None) -> bytes:
        """Return a small body."""
        with closing(self._open(url, headers or {})) as answer:
            return self._read(url, answer, _LARGEST_TEXT)

    def text(self, url: str, headers: Mapping[str, str] | None = None) -> str:
        """Return a small body as text."""
        return self.body(url, headers).decode("utf-8", errors="replace")

    def download(
        self,
        url: str,
        target: Path,
        advance: Callable[[int, int | None], None],
        headers: Mapping[str, str] | None = None,
    ) -> str:
        """Write the body to `target` and return its SHA-256; a short body is an error."""
        digest = hashlib.sha256()
        received = 0
        with closing(self._open(url, headers or {})) as answer, target.open("wb") as file:
            length = answer.headers.get("Content-Length")
            total = int(length) if length else None
            while chunk := self._read(url, answer, _CHUNK):
                digest.update(chunk)
                file.write(chunk)
                received += len(chunk)
                advance(len(chunk), total)
        if total is not None and received != total:
            message = f"{url}: the connection ended after {received} of {total} bytes"
            raise WebError(message)
        return digest.hexdigest()

    def _open(self, url: str, headers: Mapping[str, str], method: str = "GET") -> Answer:
        host = urlsplit(url).netloc
        if host in self._dead:
            raise WebError(self._dead[host])
        if urlsplit(url).scheme not in ("http", "https"):
            message = f"{url}: only http and https are fetched"
            raise WebError(message)
        request = urllib.request.Request(url, method=method)  # noqa: S310 scheme checked above
        request.add_header("User-Agent", _USER_AGENT)
        for name, value in headers.items():
            # A redirect to another host must not carry a token along.
            request.add_unredirected_header(name, value)
        return self._send(request, host)

    def _send(self, request: urllib.request.Request, host: str) -> Answer:
        url = request.full_url
        try:
            answer: Answer = self._opener.open(request, timeout=self._connect_seconds)
        except urllib.error.HTTPError as error:
            message = f"{url}: HTTP {error.code} {error.reason}"
            raise WebError(message, error.code, dict(error.headers.items())) from error
        except (OSError, http.client.HTTPException) as error:
            cause = getattr(error, "reason", error)
            reason = getattr(cause, "strerror", None) or cause
            self._dead[host] = f"{host} cannot be reached ({reason})"
            raise WebError(self._dead[host]) from error
        _allow_longer_reads(answer)
        return answer

    @staticmethod
    def _read(url: str, answer: Answer, size: int) -> bytes:
        try:
            return answer.read(size)
        except (OSError, http.client.HTTPException) as error:
            message = f"{url}: the connection broke ({error})"
            raise WebError(message) from error


def _allow_longer_reads(answer: Answer) -> None:
    """Once connected, a slow server gets more patience than an absent one."""
    raw = getattr(answer.fp, "raw", None)
    connection = getattr(raw, "_sock", None)
    if isinstance(connection, socket.socket):
        connection.settimeout(_STALL_SECONDS)
