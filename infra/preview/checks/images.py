"""Images are pinned, and those from Docker Hub are pointed out."""

from collections.abc import Iterator
from typing import Any, Final

from components import charts
from infra.preview.checks.verdict import Check, Finding, refused, warning
from infra.preview.checks.walk import RELEASE, manifests, strings, title
from infra.preview.recording import Recording
from stacks.settings import Settings

DOCKER_HUB: Final = charts.DEFAULT_REGISTRY
ADVICE: Final = (
    "anonymous pulls there are limited per address and a NAT gateway is one address; "
    "set gangway:charts.registryMirrors"
)


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for an image that can change, a warning for one that may not be pulled."""
    for resource in manifests(recording):
        for path, image in _images(resource.inputs):
            where = f"{title(resource)}: {path} is {image}"
            if not charts.is_pinned(image):
                yield refused(f"{where}, which can change; name a full tag or a digest")
            elif charts.registry_of(image) == DOCKER_HUB and "@sha256:" not in image:
                yield warning(f"{where}, from Docker Hub; {ADVICE}")
    for release in recording.of_type(RELEASE):
        for path, text in strings(release.inputs.get("values") or {}):
            key = path.rpartition(".")[2].lower()
            if "registry" in key and text == DOCKER_HUB:
                yield warning(f"{title(release)} pulls from Docker Hub ({path}); {ADVICE}")


def _images(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    for where, text in strings(data, path):
        if where.endswith("image") or where.endswith(".image"):
            yield where, text


CHECK = Check(
    name="images",
    claim="every image has a full tag or digest and none comes from Docker Hub",
    find=find,
)
