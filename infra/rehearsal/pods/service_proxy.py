"""What kube-proxy does, for the API server's own calls: a service's address leads to its pods.

The API server dials in-cluster services (admission webhooks) through this HTTP CONNECT proxy, so
webhook configurations stay as their chart wrote them, TLS names included.
"""

import asyncio
import contextlib
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from infra.errors import GangwayError
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.ports import LOOPBACK

Backend = Callable[[str, Mapping[str, str], str], int | None]

_READ_BYTES: Final = 65_536


class ServiceProxy:
    """An HTTP CONNECT proxy on a local socket, in a thread of its own."""

    def __init__(self, api: KubernetesApi, backend: Backend, socket: Path) -> None:
        self._api = api
        self._backend = backend
        self._socket = socket
        self._loop = asyncio.new_event_loop()
        self._listening = threading.Event()
        self._failure: OSError | None = None
        self._thread = threading.Thread(target=self._serve, name="service-proxy", daemon=True)

    def start(self) -> None:
        """Listen; raises GangwayError when the socket cannot be made."""
        self._thread.start()
        self._listening.wait(timeout=10)
        if self._failure is not None:
            message = f"the service proxy cannot listen on {self._socket}: {self._failure.strerror}"
            raise GangwayError(message)

    def stop(self) -> None:
        """Stop listening."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=5)

    def resolve(self, address: str, port: int) -> int | None:
        """The local port behind a cluster address and a service port."""
        for service in self._api.items("/api/v1/services", resourceVersion="0"):
            if service["spec"].get("clusterIP") == address:
                return self._resolve_port(service, port)
        return None

    def _resolve_port(self, service: Mapping[str, Any], port: int) -> int | None:
        for entry in service["spec"].get("ports", []):
            if entry["port"] == port:
                target = str(entry.get("targetPort", port))
                selector = service["spec"].get("selector") or {}
                return self._backend(service["metadata"]["namespace"], selector, target)
        return None

    def _serve(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._socket.unlink(missing_ok=True)
        try:
            server = self._loop.run_until_complete(
                asyncio.start_unix_server(self._connect, self._socket)
            )
        except OSError as error:
            self._failure = error
            return
        finally:
            self._listening.set()
        with contextlib.suppress(RuntimeError):
            self._loop.run_forever()
        server.close()
        self._socket.unlink(missing_ok=True)

    async def _connect(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            local = await self._target(head)
            if local is None:
                writer.write(b"HTTP/1.1 503 No ready endpoint\r\n\r\n")
                return
            upstream_reader, upstream_writer = await asyncio.open_connection(LOOPBACK, local)
            writer.write(b"HTTP/1.1 200 Connection established\r\n\r\n")
            await asyncio.gather(_pipe(reader, upstream_writer), _pipe(upstream_reader, writer))
        except (OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    async def _target(self, head: bytes) -> int | None:
        words = head.split(b"\r\n", 1)[0].decode(errors="replace").split()
        if len(words) < 2 or words[0] != "CONNECT":  # noqa: PLR2004 - method and address
            return None
        host, _, port = words[1].rpartition(":")
        try:
            return await asyncio.to_thread(self.resolve, host.strip("[]"), int(port))
        except GangwayError:
            return None


async def _pipe(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while data := await reader.read(_READ_BYTES):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        with contextlib.suppress(OSError, RuntimeError):
            writer.close()
