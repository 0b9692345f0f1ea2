"""Where the workers meet: all present within a deadline, one common start, and an end for all.

One supervisor runs in each pod. Rank 0's listens; the others find it by name (which may take a
while to resolve) and say who they are. When all are there everyone gets the same start message.
The connections then stay open with a heartbeat each way, so that a lost pod is known within
seconds whatever the framework's own collectives are waiting for. At the end the ranks hand their
documents to rank 0 and leave only after it says that the job's document is safe.
"""

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from trainer.environment import World
from trainer.exits import RendezvousError

Message = dict[str, Any]

HEARTBEAT_SECONDS: Final = 1.0
SILENCE_SECONDS: Final = 10.0
"""A peer that sends nothing for this long is lost, even when its connection stays open."""
RETRY_SECONDS: Final = 0.3
FAREWELL_SECONDS: Final = 180.0
"""How long a finished rank waits for the others' documents to be safe."""
GREETING_SECONDS: Final = 5.0


class Link:
    """One connection of JSON lines with a heartbeat in both directions."""

    def __init__(self, connection: socket.socket, peer: str, changed: threading.Condition) -> None:
        self.peer = peer
        self.hello: Message = {}
        self.report: Message | None = None
        self.farewell = False
        self.leaving = False
        self.closed = False
        self._connection = connection
        self._changed = changed
        self._last_heard = time.monotonic()
        self._sending = threading.Lock()
        connection.settimeout(None)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def watch(self, on_message: Callable[["Link", Message], None]) -> None:
        """Read and beat in the background until the connection ends."""
        threading.Thread(target=self._read, args=(on_message,), daemon=True).start()
        threading.Thread(target=self._beat, daemon=True).start()

    def send(self, message: Message) -> None:
        """Send one message; a connection that is gone is noted, not raised."""
        try:
            with self._sending:
                self._connection.sendall(json.dumps(message).encode() + b"\n")
        except OSError:
            self.close()

    def close(self) -> None:
        """End the connection."""
        with self._changed:
            self.closed = True
            self._changed.notify_all()
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._connection.close()

    @property
    def lost(self) -> bool:
        """Whether the peer is gone or silent."""
        return self.closed or time.monotonic() - self._last_heard > SILENCE_SECONDS

    def _read(self, on_message: Callable[["Link", Message], None]) -> None:
        with contextlib.suppress(OSError, ValueError), self._connection.makefile("rb") as lines:
            for line in lines:
                self._last_heard = time.monotonic()
                message = json.loads(line)
                with self._changed:
                    on_message(self, message)
                    self._changed.notify_all()
        self.close()

    def _beat(self) -> None:
        pause = threading.Event()
        while not self.closed:
            self.send({"beat": True})
            pause.wait(HEARTBEAT_SECONDS)


