"""Services of type LoadBalancer."""

from infra.preview.checks import load_balancers
from tests.support.recorded import only_sentence, recording, resource


def test_rejects_a_service_that_makes_a_load_balancer() -> None:
    service = resource(
        "kubernetes:core/v1:Service", "web", {"kind": "Service", "spec": {"type": "LoadBalancer"}}
    )
    said = only_sentence(load_balancers.CHECK, "refused", recording(service))
    assert said.startswith('Service "web" is of type LoadBalancer')


def test_rejects_a_chart_value_that_makes_one() -> None:
    release = resource(
        "kubernetes:helm.sh/v3:Release",
        "grafana",
        {"values": {"service": {"type": "LoadBalancer"}}},
    )
    said = only_sentence(load_balancers.CHECK, "refused", recording(release))
    assert "value service.type is LoadBalancer" in said


def test_a_cluster_ip_is_fine() -> None:
    service = resource(
        "kubernetes:core/v1:Service", "web", {"kind": "Service", "spec": {"type": "ClusterIP"}}
    )
    assert only_sentence(load_balancers.CHECK, "ok", recording(service))
