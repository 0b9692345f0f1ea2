"""Programs out of container images: the layers of any OCI registry, no Docker needed."""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from urllib.parse import urlencode

from infra.rehearsal.tools.archive import unpack_members
from infra.rehearsal.tools.mirror import scratch
from infra.rehearsal.tools.model import SourceError, Step, Workshop
from infra.rehearsal.tools.settings import Machine
from infra.rehearsal.tools.web import WebError

_INDEX_TYPES: Final = (
    "application/vnd.oci.image.index.v1+json",
    "application/vnd.docker.distribution.manifest.list.v2+json",
)
_MANIFEST_TYPES: Final = (
    "application/vnd.oci.image.manifest.v1+json",
    "application/vnd.docker.distribution.manifest.v2+json",
)
_UNAUTHORIZED: Final = 401
_API_HOSTS: Final = {"docker.io": "https://registry-1.docker.io"}
_CHALLENGE = re.compile(r'(\w+)="([^"]*)"')


@dataclass(frozen=True, kw_only=True, slots=True)
class ImageFile:
    """One file of an image, such as `vc-scheduler` at the root of docker.io/volcanosh/….

    GANGWAY_REGISTRY replaces the image's host. Blobs are checked against their digests.
    """

    host: str
    repository: str
    tag: str
    path: str
    entry: str
    version: str | None = None
    needs: str | None = None
    kind: str = "image layers"
    seconds: int = 20

    def probe(self, workshop: Workshop) -> str:
        """Return the image's name once the registry has it for this machine."""
        self._manifest(workshop, _Registry(self, workshop))
        return f"{self._base(workshop)}/{self.repository}:{self.tag}"

    def fetch(self, folder: Path, workshop: Workshop, step: Step) -> None:
        """Take the file out of the topmost layer that has it."""
        registry = _Registry(self, workshop)
        layers = self._manifest(workshop, registry).get("layers", [])
        with TemporaryDirectory(dir=scratch(workshop)) as temporary:
            blob = Path(temporary) / "layer"
            for layer in reversed(layers):
                registry.blob(str(layer["digest"]), blob, step)
                try:
                    unpack_members(blob, {self.path: self.entry}, folder)
                except SourceError:
                    continue
                return
        message = f"no layer of {self.repository}:{self.tag} holds /{self.path}"
        raise SourceError(message)

    def _base(self, workshop: Workshop) -> str:
        return workshop.settings.registry or _API_HOSTS.get(self.host, f"https://{self.host}")

    def _manifest(self, workshop: Workshop, registry: "_Registry") -> dict[str, Any]:
        manifest = registry.manifest(self.tag)
        if "manifests" not in manifest:
            return manifest
        digest = _digest_for(workshop.settings.machine, manifest["manifests"])
        if digest is None:
            machine = workshop.settings.machine
            message = (
                f"{self.repository}:{self.tag} has no image for "
                f"{machine.system}/{machine.architecture}"
            )
            raise SourceError(message)
        return registry.manifest(digest)


class _Registry:
    """The distribution API of one repository, with an anonymous token where asked for one."""

    def __init__(self, image: ImageFile, workshop: Workshop):
        self._base = f"{image._base(workshop)}/v2/{image.repository}"
        self._image = image
        self._web = workshop.web
        self._headers: dict[str, str] = {}

    def manifest(self, reference: str) -> dict[str, Any]:
        accept = ", ".join((*_INDEX_TYPES, *_MANIFEST_TYPES))
        body = self._get(f"{self._base}/manifests/{reference}", {"Accept": accept})
        if reference.startswith("sha256:"):
            _check(reference, hashlib.sha256(body).hexdigest())
        try:
            content = json.loads(body)
        except ValueError as error:
            message = f"{self._base}/manifests/{reference} is no manifest"
            raise SourceError(message) from error
        if not isinstance(content, dict):
            message = f"{self._base}/manifests/{reference} is no manifest"
            raise SourceError(message)
        return content

    def blob(self, digest: str, target: Path, step: Step) -> None:
        url = f"{self._base}/blobs/{digest}"
        try:
            _check(digest, self._web.download(url, target, step.advance, self._headers))
        except WebError as error:
            raise SourceError(str(error)) from error

    def _get(self, url: str, headers: Mapping[str, str]) -> bytes:
        try:
            return self._web.body(url, {**headers, **self._headers})
        except WebError as error:
            if error.status != _UNAUTHORIZED or self._headers:
                raise SourceError(str(error)) from error
            challenge = error.headers.get("WWW-Authenticate", "")
        self._headers = {"Authorization": f"Bearer {self._token(challenge)}"}
        return self._get(url, headers)

    def _token(self, challenge: str) -> str:
        words = dict(_CHALLENGE.findall(challenge))
        realm = words.pop("realm", "")
        if not challenge.lower().startswith("bearer") or not realm:
            message = f"{self._base} asks for a login; only anonymous pulls are made"
            raise SourceError(message)
        words.setdefault("scope", f"repository:{self._image.repository}:pull")
        try:
            answer = json.loads(self._web.body(f"{realm}?{urlencode(words)}"))
        except (WebError, ValueError) as error:
            message = f"{realm} gives no anonymous token ({error})"
            raise SourceError(message) from error
        return str(answer.get("token") or answer.get("access_token") or "")


def _digest_for(machine: Machine, manifests: list[dict[str, Any]]) -> str | None:
    for row in manifests:
        platform = row.get("platform", {})
        if (platform.get("os"), platform.get("architecture")) == (
            machine.system,
            machine.architecture,
        ):
            return str(row["digest"])
    return None


def _check(digest: str, found: str) -> None:
    if digest != f"sha256:{found}":
        message = f"the registry sent other bytes than {digest[:19]}…"
        raise SourceError(message)
