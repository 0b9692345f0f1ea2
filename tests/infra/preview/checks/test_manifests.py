"""Kubernetes objects against the 1.35 schemas."""

from typing import Any

import pytest

from infra.preview.checks import manifests
from tests.support.recorded import only_sentence, recording, resource

CONTAINER = {"image": "registry.k8s.io/pause:3.10", "name": "trainer"}


def job(container: dict[str, Any]) -> Any:
    pod = {"containers": [container], "restartPolicy": "Never"}
    return resource(
        "kubernetes:batch.volcano.sh/v1alpha1:Job",
        "gang-train",
        {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": {"name": "gang-train"},
            "spec": {"tasks": [{"name": "worker", "template": {"spec": pod}}]},
        },
    )


def namespace(**more: Any) -> Any:
    inputs = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "training"}} | more
    return resource("kubernetes:core/v1:Namespace", "training", inputs)


def test_objects_that_fit_are_fine() -> None:
    recorded = recording(namespace(), job(CONTAINER))
    assert only_sentence(manifests.CHECK, "ok", recorded) == manifests.CHECK.claim


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        pytest.param({"specs": {}}, "'specs' was unexpected", id="unknown key"),
        pytest.param({"metadata": {"labels": {"a": 1}}}, "metadata.labels.a", id="wrong type"),
    ],
)
def test_rejects_an_object_that_the_api_server_would_refuse(
    inputs: dict[str, Any], sentence: str
) -> None:
    said = only_sentence(manifests.CHECK, "refused", recording(namespace(**inputs)))
    assert said.startswith('Namespace "training": ')
    assert sentence in said


def test_rejects_a_wrong_field_in_a_gangs_pod_template() -> None:
    said = only_sentence(
        manifests.CHECK, "refused", recording(job(CONTAINER | {"resource": {"limits": {}}}))
    )
    assert said.startswith('Job "gang-train", task worker: template spec.containers[0]')


def test_a_kind_without_a_schema_is_passed_over() -> None:
    queue = resource(
        "kubernetes:scheduling.volcano.sh/v1beta1:Queue",
        "q",
        {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue", "spec": {"any": 1}},
    )
    assert only_sentence(manifests.CHECK, "ok", recording(queue))
