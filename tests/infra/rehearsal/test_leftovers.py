"""What counts as left in a cluster."""

from typing import Any

from infra.rehearsal import leftovers


class FakeApi:
    """Answers lists by path; whatever is not given is empty."""

    def __init__(self, **lists: list[str]) -> None:
        self._lists = lists

    def items(self, path: str, **_: str) -> list[dict[str, Any]]:
        names = self._lists.get(path.rpartition("/")[2], [])
        return [{"metadata": {"name": name}} for name in names]


def test_a_control_plane_as_it_was_born_has_nothing_left() -> None:
    api = FakeApi(namespaces=["default", "kube-system", "kube-public", "kube-node-lease"])
    assert leftovers.in_kubernetes(api) == {}  # type: ignore[arg-type]


def test_webhooks_crds_nodes_pods_and_namespaces_count() -> None:
    api = FakeApi(
        namespaces=["default", "volcano-system"],
        nodes=["a"],
        pods=["p"],
        customresourcedefinitions=["queues.scheduling.volcano.sh"],
        validatingwebhookconfigurations=["volcano-admission-service-jobs-validate"],
    )
    assert leftovers.in_kubernetes(api) == {  # type: ignore[arg-type]
        "CRD": ["queues.scheduling.volcano.sh"],
        "namespace": ["volcano-system"],
        "node": ["a"],
        "pod": ["p"],
        "validating webhook": ["volcano-admission-service-jobs-validate"],
    }


def test_what_is_left_is_told_by_place_kind_and_name() -> None:
    sentence = leftovers.sentence("AWS", {"role": ["a", "b"], "VPC": ["vpc-1"]})
    assert sentence == "AWS: 1 VPC (vpc-1); 2 role (a, b)"


def test_what_is_left_in_several_places_is_told_place_by_place() -> None:
    found = {"Kubernetes": {"pod": ["p"]}, "AWS": {}, "state": {"resource": ["urn:x"]}}
    assert leftovers.sentences(found) == "Kubernetes: 1 pod (p). state: 1 resource (urn:x)"
