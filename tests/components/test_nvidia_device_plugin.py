"""The device plugin lands on every GPU node, on no other, and asks for little."""

import json
from pathlib import Path
from typing import Any

import pytest

from components import charts, gpu, versions
from components.nvidia_device_plugin import (
    NAMESPACE,
    NvidiaDevicePlugin,
    NvidiaDevicePluginArgs,
    TimeSlicing,
    helm_values,
)
from tests.support import helm_charts
from tests.support.recorder import Recording, record
from tests.support.training import TEAM_TAINT

PIN = versions.NVIDIA_DEVICE_PLUGIN_CHART
RELEASE = "kubernetes:helm.sh/v3:Release"
MIRRORS = {"nvcr.io": "mirror.example/nvidia"}


def args(**changes: Any) -> NvidiaDevicePluginArgs:
    values: dict[str, Any] = {
        "chart": charts.ChartSource(pin=PIN),
        "taints": (gpu.GPU_TAINT,),
    }
    return NvidiaDevicePluginArgs(**values | changes)


@pytest.fixture(scope="module")
def recording() -> Recording:
    def program() -> None:
        NvidiaDevicePlugin("nvidia-device-plugin", args())

    return record(program)


def test_plugin_runs_on_labelled_gpu_nodes_only() -> None:
    assert helm_values(args())["nodeSelector"] == {"nvidia.com/gpu.present": "true"}


def test_charts_affinity_is_left_alone() -> None:
    assert "affinity" not in helm_values(args())


def test_every_taint_is_tolerated() -> None:
    assert helm_values(args(taints=(gpu.GPU_TAINT, TEAM_TAINT)))["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    ]


def test_plugin_asks_for_no_mig_and_no_volume_mounts() -> None:
    values = helm_values(args())
    assert (values["migStrategy"], values["deviceListStrategy"]) == ("none", "envvar")


def test_plugin_has_resources() -> None:
    assert helm_values(args())["resources"] == {
        "limits": {"memory": "256Mi"},
        "requests": {"cpu": "50m", "memory": "64Mi"},
    }


def test_image_comes_from_the_official_registry_by_default() -> None:
    assert helm_values(args())["image"] == {"repository": "nvcr.io/nvidia/k8s-device-plugin"}


def test_image_comes_from_the_mirror() -> None:
    assert helm_values(args(registry_mirrors=MIRRORS))["image"] == {
        "repository": "mirror.example/nvidia/nvidia/k8s-device-plugin"
    }


def test_a_gpu_is_one_pods_by_default() -> None:
    assert "config" not in helm_values(args())


def test_time_slicing_reaches_the_plugins_default_configuration() -> None:
    config = helm_values(args(time_slicing=TimeSlicing(replicas=4)))["config"]
    sharing = json.loads(config["map"][config["default"]])["sharing"]["timeSlicing"]
    assert sharing == {
        "failRequestsGreaterThanOne": True,
        "resources": [{"name": "nvidia.com/gpu", "replicas": 4}],
    }


def test_requests_for_several_slices_are_allowed_when_asked() -> None:
    slicing = TimeSlicing(replicas=4, fail_requests_greater_than_one=False)
    config = helm_values(args(time_slicing=slicing))["config"]
    sharing = json.loads(config["map"]["shared"])["sharing"]["timeSlicing"]
    assert sharing["failRequestsGreaterThanOne"] is False


def test_rejects_slicing_into_one() -> None:
    with pytest.raises(ValueError, match="replicas is 1; allowed: 2 or more"):
        TimeSlicing(replicas=1)


def test_rejects_taints_without_the_gpu_taint() -> None:
    with pytest.raises(ValueError, match=r"taints has team; it must have nvidia.com/gpu"):
        args(taints=(TEAM_TAINT,))


def test_namespace_admits_the_plugins_host_mounts(recording: Recording) -> None:
    namespace = recording.one("kubernetes:core/v1:Namespace").inputs["metadata"]
    assert namespace == {
        "name": NAMESPACE,
        "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
    }


def test_release_is_pinned_into_its_namespace(recording: Recording) -> None:
    release = recording.one(RELEASE)
    assert (release.inputs["version"], release.inputs["namespace"]) == ("0.20.0", NAMESPACE)
    assert recording.one("kubernetes:core/v1:Namespace").urn in release.depends_on


@pytest.mark.parametrize("slicing", [None, TimeSlicing(replicas=4)], ids=["whole", "sliced"])
def test_pinned_chart_runs_unprivileged_on_tainted_nodes(
    slicing: TimeSlicing | None, tmp_path: Path
) -> None:
    values = helm_values(args(registry_mirrors=MIRRORS, time_slicing=slicing))
    pods = helm_charts.pod_specs(
        helm_charts.rendered(PIN, values, namespace=NAMESPACE, folder=tmp_path)
    )
    pod = pods["DaemonSet/nvidia-device-plugin"]
    assert pod["tolerations"] == [gpu.GPU_TAINT.toleration()]
    assert pod["nodeSelector"] == {gpu.GPU_PRESENT_LABEL: "true"}
    assert helm_charts.images(pod) == {"mirror.example/nvidia/nvidia/k8s-device-plugin:v0.20.0"}
    assert [item["securityContext"] for item in pod["containers"]] == [
        {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
    ] * len(pod["containers"])
