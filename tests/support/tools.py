"""Stand-ins for tests of the tools: sources that obey, a reporter that listens, a tiny web."""

import hashlib
import io
import tarfile
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from infra.rehearsal.tools.model import PathRule, Source, SourceError, Step, Tool, Workshop
from infra.rehearsal.tools.settings import Machine, ToolSettings
from infra.rehearsal.tools.web import Web, WebError

LINUX = Machine(system="linux", architecture="amd64")


class OfflineWeb(Web):
    """A web in which no host answers."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[str] = []

    def exists(self, url: str) -> None:
        self._refuse(url)

    def body(self, url: str, headers: Mapping[str, str] | None = None) -> bytes:
        self._refuse(url)
        return b""

    def _refuse(self, url: str) -> None:
        self.asked.append(url)
        message = f"{url.split('/')[2]} cannot be reached (offline)"
        raise WebError(message)


def workshop_in(
    folder: Path,
    *,
    mirror: Path | str | None = None,
    registry: str | None = None,
    web: Web | None = None,
    machine: Machine = LINUX,
) -> Workshop:
    settings = ToolSettings(
        cache=folder / "cache" / "tools", mirror=mirror, registry=registry, machine=machine
    )
    return Workshop(settings=settings, web=web or OfflineWeb())


@dataclass
class SilentStep:
    details: list[str] = field(default_factory=list)
    received: int = 0

    def detail(self, text: str) -> None:
        self.details.append(text)

    def advance(self, amount: int, total: int | None = None) -> None:
        self.received += amount


@dataclass
class Listener:
    """A reporter that keeps what it is told."""

    steps: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)

    @contextmanager
    def step(self, title: str) -> Iterator[SilentStep]:
        self.steps.append(title)
        yield SilentStep()

    def remark(self, text: str) -> None:
        self.remarks.append(text)


@dataclass
class StubSource:
    """Gives `content`, or refuses with `refusal` when asked or `failure` when fetched."""

    content: bytes = b"program"
    refusal: str = ""
    failure: str = ""
    kind: str = "stub"
    version: str | None = None
    needs: str | None = None
    seconds: int = 7
    entry: str = "thing"
    fetched: int = 0
    while_fetching: Callable[[], None] = lambda: None

    def probe(self, workshop: Workshop) -> str:
        if self.refusal:
            raise SourceError(self.refusal)
        return "somewhere"

    def fetch(self, folder: Path, workshop: Workshop, step: Step) -> None:
        self.fetched += 1
        (folder / self.entry).write_bytes(self.content[:3])
        self.while_fetching()
        if self.failure:
            raise SourceError(self.failure)
        (folder / self.entry).write_bytes(self.content)


def tool_of(*sources: Source, name: str = "thing", on_path: PathRule | None = None) -> Tool:
    return Tool(
        name=name, version="1.2.3", why="a test", megabytes=1, sources=sources, on_path=on_path
    )


def nowhere(name: str) -> str | None:
    """PATH without anything on it."""
    return None


def program(folder: Path, name: str, prints: str) -> Path:
    """An executable that prints one line, whatever it is asked."""
    path = folder / name
    path.write_text(f"#!/bin/sh\necho '{prints}'\n", encoding="utf-8")
    path.chmod(0o755)
    return path


def tar_of(files: Mapping[str, bytes], mode: str = "w:gz") -> bytes:
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode=mode) as tar:  # type: ignore[call-overload]
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Reply:
    body: bytes = b""
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    announced: int | None = None


Route = Reply | Callable[[Mapping[str, str]], Reply]


@dataclass
class TinyWeb:
    """A loopback web server: `routes` by path and query, `requests` in order."""

    url: str
    routes: dict[str, Route] = field(default_factory=dict)
    requests: list[tuple[str, str, dict[str, str]]] = field(default_factory=list)


@contextmanager
def tiny_web(routes: Mapping[str, Route] | None = None) -> Iterator[TinyWeb]:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(with_body=True)

        def do_HEAD(self) -> None:
            self._answer(with_body=False)

        def _answer(self, *, with_body: bool) -> None:
            web.requests.append((self.command, self.path, dict(self.headers.items())))
            route = web.routes.get(self.path, Reply(status=404))
            reply = route(dict(self.headers.items())) if callable(route) else route
            self.send_response(reply.status)
            for name, value in reply.headers.items():
                self.send_header(name, value)
            length = len(reply.body) if reply.announced is None else reply.announced
            self.send_header("Content-Length", str(length))
            self.end_headers()
            if with_body:
                self.wfile.write(reply.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base's name
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    web = TinyWeb(url=f"http://127.0.0.1:{server.server_port}", routes=dict(routes or {}))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield web
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
