"""The arithmetic of a gang."""

import pytest

from stacks import capacity
from tests.support.settings import settings


def test_gpu_nodes_stand_in_every_zone_of_the_network_by_default() -> None:
    assert capacity.gpu_zone_ids(settings()) == ("use1-az4", "use1-az6")


def test_named_gpu_zones_win_over_the_networks() -> None:
    chosen = settings({"gpuNodes.zoneIds": ["use1-az6"]})
    assert capacity.gpu_zone_ids(chosen) == ("use1-az6",)


def test_a_plan_fits_the_smallest_type_listed() -> None:
    chosen = settings({"gpuNodes.instanceTypes": ["g4dn.4xlarge", "g4dn.xlarge"]})
    assert capacity.smallest_gpu_instance(chosen).name == "g4dn.xlarge"


def test_the_fleet_reaches_every_zone_at_its_largest() -> None:
    assert capacity.fleet_capability(settings()) == {
        "cpu": "31360m",
        "memory": "115848Mi",
        "nvidia.com/gpu": "8",
    }


def test_time_slices_count_as_gpus() -> None:
    sliced = settings({"devicePlugin.timeSlicing": {"replicas": 4}})
    assert capacity.fleet_capability(sliced)["nvidia.com/gpu"] == "32"


def test_a_queue_without_capability_gets_the_fleets() -> None:
    parsed = settings()
    assert capacity.queue_capability(parsed, parsed.queues[0]) == capacity.fleet_capability(parsed)


def test_a_gang_asks_for_all_workers_at_once() -> None:
    assert capacity.gang_requests(settings({"trainingJob.workers": 3})) == {
        "cpu": "6",
        "memory": "12Gi",
        "nvidia.com/gpu": "3",
    }


@pytest.mark.parametrize(
    ("changes", "count"),
    [
        ({}, 1),
        ({"trainingJob.cpuPerWorker": "4", "gpuNodes.instanceTypes": ["g4dn.2xlarge"]}, 1),
        ({"gpuNodes.instanceTypes": ["g4dn.12xlarge"]}, 4),
        ({"gpuNodes.instanceTypes": ["g4dn.12xlarge"], "trainingJob.gpusPerWorker": 3}, 1),
        ({"gpuNodes.instanceTypes": ["g4dn.12xlarge"], "trainingJob.cpuPerWorker": "20"}, 2),
        ({"gpuNodes.instanceTypes": ["g4dn.12xlarge"], "trainingJob.memoryPerWorker": "55Gi"}, 3),
    ],
    ids=["one-gpu", "larger-node", "four-gpus", "gpus-bind", "cpu-binds", "memory-binds"],
)
def test_workers_per_node(changes: dict[str, object], count: int) -> None:
    assert capacity.workers_per_node(settings(changes)) == count


@pytest.mark.parametrize(
    ("region", "prefix"),
    [
        ("us-east-1", "use1"),
        ("eu-central-1", "euc1"),
        ("ap-southeast-2", "apse2"),
        ("us-gov-west-1", "usgw1"),
        ("ap-northeast-3", "apne3"),
    ],
)
def test_zone_ids_begin_with_their_region(region: str, prefix: str) -> None:
    assert capacity.region_zone_prefix(region) == prefix
