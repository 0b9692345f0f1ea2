"""Free loopback ports, away from the range that outgoing connections use."""

import contextlib
import secrets
import socket
from collections.abc import Iterator

from infra.errors import GangwayError

LOOPBACK = "127.0.0.1"
FIRST_PORT = 20_000
LAST_PORT = 31_999
"""Below Linux's ephemeral range (32768 and up), so no client socket takes a port meanwhile."""

_ATTEMPTS = 200
_handed_out: set[int] = set()


def is_free(port: int) -> bool:
    """Whether nothing listens on the port, on loopback or on all addresses."""
    for host in (LOOPBACK, ""):
        with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_STREAM)) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError:
                return False
    return True


def is_listening(port: int, host: str = LOOPBACK) -> bool:
    """Whether a program accepts connections on the port."""
    try:
        with socket.create_connection((host, port), timeout=0.5):
            return True
    except OSError:
        return False


def candidates() -> Iterator[int]:
    """Ports to try, in random order so that rehearsals starting together rarely meet."""
    for _ in range(_ATTEMPTS):
        yield FIRST_PORT + secrets.randbelow(LAST_PORT - FIRST_PORT + 1)


def free_port() -> int:
    """A port that is free now and was not handed out by this process before.

    Raises GangwayError when none of many tries is free.
    """
    for port in candidates():
        if port not in _handed_out and is_free(port):
            _handed_out.add(port)
            return port
    message = (
        f"no free port between {FIRST_PORT} and {LAST_PORT} on {LOOPBACK}: "
        "stop rehearsals that are no longer needed with `gangway rehearse down`"
    )
    raise GangwayError(message)
