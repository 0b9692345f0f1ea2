"""Who reaches and administers the cluster, and what an accident could delete."""

from collections.abc import Iterator
from typing import Final

from infra.preview.checks.verdict import Check, Finding, refused, warning
from infra.preview.checks.walk import title
from infra.preview.recording import RecordedResource, Recording
from stacks.settings import Settings

EVERYWHERE: Final = ("0.0.0.0/0", "::/0")


def find(recording: Recording, settings: Settings | None) -> Iterator[Finding]:
    """Refusals about an open API server; warnings about what an accident could delete."""
    for cluster in recording.of_type("eks:index:Cluster"):
        yield from _endpoint(cluster)
    if settings is None:
        return
    yield from _production(settings)


def _endpoint(cluster: RecordedResource) -> Iterator[Finding]:
    inputs = cluster.inputs
    if not inputs.get("endpointPublicAccess", True):
        return
    cidrs = inputs.get("publicAccessCidrs") or EVERYWHERE[:1]
    opened = sorted(set(cidrs) & set(EVERYWHERE))
    if opened:
        yield refused(
            f"{title(cluster)}: the public endpoint is open to {', '.join(opened)}; list networks "
            "of your own in gangway:cluster.publicAccessCidrs"
        )


def _production(settings: Settings) -> Iterator[Finding]:
    if not settings.environment.startswith("prod"):
        return
    if not settings.cluster.protect:
        yield warning(
            "gangway:cluster.protect is false in a production environment: one `destroy` or a "
            "replacing change deletes the cluster"
        )
    if settings.results.force_destroy:
        yield warning(
            "gangway:results.forceDestroy is true in a production environment: `destroy` deletes "
            "the results"
        )


CHECK = Check(
    name="access",
    claim="the API server is closed to the internet",
    find=find,
)
