from typing import Any

import pytest

from infra.rehearsal.pods.selection import is_real, is_trainer, program_of, real_pod_query


def _pod(annotations: dict[str, str] | None = None, **container: Any) -> dict[str, Any]:
    return {
        "metadata": {"name": "p", "annotations": annotations},
        "spec": {"containers": [{"name": "c", "image": "busybox", **container}]},
    }


@pytest.mark.parametrize(
    "image",
    [
        "docker.io/volcanosh/vc-scheduler:v1.15.0",
        "mirror.example/volcano/vc-webhook-manager@sha256:1",
        "vc-controller-manager",
        "registry.k8s.io/autoscaling/cluster-autoscaler:v1.35.2",
        "registry.k8s.io/kubectl:v1.35.4",
    ],
)
def test_a_pod_of_a_known_program_is_real_behind_any_registry(image: str) -> None:
    assert is_real(_pod(image=image))
    assert program_of({"image": image}) is not None


@pytest.mark.parametrize(
    "image", ["busybox", "x/not-vc-scheduler:1", "kubectl-extra:1", "a/kubectlx"]
)
def test_any_other_pod_is_played(image: str) -> None:
    assert not is_real(_pod(image=image))
    assert program_of({"image": image}) is None


@pytest.mark.parametrize(
    "command",
    ["python -m trainer", "/usr/bin/python3 -m trainer", "python -m trainer -v"],
)
def test_a_training_pod_is_real(command: str) -> None:
    assert is_real(_pod(command=command.split()))
    assert is_trainer({"command": command.split()})


def test_a_command_that_only_mentions_the_trainer_is_played() -> None:
    assert not is_real(_pod(command=["sh", "-c", "python -m trainers"]))


@pytest.mark.parametrize("name", ["gangway.dev/run-seconds", "gangway.dev/image-pull-backoff"])
def test_an_annotation_makes_a_pod_played(name: str) -> None:
    assert not is_real(_pod({name: "1"}, command=["python", "-m", "trainer"]))


def test_the_query_of_the_stages_names_the_same_annotations_and_programs() -> None:
    for part in (
        "gangway.dev/run-seconds",
        "gangway.dev/image-pull-backoff",
        "vc-scheduler",
        "trainer",
    ):
        assert part in real_pod_query()
