"""Values of the Volcano chart: where its programs run, how many, and how it schedules."""

from collections.abc import Mapping
from typing import Any, Final

import yaml

from components import charts, gpu, versions

ADMISSION_LABELS: Final = {"app": "volcano-admission"}
"""Labels of the admission pods in the chart's template."""

MOST_ADMISSION_REPLICAS: Final = 2

RESOURCES: Final[Mapping[str, Any]] = {
    "admission": {
        "limits": {"memory": "256Mi"},
        "requests": {"cpu": "50m", "memory": "96Mi"},
    },
    "controller": {
        "limits": {"memory": "512Mi"},
        "requests": {"cpu": "50m", "memory": "128Mi"},
    },
    "scheduler": {
        "limits": {"memory": "1Gi"},
        "requests": {"cpu": "100m", "memory": "192Mi"},
    },
}
"""The chart sets none, and a pod without requests is the first to be evicted. No CPU limit: a
throttled scheduler or webhook makes everybody wait."""


def scheduler_profile(
    *, autoscaling: bool, capacity_plugin: bool, queue_hierarchy: bool = False
) -> str | None:
    """The scheduler's configuration as text, or nothing when Volcano's own default is right.

    With autoscaling there is no `enqueue` action and no overcommit plugin: they hold a gang back
    while the cluster is too small now, its pods never exist, and no autoscaler sees them.
    With `capacity_plugin` queues share by `deserved`, which the stock `proportion` plugin does not
    read, and take back what is theirs (`reclaim`). With `queue_hierarchy` they have parents; it is
    off without them, because then Volcano schedules nothing at all while a queue's capability or
    the sum of `deserved` is above what all nodes of the moment hold (its capacity plugin).
    """
    if not autoscaling and not capacity_plugin:
        return None
    actions = ["allocate", "backfill"]
    if not autoscaling:
        actions.insert(0, "enqueue")
    if capacity_plugin:
        actions.insert(-1, "reclaim")
    share: dict[str, Any] = {"name": "capacity" if capacity_plugin else "proportion"}
    if capacity_plugin and queue_hierarchy:
        share["enableHierarchy"] = True
    ordering = [
        {"name": "priority"},
        {"name": "gang", "enablePreemptable": False},
        {"name": "conformance"},
    ]
    placing = [
        *([] if autoscaling else [{"name": "overcommit"}]),
        {"name": "drf", "enablePreemptable": False},
        {"name": "predicates"},
        share,
        {"name": "nodeorder"},
        {"name": "binpack"},
    ]
    profile = {
        "actions": ", ".join(actions),
        "tiers": [{"plugins": ordering}, {"plugins": placing}],
    }
    return yaml.safe_dump(profile, sort_keys=False)


def admission_replicas(system_node_count: int) -> int:
    """One webhook server a system node, two at most: it fails closed, so one must always live."""
    return min(MOST_ADMISSION_REPLICAS, system_node_count)


def _apart(labels: Mapping[str, str]) -> dict[str, Any]:
    """Prefer another node than that of a pod with the same labels."""
    term = {
        "labelSelector": {"matchLabels": dict(labels)},
        "topologyKey": "kubernetes.io/hostname",
    }
    preferred = [{"podAffinityTerm": term, "weight": 100}]
    return {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}}


def helm_values(
    *,
    autoscaling: bool,
    capacity_plugin: bool,
    controller_replicas: int,
    queue_hierarchy: bool,
    registry_mirrors: Mapping[str, str],
    system_node_count: int,
) -> dict[str, Any]:
    """Values of the chart; keys are those of its `values.yaml`."""
    custom: dict[str, Any] = {
        "admission_affinity": _apart(ADMISSION_LABELS),
        "admission_replicas": admission_replicas(system_node_count),
        "controller_replicas": controller_replicas,
        # The webhook server elects no leader; controller and scheduler must when there are more.
        "leader_elect_enable": controller_replicas > 1,
        "scheduler_replicas": controller_replicas,
        # Reaches the init Job of the install hook too: it runs before anything else does.
        "default_ns": {gpu.NODE_ROLE_LABEL: gpu.SYSTEM_NODE_ROLE},
        **{f"{part}_resources": dict(value) for part, value in RESOURCES.items()},
    }
    profile = scheduler_profile(
        autoscaling=autoscaling,
        capacity_plugin=capacity_plugin,
        queue_hierarchy=queue_hierarchy,
    )
    if profile is not None:
        custom["scheduler_config_override"] = profile
    registry = charts.DEFAULT_REGISTRY
    return {
        "basic": {
            # `Always`, the chart's own, would make every restart depend on the registry.
            "image_pull_policy": "IfNotPresent",
            # One key for every image of the chart, the init Job's included.
            "image_registry": registry_mirrors.get(registry, registry).rstrip("/"),
            "image_tag_version": versions.VOLCANO_IMAGE_TAG,
        },
        "custom": custom,
    }
