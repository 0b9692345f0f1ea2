"""From a container's world to this machine's: paths, listen addresses, peers' host names."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Final

from infra.rehearsal.pods.selection import Program
from infra.rehearsal.ports import LOOPBACK, free_port

_BEFORE: Final = r"(?<![\w./-])"
_AFTER_MOUNT: Final = r"(?=$|/|[^\w.-])"
_AFTER_PARENT: Final = r"(?=/?(?:$|[^\w./-]))"
_LEAST_PARENT_DEPTH: Final = 3
"""Parts of a parent path that is translated: `/opt/gangway` yes, `/opt` no."""

_ADDRESS_PORT_NAMES: Final = (("_ADDR", "_PORT"), ("_HOST", "_PORT"))


class PathTranslator:
    """Replaces the container's mounted paths in any text by their places below its root.

    A parent folder of a mount is replaced where a text names just that (as PYTHONPATH does).
    """

    def __init__(self, mounts: Mapping[str, Path], root: Path) -> None:
        parents = {
            str(parent)
            for mount in mounts
            for parent in PurePosixPath(mount).parents
            if len(parent.parts) >= _LEAST_PARENT_DEPTH and str(parent) not in mounts
        }
        patterns = [re.escape(mount) + _AFTER_MOUNT for mount in _longest_first(mounts)]
        patterns += [re.escape(parent) + _AFTER_PARENT for parent in _longest_first(parents)]
        self._pattern = re.compile(_BEFORE + f"(?:{'|'.join(patterns)})") if patterns else None
        self._root = root

    def __call__(self, text: str) -> str:
        """The text with its container paths replaced."""
        if self._pattern is None:
            return text
        return self._pattern.sub(lambda match: f"{self._root}{match.group(0)}", text)


class AddressBook:
    """Loopback ports that stand for ports of pods, the same for all that name the same one."""

    def __init__(self, choose: Callable[[], int] = free_port) -> None:
        self._choose = choose
        self._ports: dict[tuple[str, str, int], int] = {}
        self._lock = threading.Lock()

    def port(self, namespace: str, host: str, port: int) -> int:
        """The local port behind `host:port` of a namespace."""
        with self._lock:
            key = (namespace, host, port)
            if key not in self._ports:
                self._ports[key] = self._choose()
            return self._ports[key]


def translate_peers(
    values: Mapping[str, str], *, namespace: str, subdomain: str | None, book: AddressBook
) -> dict[str, str]:
    """Host names of the pod's subdomain become loopback, each of their ports one of its own.

    Variables come in pairs (MASTER_ADDR, MASTER_PORT) or hold `host:port` (TF_CONFIG).
    """
    if not subdomain:
        return dict(values)
    name = (
        rf"([a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.{re.escape(subdomain)})(?:\.[a-z0-9-]+\.svc[a-z.]*)?"
    )
    with_port = re.compile(rf"(?<![\w.-]){name}:(\d+)")
    alone = re.compile(rf"(?<![\w.-]){name}(?![\w:.-])")

    def mapped(match: re.Match[str]) -> str:
        return f"{LOOPBACK}:{book.port(namespace, match.group(1), int(match.group(2)))}"

    translated = dict(values)
    for variable, value in values.items():
        whole = alone.fullmatch(value)
        partner = _partner(variable)
        if whole and partner and values.get(partner, "").isdigit():
            port = int(values[partner])
            translated[partner] = str(book.port(namespace, whole.group(1), port))
        if variable not in translated or translated[variable] == value:
            translated[variable] = alone.sub(LOOPBACK, with_port.sub(mapped, value))
    return translated


def _partner(variable: str) -> str | None:
    for address, port in _ADDRESS_PORT_NAMES:
        if variable.endswith(address):
            return variable.removesuffix(address) + port
    return None


def listen_arguments(
    program: Program, words: Sequence[str], choose: Callable[[], int] = free_port
) -> tuple[list[str], dict[int, int]]:
    """The arguments with every listen address on a loopback port of its own.

    Returns them with the map from the container's ports to local ones.
    """
    kept, ports = list(words), {}
    for flag, default in program.listens.items():
        port = choose()
        given, kept = _take(kept, flag)
        ports[int(given.rsplit(":", 1)[-1]) if given else default] = port
        kept.append(f"{flag}={LOOPBACK}:{port}")
    if program.port_flag and program.serving_port:
        port = choose()
        given, kept = _take(kept, program.port_flag)
        ports[int(given) if given else program.serving_port] = port
        kept += [f"{program.port_flag}={port}", f"--listen-address={LOOPBACK}"]
    return kept, ports


def _take(words: Sequence[str], flag: str) -> tuple[str | None, list[str]]:
    given = [word.removeprefix(f"{flag}=") for word in words if word.startswith(f"{flag}=")]
    return (given[-1] if given else None), [
        word for word in words if not word.startswith(f"{flag}=")
    ]


def _longest_first(paths: Mapping[str, Path] | set[str]) -> list[str]:
    return sorted(paths, key=len, reverse=True)
