"""Chart sources, release arguments and mirrored images."""

from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import pytest

from components import charts
from components.versions import ChartPin
from tests.support.recorder import inputs_of, record

PIN = ChartPin(chart="demo", repository="https://charts.example", version="1.2.3")
RELEASE = "kubernetes:helm.sh/v3:Release"


def release(**source: Any) -> dict[str, Any]:
    def program() -> None:
        args = charts.release_args(
            charts.ChartSource(pin=PIN, **source),
            name="demo",
            namespace="demo-system",
            values={"replicas": 2},
        )
        k8s.helm.v3.Release("demo", args)

    return inputs_of(record(program), RELEASE)


def test_chart_comes_from_its_official_repository() -> None:
    inputs = release()
    assert (inputs["chart"], inputs["repositoryOpts"]) == ("demo", {"repo": PIN.repository})


def test_another_repository_replaces_the_official_one() -> None:
    assert release(repository="https://mirror.example")["repositoryOpts"] == {
        "repo": "https://mirror.example"
    }


def test_a_folder_gives_the_packed_chart_and_no_repository() -> None:
    inputs = release(directory="/charts/")
    assert inputs["chart"] == "/charts/demo-1.2.3.tgz"
    assert "repositoryOpts" not in inputs


@pytest.mark.parametrize("source", [{}, {"directory": "/charts"}], ids=["repository", "folder"])
def test_version_is_always_pinned(source: dict[str, str]) -> None:
    assert release(**source)["version"] == "1.2.3"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("atomic", True),
        ("cleanupOnFail", True),
        ("createNamespace", False),
        ("maxHistory", 5),
        ("name", "demo"),
        ("namespace", "demo-system"),
        ("skipAwait", False),
        ("timeout", 600),
        ("values", {"replicas": 2}),
        ("waitForJobs", True),
    ],
)
def test_release_is_fixed_awaited_and_undone_on_failure(key: str, value: object) -> None:
    assert release()[key] == value


def test_a_releases_own_namespace_holds_its_pods_to_a_level() -> None:
    def program() -> None:
        charts.release_in_own_namespace(
            "tool",
            charts.ChartSource(pin=PIN),
            namespace="tools",
            pod_security_level="baseline",
            release_name="tool",
            values={},
            opts=pulumi.ResourceOptions(),
        )

    made = record(program)
    namespace, release = made.one("kubernetes:core/v1:Namespace"), made.one(RELEASE)
    assert namespace.inputs["metadata"] == {
        "labels": {"pod-security.kubernetes.io/enforce": "baseline"},
        "name": "tools",
    }
    assert namespace.urn in release.depends_on


def test_rejects_two_sources() -> None:
    with pytest.raises(ValueError, match="comes from one place, set at most one"):
        charts.ChartSource(pin=PIN, directory="/charts", repository="https://mirror.example")


@pytest.mark.parametrize("version", ["", "latest", ">=1.0", "*", "^1.2"])
def test_rejects_a_version_that_can_move(version: str) -> None:
    pin = ChartPin(chart="demo", repository="https://charts.example", version=version)
    with pytest.raises(ValueError, match="allowed: one exact version"):
        charts.ChartSource(pin=pin)


@pytest.mark.parametrize(
    ("image", "registry"),
    [
        ("nvcr.io/nvidia/plugin:v1", "nvcr.io"),
        ("volcanosh/vc-scheduler:v1", "docker.io"),
        ("busybox:1", "docker.io"),
        ("localhost/demo:1", "localhost"),
        ("registry:5000/demo:1", "registry:5000"),
    ],
)
def test_registry_of_an_image(image: str, registry: str) -> None:
    assert charts.registry_of(image) == registry


@pytest.mark.parametrize(
    ("image", "pulled"),
    [
        ("docker.io/volcanosh/vc-scheduler:v1", "mirror.example/hub/volcanosh/vc-scheduler:v1"),
        ("volcanosh/vc-scheduler:v1", "mirror.example/hub/volcanosh/vc-scheduler:v1"),
        ("busybox:1", "mirror.example/hub/library/busybox:1"),
        ("nvcr.io/nvidia/plugin:v1", "nvcr.io/nvidia/plugin:v1"),
    ],
    ids=["named", "unnamed", "official", "other-registry"],
)
def test_mirror_serves_images_of_its_registry_only(image: str, pulled: str) -> None:
    assert charts.mirrored_image(image, {"docker.io": "mirror.example/hub/"}) == pulled


@pytest.mark.parametrize(
    ("image", "pinned"),
    [
        ("registry.k8s.io/kubectl:v1.35.4", True),
        (f"app@sha256:{'0' * 64}", True),
        ("app:latest", False),
        ("app", False),
        ("registry:5000/app", False),
    ],
)
def test_an_image_is_pinned_by_tag_or_digest(image: str, pinned: bool) -> None:
    assert charts.is_pinned(image) is pinned
