"""Volcano: the gang scheduler, its controller and its admission webhooks, proven to answer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi

from components import charts, readiness_gate, tokens, versions, volcano_values, whole_gangs

NAMESPACE: Final = "volcano-system"
RELEASE_NAME: Final = "volcano"
"""Not a setting: services, webhooks and CRDs are named after it or owned by it, so another name
would take every queue and job down with the old release."""

SCHEDULER_NAME: Final = "volcano"
"""What a pod names to be scheduled by Volcano (the scheduler's own default)."""

SCHEDULER_ACCOUNT: Final = f"system:serviceaccount:{NAMESPACE}:{RELEASE_NAME}-scheduler"
"""As whom the chart's scheduler calls the API server."""

SHORTEST_GATE_SECONDS: Final = 30


@dataclass(frozen=True, kw_only=True, slots=True)
class VolcanoArgs:
    """Chart, sizes, and whether nodes come on demand.

    `capacity_plugin` is for queues with `deserved` or `guarantee`, and `queue_hierarchy` beside it
    for queues with a `parent`. More than one `controller_replicas` (controller and scheduler
    alike) turns leader election on.
    """

    autoscaling: bool
    chart: charts.ChartSource
    system_node_count: int
    capacity_plugin: bool = False
    controller_replicas: int = 1
    gate_timeout_seconds: int = 300
    kubectl_image: str = versions.KUBECTL_IMAGE
    queue_hierarchy: bool = False
    registry_mirrors: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an install whose pods find no node, and a gate that cannot pass."""
        for name in ("system_node_count", "controller_replicas"):
            if getattr(self, name) < 1:
                message = f"{name} is {getattr(self, name)}; allowed: 1 or more"
                raise ValueError(message)
        if self.gate_timeout_seconds < SHORTEST_GATE_SECONDS:
            message = (
                f"gate_timeout_seconds is {self.gate_timeout_seconds}; allowed: "
                f"{SHORTEST_GATE_SECONDS} or more, an image must be pulled first"
            )
            raise ValueError(message)
        if f"v{self.chart.pin.version}" != versions.VOLCANO_IMAGE_TAG:
            message = (
                f"chart version is {self.chart.pin.version} and the images' tag "
                f"{versions.VOLCANO_IMAGE_TAG}; they must be one version"
            )
            raise ValueError(message)


def helm_values(args: VolcanoArgs) -> dict[str, Any]:
    """Values of the chart."""
    return volcano_values.helm_values(
        autoscaling=args.autoscaling,
        capacity_plugin=args.capacity_plugin,
        controller_replicas=args.controller_replicas,
        queue_hierarchy=args.queue_hierarchy,
        registry_mirrors=args.registry_mirrors,
        system_node_count=args.system_node_count,
    )


class Volcano(pulumi.ComponentResource):
    """Namespace, Helm release and readiness gate, in this order; with autoscaling whole gangs.

    Whatever goes through Volcano's webhooks depends on `ready`. The release removes Volcano's
    CRDs with it, and so every queue and job left: they must be destroyed first, which the same
    dependency sees to. The system nodes are the caller's to wait for.
    """

    ready: list[pulumi.Resource]
    release_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: VolcanoArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.VOLCANO, name, None, opts)
        values = helm_values(args)
        namespace, release = charts.release_in_own_namespace(
            name,
            args.chart,
            namespace=NAMESPACE,
            pod_security_level="baseline",
            release_name=RELEASE_NAME,
            values=values,
            opts=pulumi.ResourceOptions(parent=self),
        )
        gate = readiness_gate.declare(
            f"{name}-readiness",
            readiness_gate.ReadinessGateArgs(
                image=charts.mirrored_image(args.kubectl_image, args.registry_mirrors),
                namespace=namespace.metadata["name"],
                proof={"values": values, "version": args.chart.pin.version},
                timeout_seconds=args.gate_timeout_seconds,
            ),
            pulumi.ResourceOptions(parent=self, depends_on=[release]),
        )
        self.ready = [gate]
        if args.autoscaling:
            child = pulumi.ResourceOptions(parent=self)
            self.ready += whole_gangs.declare(name, SCHEDULER_ACCOUNT, child)
        self.release_name = release.name
        self.register_outputs({"release_name": self.release_name})
