"""Values of the Volcano chart, and the chart rendered with them."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from components import volcano_values
from components.versions import VOLCANO_CHART
from tests.support import helm_charts

MIRRORS = {"docker.io": "mirror.example/hub/"}


def values(**changes: Any) -> dict[str, Any]:
    given: dict[str, Any] = {
        "autoscaling": True,
        "capacity_plugin": False,
        "controller_replicas": 1,
        "queue_hierarchy": False,
        "registry_mirrors": {},
        "system_node_count": 2,
    }
    return volcano_values.helm_values(**given | changes)


def profile(**changes: bool) -> dict[str, Any]:
    given = {"autoscaling": True, "capacity_plugin": False}
    document: dict[str, Any] = yaml.safe_load(
        volcano_values.scheduler_profile(**given | changes) or ""
    )
    return document


def plugin_names(document: dict[str, Any]) -> list[str]:
    return [plugin["name"] for tier in document["tiers"] for plugin in tier["plugins"]]


def test_with_autoscaling_nothing_holds_a_gang_back_before_its_pods_exist() -> None:
    document = profile()
    assert document["actions"] == "allocate, backfill"
    assert "overcommit" not in plugin_names(document)


def test_without_autoscaling_volcanos_own_profile_stays() -> None:
    assert "scheduler_config_override" not in values(autoscaling=False)["custom"]


@pytest.mark.parametrize("capacity_plugin", [False, True])
@pytest.mark.parametrize("autoscaling", [False, True])
def test_gang_is_always_on_and_comes_before_placement(
    autoscaling: bool, capacity_plugin: bool
) -> None:
    if not autoscaling and not capacity_plugin:
        assert volcano_values.scheduler_profile(autoscaling=False, capacity_plugin=False) is None
        return
    first = profile(autoscaling=autoscaling, capacity_plugin=capacity_plugin)["tiers"][0]
    assert {"name": "gang", "enablePreemptable": False} in first["plugins"]


def test_predicates_keep_pods_off_nodes_that_do_not_fit() -> None:
    assert "predicates" in plugin_names(profile())


def test_queues_share_by_weight_by_default() -> None:
    names = plugin_names(profile())
    assert "proportion" in names
    assert "capacity" not in names


def test_deserved_shares_are_read_and_taken_back_when_asked() -> None:
    document = profile(capacity_plugin=True)
    assert document["actions"] == "allocate, reclaim, backfill"
    assert {"name": "capacity"} in document["tiers"][1]["plugins"]
    assert "proportion" not in plugin_names(document)


def test_queues_have_parents_only_when_asked() -> None:
    """Volcano's hierarchy check refuses queues larger than the nodes of the moment."""
    document = profile(capacity_plugin=True, queue_hierarchy=True)
    assert {"name": "capacity", "enableHierarchy": True} in document["tiers"][1]["plugins"]


def test_capacity_without_autoscaling_keeps_the_stock_admission_of_gangs() -> None:
    document = profile(autoscaling=False, capacity_plugin=True)
    assert document["actions"] == "enqueue, allocate, reclaim, backfill"
    assert "overcommit" in plugin_names(document)


@pytest.mark.parametrize(("nodes", "replicas"), [(1, 1), (2, 2), (5, 2)])
def test_admission_has_a_replica_a_system_node_and_two_at_most(nodes: int, replicas: int) -> None:
    assert values(system_node_count=nodes)["custom"]["admission_replicas"] == replicas


def test_admission_replicas_avoid_one_node() -> None:
    affinity = values()["custom"]["admission_affinity"]["podAntiAffinity"]
    term = affinity["preferredDuringSchedulingIgnoredDuringExecution"][0]["podAffinityTerm"]
    assert term == {
        "labelSelector": {"matchLabels": {"app": "volcano-admission"}},
        "topologyKey": "kubernetes.io/hostname",
    }


def test_one_controller_and_scheduler_elect_no_leader() -> None:
    custom = values()["custom"]
    assert (custom["controller_replicas"], custom["scheduler_replicas"]) == (1, 1)
    assert custom["leader_elect_enable"] is False


def test_more_controllers_and_schedulers_elect_a_leader() -> None:
    custom = values(controller_replicas=2)["custom"]
    assert (custom["controller_replicas"], custom["scheduler_replicas"]) == (2, 2)
    assert custom["leader_elect_enable"] is True


@pytest.mark.parametrize("part", ["admission", "controller", "scheduler"])
def test_every_program_has_requests_and_a_memory_limit(part: str) -> None:
    resources = values()["custom"][f"{part}_resources"]
    assert set(resources["requests"]) == {"cpu", "memory"}
    assert set(resources["limits"]) == {"memory"}


def test_everything_runs_on_system_nodes() -> None:
    assert values()["custom"]["default_ns"] == {"gangway.dev/node-role": "system"}


@pytest.mark.parametrize(
    ("mirrors", "registry"), [({}, "docker.io"), (MIRRORS, "mirror.example/hub")]
)
def test_one_registry_serves_every_image(mirrors: dict[str, str], registry: str) -> None:
    assert values(registry_mirrors=mirrors)["basic"]["image_registry"] == registry


def test_images_are_tagged_with_the_charts_version_and_pulled_once() -> None:
    basic = values()["basic"]
    assert basic["image_tag_version"] == f"v{VOLCANO_CHART.version}"
    assert basic["image_pull_policy"] == "IfNotPresent"


@pytest.fixture(scope="module")
def objects(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    return helm_charts.rendered(
        VOLCANO_CHART,
        values(registry_mirrors=MIRRORS, controller_replicas=2),
        namespace="volcano-system",
        folder=tmp_path_factory.mktemp("volcano"),
    )


def test_pinned_chart_puts_every_pod_on_system_nodes(objects: list[dict[str, Any]]) -> None:
    pods = helm_charts.pod_specs(objects)
    assert set(pods) == {
        "Deployment/volcano-admission",
        "Deployment/volcano-controllers",
        "Deployment/volcano-scheduler",
        "Job/volcano-admission-init",
    }
    assert [pod["nodeSelector"] for pod in pods.values()] == [
        {"gangway.dev/node-role": "system"}
    ] * 4


def test_pinned_chart_pulls_every_image_from_the_mirror(objects: list[dict[str, Any]]) -> None:
    for pod in helm_charts.pod_specs(objects).values():
        for image in helm_charts.images(pod):
            assert image.startswith("mirror.example/hub/volcanosh/")
            assert image.endswith(":v1.15.0")


def test_pinned_chart_elects_leaders(objects: list[dict[str, Any]]) -> None:
    pods = helm_charts.pod_specs(objects)
    for name in ("controllers", "scheduler"):
        arguments = pods[f"Deployment/volcano-{name}"]["containers"][0]["args"]
        assert "--leader-elect=true" in arguments


def test_pinned_chart_hands_the_scheduler_our_profile(objects: list[dict[str, Any]]) -> None:
    config = next(
        item["data"]["volcano-scheduler.conf"]
        for item in objects
        if item["kind"] == "ConfigMap" and item["metadata"]["name"].endswith("scheduler-configmap")
    )
    assert yaml.safe_load(config) == profile()


def test_pinned_chart_fits_the_namespaces_level(
    objects: list[dict[str, Any]], tmp_path: Path
) -> None:
    for pod in helm_charts.pod_specs(objects).values():
        assert not any("hostPath" in volume for volume in pod.get("volumes", []))
        for container in pod["containers"]:
            assert container["securityContext"]["runAsNonRoot"] is True
            assert container["securityContext"]["allowPrivilegeEscalation"] is False
