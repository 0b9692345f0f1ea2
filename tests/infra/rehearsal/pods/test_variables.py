from typing import Any

import pytest

from infra.errors import GangwayError
from infra.rehearsal.pods.variables import (
    NotYetError,
    Sources,
    container_environment,
    expand,
    field,
    resource,
)

MAPS = {("training", "settings"): {"LEVEL": "4", "other": "x"}}
SECRETS = {("training", "keys"): {"token": "s3cret"}}
SOURCES = Sources(
    config_map=lambda namespace, name: MAPS.get((namespace, name)),
    secret=lambda namespace, name: SECRETS.get((namespace, name)),
    node_allocatable={"cpu": "3920m", "memory": "15300Mi"},
    pod_address="100.64.0.1",
    node_address="10.0.0.1",
)
POD: dict[str, Any] = {
    "metadata": {
        "name": "gang-train-master-0",
        "namespace": "training",
        "uid": "u-1",
        "labels": {"volcano.sh/job-name": "gang-train"},
        "annotations": {"scheduling.k8s.io/group-name": "gang-train-u"},
    },
    "spec": {"nodeName": "node-1", "serviceAccountName": "trainer", "containers": []},
}
CONTAINER: dict[str, Any] = {
    "name": "c",
    "resources": {"limits": {"cpu": "3500m", "memory": "12Gi"}, "requests": {"cpu": "1"}},
}


def _environment(*variables: dict[str, Any], **extra: Any) -> dict[str, str]:
    return container_environment({**CONTAINER, "env": list(variables), **extra}, POD, SOURCES)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("metadata.name", "gang-train-master-0"),
        ("metadata.namespace", "training"),
        ("metadata.uid", "u-1"),
        ("metadata.labels['volcano.sh/job-name']", "gang-train"),
        ("metadata.annotations['scheduling.k8s.io/group-name']", "gang-train-u"),
        ("metadata.labels['absent']", ""),
        ("spec.nodeName", "node-1"),
        ("spec.serviceAccountName", "trainer"),
        ("status.podIP", "100.64.0.1"),
        ("status.hostIP", "10.0.0.1"),
    ],
)
def test_a_field_reference_reads_the_pod(path: str, value: str) -> None:
    assert field(path, POD, SOURCES) == value


def test_rejects_an_unknown_field_by_name() -> None:
    with pytest.raises(GangwayError, match=r"pod field spec\.hostname is not known"):
        field("spec.hostname", POD, SOURCES)


@pytest.mark.parametrize(
    ("reference", "value"),
    [
        ({"resource": "limits.cpu", "divisor": "1m"}, "3500"),
        ({"resource": "limits.cpu"}, "4"),
        ({"resource": "limits.cpu", "divisor": "0"}, "4"),
        ({"resource": "limits.memory"}, str(12 * 2**30)),
        ({"resource": "limits.memory", "divisor": "1Mi"}, str(12 * 1024)),
        ({"resource": "requests.cpu"}, "1"),
        ({"resource": "requests.memory"}, "0"),
    ],
    ids=str,
)
def test_a_resource_reference_is_rounded_up_in_its_divisor(
    reference: dict[str, str], value: str
) -> None:
    assert resource(reference, CONTAINER, POD, SOURCES.node_allocatable) == value


def test_a_missing_limit_is_what_the_node_has_left() -> None:
    reference = {"resource": "limits.cpu", "divisor": "1m"}
    assert resource(reference, {"name": "c"}, POD, SOURCES.node_allocatable) == "3920"


def test_values_come_from_maps_and_secrets_by_key() -> None:
    values = _environment(
        {"name": "A", "valueFrom": {"configMapKeyRef": {"name": "settings", "key": "LEVEL"}}},
        {"name": "B", "valueFrom": {"secretKeyRef": {"name": "keys", "key": "token"}}},
    )
    assert values == {"A": "4", "B": "s3cret"}


def test_a_whole_source_comes_with_its_prefix() -> None:
    source = {"prefix": "P_", "configMapRef": {"name": "settings"}}
    assert _environment(envFrom=[source]) == {"P_LEVEL": "4", "P_other": "x"}


def test_an_optional_key_that_is_missing_is_left_out() -> None:
    key = {"name": "nowhere", "key": "k", "optional": True}
    assert _environment({"name": "A", "valueFrom": {"secretKeyRef": key}}) == {}


@pytest.mark.parametrize(
    "key", [{"name": "nowhere", "key": "k"}, {"name": "settings", "key": "absent"}], ids=str
)
def test_a_missing_source_is_waited_for(key: dict[str, str]) -> None:
    with pytest.raises(NotYetError, match=f"{key['name']}"):
        _environment({"name": "A", "valueFrom": {"configMapKeyRef": key}})


def test_a_value_may_use_the_ones_before_it() -> None:
    values = _environment({"name": "A", "value": "1"}, {"name": "B", "value": "$(A)$(C)"})
    assert values["B"] == "1$(C)"


def test_an_escaped_reference_stays_text() -> None:
    assert expand("$$(A) $(A)", {"A": "1"}) == "$(A) 1"
