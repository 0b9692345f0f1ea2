"""Order of creation and destruction from the recorded dependencies."""

import pytest

from infra.preview.graph import Graph, component_waves, reduced
from infra.preview.recording import RecordedResource, RecordingError
from tests.support.recorded import recording, resource
from tests.support.recorder import record
from tests.support.sample_program import sample

VPC = resource("aws:ec2/vpc:Vpc", "vpc")
SUBNET = resource("aws:ec2/subnet:Subnet", "subnet", after=[VPC])
NODES = resource("aws:eks/nodeGroup:NodeGroup", "nodes", after=[SUBNET])


def names(resources: tuple[RecordedResource, ...]) -> list[str]:
    return [item.name for item in resources]


def test_what_is_needed_comes_first() -> None:
    graph = Graph(recording(NODES, SUBNET, VPC))
    assert names(graph.creation_order()) == ["vpc", "subnet", "nodes"]


def test_destruction_is_the_reverse() -> None:
    graph = Graph(recording(NODES, SUBNET, VPC))
    assert names(graph.destruction_order()) == ["nodes", "subnet", "vpc"]


def test_waiting_passes_on() -> None:
    graph = Graph(recording(NODES, SUBNET, VPC))
    assert graph.waits_for(NODES.urn, VPC.urn)
    assert not graph.waits_for(VPC.urn, NODES.urn)


def test_a_parent_and_a_provider_come_first() -> None:
    group = resource("gangway:components:Group", "group", custom=False)
    provider = resource("pulumi:providers:kubernetes", "cluster")
    child = resource(
        "kubernetes:core/v1:Namespace", "n", parent=group.urn, provider=f"{provider.urn}::id"
    )
    graph = Graph(recording(group, provider, child))
    assert graph.prerequisites[child.urn] == {group.urn, provider.urn}


def test_rejects_a_circle() -> None:
    one = resource("aws:ec2/vpc:Vpc", "one", after=[resource("aws:ec2/vpc:Vpc", "two")])
    two = resource("aws:ec2/vpc:Vpc", "two", after=[one])
    with pytest.raises(RecordingError, match="wait for each other: one, two"):
        Graph(recording(one, two)).creation_order()


def test_an_edge_that_a_longer_way_implies_is_left_out() -> None:
    edges = {"c": frozenset({"a", "b"}), "b": frozenset({"a"})}
    assert reduced(edges) == {"c": frozenset({"b"}), "b": frozenset({"a"})}


def test_parts_stand_in_waves_and_providers_are_passed_through() -> None:
    graph = Graph(record(sample))
    waves = [[graph.resources[urn].name for urn in wave] for wave in component_waves(graph)]
    assert waves[:4] == [
        ["results", "network"],
        ["results", "cluster"],
        ["gpu-use1-az4", "gpu-use1-az6", "system"],
        ["volcano"],
    ]
    assert waves[-1] == ["gang-train"]


def test_what_only_names_a_provider_comes_after_what_the_provider_needs() -> None:
    cluster = resource("eks:index:Cluster", "cluster", custom=False, remote=True)
    provider = resource("pulumi:providers:kubernetes", "kubernetes", after=[cluster])
    space = resource("kubernetes:core/v1:Namespace", "space", provider=f"{provider.urn}::id")
    graph = Graph(recording(cluster, provider, space))
    assert graph.component_edges()[space.urn] == {cluster.urn}
    assert component_waves(graph) == ((cluster.urn,), (space.urn,))


def test_parts_that_need_each_other_share_a_wave() -> None:
    one = resource("gangway:components:A", "one", custom=False)
    two = resource("gangway:components:B", "two", custom=False)
    inner = resource("aws:ec2/vpc:Vpc", "a1", parent=one.urn)
    other = resource("aws:ec2/vpc:Vpc", "b1", parent=two.urn, after=[inner])
    last = resource("aws:ec2/vpc:Vpc", "a2", parent=one.urn, after=[other])
    graph = Graph(recording(one, two, inner, other, last))
    assert component_waves(graph) == ((one.urn, two.urn),)
