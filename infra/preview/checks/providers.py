"""Kubernetes objects can only go to the cluster of this stack."""

from collections.abc import Iterator

from infra.preview.checks.verdict import Check, Finding, refused
from infra.preview.checks.walk import title
from infra.preview.recording import Recording
from stacks.settings import Settings


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each Kubernetes resource that would take the machine's own kubeconfig."""
    for resource in recording:
        if resource.package != "kubernetes":
            continue
        provider = recording.get(resource.provider_urn)
        if provider is None:
            yield refused(
                f"{title(resource)} names no provider and would go to whatever cluster the "
                "machine's kubeconfig points to; pass opts with provider or providers"
            )


CHECK = Check(
    name="explicit provider",
    claim="every Kubernetes resource names the provider of this stack's cluster",
    find=find,
)
