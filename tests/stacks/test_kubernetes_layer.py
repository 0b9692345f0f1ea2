"""Settings reach what runs in the cluster; the whole list of resources is test_gpu_training's."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.preview.recording import RecordedResource, Recording
from stacks import kubernetes_layer
from tests.support.environments import recorded_with
from tests.support.settings import settings

RELEASE = "kubernetes:helm.sh/v3:Release"
QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
JOB = "kubernetes:batch.volcano.sh/v1alpha1:Job"
CHARTS = ("autoscaler", "device-plugin", "volcano")


def recorded(changes: dict[str, Any]) -> Recording:
    return recorded_with(settings(changes))


def pod(recording: Recording) -> dict[str, Any]:
    template: dict[str, Any] = recording.one(JOB).inputs["spec"]["tasks"][0]["template"]["spec"]
    return template


def test_every_part_of_the_layer_is_declared_by_the_stack() -> None:
    recording = recorded({})
    assert {release.name for release in recording.of_type(RELEASE)} == set(CHARTS)
    assert callable(kubernetes_layer.training_job)


@pytest.mark.parametrize("chart", CHARTS)
def test_a_mirror_reaches_every_image_of_every_chart(chart: str) -> None:
    mirrors = {
        "docker.io": "mirror.example/hub",
        "nvcr.io": "mirror.example/nvidia",
        "registry.k8s.io": "mirror.example/kubernetes",
    }
    values = json.dumps(
        recorded({"charts.registryMirrors": mirrors}).one(RELEASE, chart).inputs["values"]
    )
    assert "mirror.example" in values
    assert not any(registry in values for registry in mirrors)


def test_a_mirror_reaches_the_training_image_and_the_gate() -> None:
    mirrors = {"public.ecr.aws": "mirror.example/ecr", "registry.k8s.io": "mirror.example/k8s"}
    recording = recorded({"charts.registryMirrors": mirrors})
    assert pod(recording)["containers"][0]["image"].startswith("mirror.example/ecr/")
    gate = recording.one("kubernetes:batch/v1:Job").inputs["spec"]["template"]["spec"]
    assert gate["containers"][0]["image"].startswith("mirror.example/k8s/")


def _source(release: RecordedResource) -> tuple[str, Any]:
    return release.inputs["chart"], release.inputs.get("repositoryOpts", {}).get("repo")


def test_another_repository_serves_the_chart_it_is_named_for_only() -> None:
    recording = recorded({"charts.repositories": {"volcano": "https://charts.example/volcano"}})
    assert _source(recording.one(RELEASE, "volcano")) == (
        "volcano",
        "https://charts.example/volcano",
    )
    assert _source(recording.one(RELEASE, "device-plugin"))[1] == (
        "https://nvidia.github.io/k8s-device-plugin"
    )


def test_without_hierarchy_queues_may_be_larger_than_what_stands_now() -> None:
    """Volcano's hierarchy check compares a queue with the nodes that exist, none at first."""
    deserved = {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"}
    recording = recorded({"queues": [{"name": "ml-queue", "deserved": deserved}]})
    profile = recording.one(RELEASE, "volcano").inputs["values"]["custom"][
        "scheduler_config_override"
    ]
    assert "name: capacity" in profile
    assert "enableHierarchy" not in profile


def test_tensorflow_gets_its_own_plugin_and_framework() -> None:
    recording = recorded(
        {
            "training.framework": "tensorflow",
            "training.image": "docker.io/tensorflow/tensorflow:2.21.0-gpu",
        }
    )
    assert "tensorflow" in recording.one(JOB).inputs["spec"]["plugins"]
    variables = {item["name"]: item.get("value") for item in pod(recording)["containers"][0]["env"]}
    assert variables["GANGWAY_FRAMEWORK"] == "tensorflow"


def test_a_command_of_ones_own_mounts_no_trainer() -> None:
    recording = recorded({"training.command": ["python", "-m", "mine"]})
    assert pod(recording)["containers"][0]["command"] == ["python", "-m", "mine"]
    assert recording.of_type("kubernetes:core/v1:ConfigMap") == (
        recording.one("kubernetes:core/v1:ConfigMap", "volcano-readiness"),
    )


def test_the_scripts_that_a_setting_names_are_mounted_and_run(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("def train(context): ...\n", encoding="utf-8")
    recording = recorded({"training.scriptDirectory": str(tmp_path)})
    command = pod(recording)["containers"][0]["command"]
    assert command == ["python", "-m", "trainer", "--script", "/opt/gangway/user/train.py"]
    (files,) = [
        config_map
        for config_map in recording.of_type("kubernetes:core/v1:ConfigMap")
        if "train.py" in config_map.inputs["data"]
    ]
    assert set(files.inputs["data"]) == {"train.py"}
