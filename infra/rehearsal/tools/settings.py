"""Where the tools are kept and fetched from: the environment read once, wrong values refused."""

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from infra.errors import UsageError

REPOSITORY_ROOT: Final = Path(__file__).resolve().parents[3]

_DEFAULT_MIRROR: Final = Path("..") / "shared" / "mirror"
"""Beside the repository; used only when it is there."""

_ARCHITECTURES: Final = {"x86_64": "amd64", "amd64": "amd64", "aarch64": "arm64", "arm64": "arm64"}
_LOOPBACK_HOSTS: Final = ("localhost", "127.0.0.1", "::1")


@dataclass(frozen=True, kw_only=True, slots=True)
class Machine:
    """The operating system and processor as Go spells them."""

    system: str
    architecture: str

    @classmethod
    def here(cls) -> "Machine":
        """Return the machine that this runs on."""
        name = platform.machine().lower()
        return cls(system=platform.system().lower(), architecture=_ARCHITECTURES.get(name, name))


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolSettings:
    """Everything the user may choose about the tools.

    `mirror` is a folder, an http(s) URL without a trailing slash, or None. `registry` is a base
    URL that replaces the host of every image, or None.
    """

    cache: Path
    mirror: Path | str | None
    registry: str | None
    machine: Machine

    @classmethod
    def from_environment(
        cls, environ: Mapping[str, str], repository_root: Path = REPOSITORY_ROOT
    ) -> "ToolSettings":
        """Read GANGWAY_CACHE, XDG_CACHE_HOME, GANGWAY_MIRROR and GANGWAY_REGISTRY."""
        return cls(
            cache=cache_folder(environ) / "tools",
            mirror=_mirror(environ.get("GANGWAY_MIRROR", ""), repository_root),
            registry=_registry(environ.get("GANGWAY_REGISTRY", "")),
            machine=Machine.here(),
        )


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return the folder for everything that a rehearsal keeps between runs."""
    own = environ.get("GANGWAY_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    xdg = environ.get("XDG_CACHE_HOME")
    base = Path(xdg) if xdg else Path.home() / ".cache"
    return base.absolute() / "gangway"


def _mirror(value: str, repository_root: Path) -> Path | str | None:
    if not value:
        beside = (repository_root / _DEFAULT_MIRROR).resolve()
        return beside if (beside / "SHA256SUMS").is_file() else None
    if value.startswith(("http://", "https://")):
        return value.rstrip("/")
    folder = Path(value).expanduser().absolute()
    if not (folder / "SHA256SUMS").is_file():
        lack = "holds no file SHA256SUMS" if folder.is_dir() else "is no folder"
        message = (
            f"GANGWAY_MIRROR is {value!r}, which {lack}: set it to a folder or an http(s) URL "
            "with bin/, charts/ and SHA256SUMS, or unset it"
        )
        raise UsageError(message)
    return folder


def _registry(value: str) -> str | None:
    if not value:
        return None
    url = value if "://" in value else f"{_default_scheme(value)}://{value}"
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
        message = (
            f"GANGWAY_REGISTRY is {value!r}: allowed is a host, host:port or http(s) URL of a "
            "container registry, such as registry.example.org:5000"
        )
        raise UsageError(message)
    return url.rstrip("/")


def _default_scheme(value: str) -> str:
    host = urlsplit(f"//{value}").hostname or ""
    return "http" if host in _LOOPBACK_HOSTS else "https"
