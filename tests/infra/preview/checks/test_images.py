"""Images: pinned, and not from Docker Hub unseen."""

import pytest

from infra.preview.checks import images
from infra.preview.recording import Recording
from tests.support.recorded import only_sentence, recording, resource


def pod(image: str) -> Recording:
    inputs = {"spec": {"containers": [{"image": image, "name": "x"}]}}
    return recording(resource("kubernetes:core/v1:Pod", "x", inputs))


@pytest.mark.parametrize(
    "image",
    ["nginx", "registry.k8s.io/kubectl", "nvcr.io/x:latest", "localhost:5000/x"],
)
def test_rejects_an_image_that_can_change(image: str) -> None:
    said = only_sentence(images.CHECK, "refused", pod(image))
    assert f"spec.containers[0].image is {image}, which can change" in said


@pytest.mark.parametrize("image", ["busybox:1.37", "docker.io/library/busybox:1.37"])
def test_warns_of_docker_hub(image: str) -> None:
    assert "from Docker Hub" in only_sentence(images.CHECK, "warning", pod(image))


@pytest.mark.parametrize(
    "image",
    [
        "registry.k8s.io/kubectl:v1.35.4",
        "docker.io/library/busybox@sha256:" + "0" * 64,
        "localhost:5000/x:1",
    ],
)
def test_a_pinned_image_is_fine(image: str) -> None:
    assert only_sentence(images.CHECK, "ok", pod(image))


def test_warns_of_a_chart_that_pulls_from_docker_hub() -> None:
    release = resource(
        "kubernetes:helm.sh/v3:Release",
        "volcano",
        {"values": {"basic": {"image_registry": "docker.io"}}},
    )
    said = only_sentence(images.CHECK, "warning", recording(release))
    assert said.startswith('Release "volcano" pulls from Docker Hub (basic.image_registry)')
