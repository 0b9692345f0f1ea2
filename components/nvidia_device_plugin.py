"""The NVIDIA device plugin: makes the GPUs of tainted nodes countable to the scheduler."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi

from components import charts, gpu, tokens

NAMESPACE: Final = "nvidia-device-plugin"
RELEASE_NAME: Final = "nvidia-device-plugin"
IMAGE: Final = "nvcr.io/nvidia/k8s-device-plugin"
"""The chart's own image without a tag, which the chart sets to its version."""

SHARING_CONFIG: Final = "shared"
FEWEST_SLICES: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class TimeSlicing:
    """Several pods take turns on one GPU; a slice has no memory of its own.

    Without `fail_requests_greater_than_one` a pod that asks two may get two slices of one card.
    """

    replicas: int
    fail_requests_greater_than_one: bool = True

    def __post_init__(self) -> None:
        """Refuse a number of slices that shares nothing."""
        if self.replicas < FEWEST_SLICES:
            message = (
                f"replicas is {self.replicas}; allowed: {FEWEST_SLICES} or more, or no time "
                "slicing at all"
            )
            raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class NvidiaDevicePluginArgs:
    """Chart, and every taint of the GPU nodes; `time_slicing` left out: a GPU is one pod's."""

    chart: charts.ChartSource
    taints: tuple[gpu.Taint, ...]
    registry_mirrors: Mapping[str, str] = field(default_factory=dict)
    time_slicing: TimeSlicing | None = None

    def __post_init__(self) -> None:
        """Refuse to leave out the taint that every GPU node carries."""
        if gpu.GPU_TAINT not in self.taints:
            given = ", ".join(taint.key for taint in self.taints) or "nothing"
            message = (
                f"taints has {given}; it must have {gpu.GPU_TAINT.key}, which every GPU node "
                "carries, or the plugin runs nowhere"
            )
            raise ValueError(message)


def helm_values(args: NvidiaDevicePluginArgs) -> dict[str, Any]:
    """Values of the chart."""
    values: dict[str, Any] = {
        # Said aloud, like migStrategy below: with a sharing configuration the chart would rather
        # give the plugin SYS_ADMIN than look into it.
        "deviceListStrategy": "envvar",
        "image": {"repository": charts.mirrored_image(IMAGE, args.registry_mirrors)},
        # T4 and A10G have no MIG.
        "migStrategy": "none",
        # The chart's affinity alone would also take other labels; without either, each CPU node
        # would run a plugin that fails. Feature discovery is off, so node groups set this label.
        "nodeSelector": {gpu.GPU_PRESENT_LABEL: "true"},
        "resources": {
            "limits": {"memory": "256Mi"},
            "requests": {"cpu": "50m", "memory": "64Mi"},
        },
        # A list replaces the chart's own, which tolerates the GPU taint alone.
        "tolerations": [taint.toleration() for taint in args.taints],
    }
    if args.time_slicing is None:
        return values
    return values | {"config": _sharing(args.time_slicing)}


def _sharing(slicing: TimeSlicing) -> dict[str, Any]:
    document = {
        "version": "v1",
        "flags": {"migStrategy": "none"},
        "sharing": {
            "timeSlicing": {
                "failRequestsGreaterThanOne": slicing.fail_requests_greater_than_one,
                "resources": [{"name": gpu.GPU_RESOURCE, "replicas": slicing.replicas}],
            }
        },
    }
    text = json.dumps(document, indent=2, sort_keys=True)
    return {"default": SHARING_CONFIG, "map": {SHARING_CONFIG: text}}


class NvidiaDevicePlugin(pulumi.ComponentResource):
    """Namespace and Helm release; a DaemonSet that lands on labelled GPU nodes only.

    The release is done at once while there are no GPU nodes, so its success says nothing about
    GPUs: ask the nodes' allocatable.
    """

    release_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: NvidiaDevicePluginArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.NVIDIA_DEVICE_PLUGIN, name, None, opts)
        _, release = charts.release_in_own_namespace(
            name,
            args.chart,
            namespace=NAMESPACE,
            # The plugin mounts the kubelet's socket folder, which no lower level admits.
            pod_security_level="privileged",
            release_name=RELEASE_NAME,
            values=helm_values(args),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.release_name = release.name
        self.register_outputs({"release_name": self.release_name})
