"""Volcano's namespace, release and gate in order, and what is refused."""

from typing import Any

import pytest

from components import charts, versions
from components.versions import ChartPin
from components.volcano import Volcano, VolcanoArgs
from tests.support.recorder import Recording, record

JOB = "kubernetes:batch/v1:Job"
RELEASE = "kubernetes:helm.sh/v3:Release"


def args(**changes: Any) -> VolcanoArgs:
    values: dict[str, Any] = {
        "autoscaling": True,
        "chart": charts.ChartSource(pin=versions.VOLCANO_CHART),
        "system_node_count": 2,
    }
    return VolcanoArgs(**values | changes)


def recorded(**changes: Any) -> Recording:
    def program() -> None:
        volcano = Volcano("volcano", args(**changes))
        ready.extend(type(resource).__name__ for resource in volcano.ready)

    ready: list[str] = []
    recording = record(program)
    policy = ["ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"]
    assert ready == ["Job", *(policy if changes.get("autoscaling", True) else [])]
    return recording


def test_gangs_are_shown_whole_to_an_autoscaler_only() -> None:
    kinds = [resource.type for resource in recorded(autoscaling=False)]
    assert not [kind for kind in kinds if "AdmissionPolicy" in kind]


@pytest.fixture(scope="module")
def recording() -> Recording:
    return recorded()


def test_release_has_a_name_that_no_setting_changes(recording: Recording) -> None:
    inputs = recording.one(RELEASE).inputs
    assert (inputs["name"], inputs["namespace"]) == ("volcano", "volcano-system")


def test_release_is_pinned(recording: Recording) -> None:
    inputs = recording.one(RELEASE).inputs
    assert (inputs["chart"], inputs["version"]) == ("volcano", "1.15.0")


def test_namespace_enforces_baseline(recording: Recording) -> None:
    assert recording.one("kubernetes:core/v1:Namespace").inputs["metadata"] == {
        "labels": {"pod-security.kubernetes.io/enforce": "baseline"},
        "name": "volcano-system",
    }


def test_namespace_comes_before_the_release_and_goes_after_it(recording: Recording) -> None:
    namespace = recording.one("kubernetes:core/v1:Namespace")
    assert namespace.urn in recording.one(RELEASE).depends_on


def test_gate_waits_for_the_release(recording: Recording) -> None:
    assert recording.one(RELEASE).urn in recording.one(JOB).depends_on


def test_all_parts_are_children_of_the_component(recording: Recording) -> None:
    component = recording.one("gangway:components:Volcano")
    assert len(recording.children(component.urn)) == len(recording) - 1


def test_gate_runs_the_pinned_kubectl_for_five_minutes(recording: Recording) -> None:
    spec = recording.one(JOB).inputs["spec"]
    assert spec["template"]["spec"]["containers"][0]["image"] == versions.KUBECTL_IMAGE
    assert spec["activeDeadlineSeconds"] == 300


def test_gates_image_comes_from_the_mirror() -> None:
    spec = recorded(registry_mirrors={"registry.k8s.io": "mirror.example/k8s"}).one(JOB).inputs
    container = spec["spec"]["template"]["spec"]["containers"][0]
    assert container["image"] == "mirror.example/k8s/kubectl:v1.35.4"


def test_other_values_are_proven_by_another_gate(recording: Recording) -> None:
    other = recorded(autoscaling=False).one(JOB).inputs["metadata"]["name"]
    assert other != recording.one(JOB).inputs["metadata"]["name"]


@pytest.mark.parametrize("field", ["system_node_count", "controller_replicas"])
def test_rejects_an_install_without_a_place_or_a_program(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is 0; allowed: 1 or more"):
        args(**{field: 0})


def test_rejects_a_gate_that_cannot_pass() -> None:
    with pytest.raises(ValueError, match="gate_timeout_seconds is 29; allowed: 30 or more"):
        args(gate_timeout_seconds=29)


def test_rejects_a_chart_of_another_version_than_the_images() -> None:
    pin = ChartPin(chart="volcano", repository="https://charts.example", version="1.14.4")
    with pytest.raises(ValueError, match=r"chart version is 1.14.4 and the images' tag v1.15.0"):
        args(chart=charts.ChartSource(pin=pin))
