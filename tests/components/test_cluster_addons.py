"""Which add-ons, how they are configured, and that each is declared once."""

import json
from typing import Any

import pytest

from components import gpu
from components.cluster_addons import (
    AddonSpec,
    ClusterAddons,
    ClusterAddonsArgs,
    addons_after_nodes,
    addons_before_nodes,
)
from components.node_group import gpu_node_taints
from tests.support.recorder import Recording, record

ADDON = "aws:eks/addon:Addon"
TEAM = gpu.Taint(key="team", value="a", effect="NoExecute")
BEFORE = addons_before_nodes({})
AFTER = addons_after_nodes({}, system_node_count=2, gpu_taints=gpu_node_taints([TEAM]))


def configuration(addons: tuple[AddonSpec, ...], name: str) -> dict[str, Any]:
    [addon] = [addon for addon in addons if addon.name == name]
    return dict(addon.configuration)


@pytest.fixture(scope="module")
def recording() -> Recording:
    args = ClusterAddonsArgs(
        addons=(*addons_before_nodes({"vpc-cni": "v1.20.4-eksbuild.1"}), *AFTER),
        cluster_name="gangway-dev",
        tags={"team": "ml"},
    )
    return record(lambda: ClusterAddons("addons", args) and None)


def addon(recording: Recording, name: str) -> dict[str, Any]:
    return recording.one(ADDON, f"addons-{name}").inputs


def test_what_nodes_need_comes_before_them() -> None:
    assert [item.name for item in BEFORE] == ["eks-pod-identity-agent", "kube-proxy", "vpc-cni"]


def test_what_needs_nodes_comes_after_them() -> None:
    assert [item.name for item in AFTER] == [
        "coredns",
        "eks-node-monitoring-agent",
        "metrics-server",
    ]


def test_no_add_on_is_on_both_sides() -> None:
    assert not {item.name for item in BEFORE} & {item.name for item in AFTER}


def test_network_policies_are_enforced() -> None:
    assert configuration(BEFORE, "vpc-cni") == {"enableNetworkPolicy": "true"}


@pytest.mark.parametrize("name", ["coredns", "metrics-server"])
def test_cluster_services_stay_on_system_nodes(name: str) -> None:
    assert configuration(AFTER, name)["nodeSelector"] == {"gangway.dev/node-role": "system"}


@pytest.mark.parametrize(("nodes", "replicas"), [(1, 1), (2, 2), (5, 2)])
def test_cluster_services_are_doubled_where_two_nodes_can_carry_them(
    nodes: int, replicas: int
) -> None:
    addons = addons_after_nodes({}, system_node_count=nodes, gpu_taints=())
    assert configuration(addons, "coredns")["replicaCount"] == replicas
    assert configuration(addons, "metrics-server")["replicas"] == replicas


def test_the_health_agents_gpu_part_tolerates_every_gpu_taint() -> None:
    assert configuration(AFTER, "eks-node-monitoring-agent")["dcgmAgent"]["tolerations"] == [
        gpu.GPU_TAINT.toleration(),
        TEAM.toleration(),
    ]


@pytest.mark.parametrize("name", ["eks-pod-identity-agent", "kube-proxy", "vpc-cni"])
def test_a_version_before_nodes_can_be_pinned(name: str) -> None:
    pinned = addons_before_nodes({name: "v1.2.3-eksbuild.1"})
    assert {item.name: item.version for item in pinned if item.version} == {
        name: "v1.2.3-eksbuild.1"
    }


@pytest.mark.parametrize("name", ["coredns", "eks-node-monitoring-agent", "metrics-server"])
def test_a_version_after_nodes_can_be_pinned(name: str) -> None:
    pinned = addons_after_nodes({name: "v1.2.3-eksbuild.1"}, system_node_count=2, gpu_taints=())
    assert {item.name: item.version for item in pinned if item.version} == {
        name: "v1.2.3-eksbuild.1"
    }


def test_an_unpinned_version_is_eks_own_default(recording: Recording) -> None:
    assert "addonVersion" not in addon(recording, "kube-proxy")


def test_a_pinned_version_reaches_eks(recording: Recording) -> None:
    assert addon(recording, "vpc-cni")["addonVersion"] == "v1.20.4-eksbuild.1"


def test_the_configuration_reaches_eks_as_text(recording: Recording) -> None:
    text = addon(recording, "coredns")["configurationValues"]
    assert json.loads(text) == configuration(AFTER, "coredns")


def test_an_add_on_without_configuration_keeps_its_defaults(recording: Recording) -> None:
    assert "configurationValues" not in addon(recording, "kube-proxy")


def test_the_order_of_keys_does_not_change_a_configuration() -> None:
    one = AddonSpec(name="coredns", configuration={"b": 1, "a": 2})
    other = AddonSpec(name="coredns", configuration={"a": 2, "b": 1})
    assert one.configuration_text() == other.configuration_text()


@pytest.mark.parametrize("moment", ["Create", "Update"])
def test_what_is_declared_wins_over_changes_by_hand(recording: Recording, moment: str) -> None:
    answers = {item.inputs[f"resolveConflictsOn{moment}"] for item in recording.of_type(ADDON)}
    assert answers == {"OVERWRITE"}


def test_an_add_on_goes_with_the_stack(recording: Recording) -> None:
    assert {item.inputs["preserve"] for item in recording.of_type(ADDON)} == {False}


def test_add_ons_belong_to_the_cluster_and_are_tagged(recording: Recording) -> None:
    assert {item.inputs["clusterName"] for item in recording.of_type(ADDON)} == {"gangway-dev"}
    assert {item.inputs["tags"]["team"] for item in recording.of_type(ADDON)} == {"ml"}


def test_each_add_on_is_declared_once(recording: Recording) -> None:
    names = [item.inputs["addonName"] for item in recording.of_type(ADDON)]
    assert sorted(names) == sorted({*names})
    assert len(names) == 6


@pytest.mark.parametrize(
    ("addons", "given"),
    [((), "nothing"), ((AddonSpec(name="coredns"),) * 2, "coredns, coredns")],
    ids=["none", "twice"],
)
def test_rejects_no_add_on_and_the_same_twice(addons: tuple[AddonSpec, ...], given: str) -> None:
    with pytest.raises(ValueError, match=f"addons has {given}; name at least one, and each once"):
        ClusterAddonsArgs(addons=addons, cluster_name="gangway-dev")


def test_everything_belongs_to_the_component(recording: Recording) -> None:
    component = recording.one("gangway:components:ClusterAddons")
    assert {item.parent for item in recording if item is not component} == {component.urn}