class Gang:
    """The ranks of one attempt, as one of them sees the others."""

    def __init__(self, world: World, hello: Message) -> None:
        self.world = world
        self.hello = {**hello, "rank": world.rank, "size": world.size}
        self.hellos: list[Message] = []
        self.start: Message = {}
        self.links: dict[int, Link] = {}
        self.changed = threading.Condition()
        self.came: set[int] = set()
        self._listener: socket.socket | None = None

    def meet(self, agree: Callable[[], Message], stop: threading.Event) -> None:
        """Wait until the world is complete and started; `agree` gives what rank 0 tells all."""
        deadline = time.monotonic() + self.world.rendezvous_timeout_seconds
        if self.world.rank == 0:
            self._lead(agree, deadline, stop)
        else:
            self._follow(deadline, stop)

    def lost_peer(self) -> str | None:
        """Say which peer failed or went without its document, or None."""
        with self.changed:
            for link in self.links.values():
                if link.report is not None and link.report.get("status") == "failed":
                    return f"{link.peer} failed"
                if link.lost and link.report is None and not link.farewell:
                    return f"{link.peer} is gone"
        return None

    def announce_leave(self) -> None:
        """Tell the others that this rank was asked to end and stops after a common step."""
        for link in list(self.links.values()):
            link.send({"leaving": True})

    def leaving_peer(self) -> str | None:
        """Name a peer that was asked to end, or None."""
        return next((link.peer for link in self.links.values() if link.leaving), None)

    def collect(self, own: Message, deadline_seconds: float = FAREWELL_SECONDS) -> list[Message]:
        """On rank 0: wait for the documents of the others and return all that came, by rank."""
        with self.changed:
            self.changed.wait_for(
                lambda: all(link.report or link.lost for link in self.links.values()),
                timeout=deadline_seconds,
            )
            reports = {rank: link.report for rank, link in self.links.items() if link.report}
        return [own, *(reports[rank] for rank in sorted(reports))]

    def hand_over(self, report: Message, deadline_seconds: float = FAREWELL_SECONDS) -> bool:
        """On the others: give rank 0 the own document; True when it says that all is safe."""
        link = self.links.get(0)
        if link is None:
            return False
        link.send({"report": report})
        with self.changed:
            self.changed.wait_for(lambda: link.farewell or link.lost, timeout=deadline_seconds)
            return link.farewell

    def dismiss(self) -> None:
        """On rank 0: tell the others that the job's document is safe."""
        for link in self.links.values():
            link.send({"farewell": True})

    def close(self) -> None:
        """End every connection."""
        if self._listener is not None:
            self._listener.close()
        for link in list(self.links.values()):
            link.close()

    def _lead(self, agree: Callable[[], Message], deadline: float, stop: threading.Event) -> None:
        if self.world.size > 1:
            self._listener = _listen(self.world.rendezvous_port, deadline, stop)
            threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()
        agreed = agree()
        with self.changed:
            while self._present() < self.world.size - 1:
                left = deadline - time.monotonic()
                if left <= 0 or stop.is_set():
                    raise RendezvousError(self._incomplete())
                self.changed.wait(timeout=min(left, RETRY_SECONDS))
            present = [link.hello for _, link in sorted(self.links.items())]
            self.hellos = [self.hello, *present]
            self.start = {**agreed, "hellos": self.hellos}
        for link in self.links.values():
            link.send({"start": self.start})

    def _present(self) -> int:
        """Count the followers that are here now; one that went before the start may come again."""
        self.links = {rank: link for rank, link in self.links.items() if not link.lost}
        return len(self.links)

    def _incomplete(self) -> str:
        """Tell ranks that never came from those that gave up before this one did."""
        missing = sorted(set(range(1, self.world.size)) - self.came)
        left = sorted(self.came - set(self.links))
        said = [f"{1 + len(self.came)} of {self.world.size} ranks came"]
        said += [f"rank {_listed(missing)} missing"] if missing else []
        said += [f"rank {_listed(left)} left before the start"] if left else []
        return (
            f"the gang was not complete within {self.world.rendezvous_timeout_seconds:g} s: "
            f"{', '.join(said)}"
        )

    def _accept(self, listener: socket.socket) -> None:
        while True:
            try:
                connection, address = listener.accept()
            except OSError:
                return
            threading.Thread(target=self._greet, args=(connection, address), daemon=True).start()

    def _greet(self, connection: socket.socket, address: Any) -> None:
        try:
            connection.settimeout(GREETING_SECONDS)
            hello = json.loads(_read_line(connection))["hello"]
            rank = int(hello["rank"])
            same = all(hello.get(name) == self.hello.get(name) for name in ("uid", "version"))
            if not same or hello.get("size") != self.world.size or not 0 < rank < self.world.size:
                connection.close()
                return
        except (OSError, ValueError, KeyError, TypeError):
            connection.close()
            return
        link = Link(connection, f"rank {rank} ({hello.get('pod', address[0])})", self.changed)
        link.hello = hello
        with self.changed:
            if self.start:
                connection.close()
                return
            self.links[rank] = link
            self.came.add(rank)
            self.changed.notify_all()
        link.watch(self._on_message)

    def _on_message(self, link: Link, message: Message) -> None:
        if "start" in message:
            self.start = message["start"]
            self.hellos = self.start["hellos"]
        elif "report" in message:
            link.report = message["report"]
        elif "farewell" in message:
            link.farewell = True
        elif "leaving" in message:
            link.leaving = True

    def _follow(self, deadline: float, stop: threading.Event) -> None:
        trouble = "it was not tried"
        while time.monotonic() < deadline and not stop.is_set():
            try:
                link = self._greet_leader(deadline)
            except OSError as error:
                trouble = str(error)
                stop.wait(RETRY_SECONDS)
                continue
            with self.changed:
                self.changed.wait_for(
                    lambda link=link: self.start or link.lost or stop.is_set(),  # type: ignore[misc]
                    timeout=max(0.0, deadline - time.monotonic()),
                )
                if self.start:
                    self.links[0] = link
                    return
            trouble = "it ended the connection before the start"
            link.close()
            stop.wait(RETRY_SECONDS)
        message = (
            f"rank {self.world.rank} did not start with its leader {self.world.leader_host}:"
            f"{self.world.rendezvous_port} within {self.world.rendezvous_timeout_seconds:g} s: "
            f"{trouble}"
        )
        raise RendezvousError(message)

    def _greet_leader(self, deadline: float) -> Link:
        address = (self.world.leader_host, self.world.rendezvous_port)
        patience = max(0.1, min(GREETING_SECONDS, deadline - time.monotonic()))
        connection = socket.create_connection(address, timeout=patience)
        link = Link(connection, f"the leader {self.world.leader_host}", self.changed)
        link.send({"hello": self.hello})
        link.watch(self._on_message)
        return link


def _listed(ranks: list[int]) -> str:
    return ", ".join(str(rank) for rank in ranks)


def _read_line(connection: socket.socket) -> bytes:
    """Read one line without taking bytes of the next."""
    line = bytearray()
    while not line.endswith(b"\n"):
        byte = connection.recv(1)
        if not byte:
            break
        line += byte
    return bytes(line)


def _listen(port: int, deadline: float, stop: threading.Event) -> socket.socket:
    while True:
        try:
            return socket.create_server(("", port), backlog=128)
        except OSError as error:
            if time.monotonic() >= deadline or stop.is_set():
                message = f"rank 0 could not listen on port {port}: {error}"
                raise RendezvousError(message) from error
            stop.wait(RETRY_SECONDS)
