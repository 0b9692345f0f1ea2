"""No service makes a load balancer, which `destroy` would leave behind in the VPC."""

from collections.abc import Iterator
from typing import Any

from infra.preview.checks.verdict import Check, Finding, refused
from infra.preview.checks.walk import RELEASE, manifests, strings, title
from infra.preview.recording import Recording
from stacks.settings import Settings


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each Service, or chart value, of type LoadBalancer."""
    for resource in manifests(recording):
        spec: Any = resource.inputs.get("spec") or {}
        if resource.inputs.get("kind") == "Service" and spec.get("type") == "LoadBalancer":
            yield refused(
                f"{title(resource)} is of type LoadBalancer; its load balancer would outlive the "
                "cluster and hold the VPC, use ClusterIP"
            )
    for release in recording.of_type(RELEASE):
        for path, text in strings(release.inputs.get("values") or {}):
            if text == "LoadBalancer":
                yield refused(
                    f"{title(release)}: value {path} is LoadBalancer; its load balancer would "
                    "outlive the cluster and hold the VPC, use ClusterIP"
                )


CHECK = Check(
    name="load balancers",
    claim="no service of type LoadBalancer, so that destroy leaves nothing in the VPC",
    find=find,
)
