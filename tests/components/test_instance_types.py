"""Facts per instance type, and what is left of a node for pods."""

import pytest

from components.instance_types import INSTANCE_TYPES, InstanceType

GPU_FACTS = ("accelerator", "gpu_memory_mib", "gpu_model", "gpus")


@pytest.mark.parametrize(
    ("name", "pods"),
    [
        ("t3.medium", 17),
        ("m6i.large", 29),
        ("g4dn.xlarge", 29),
        ("g4dn.16xlarge", 58),
        ("g5.xlarge", 58),
        ("g4dn.12xlarge", 234),
    ],
)
def test_pod_limit_is_the_one_eks_publishes(name: str, pods: int) -> None:
    assert INSTANCE_TYPES[name].max_pods == pods


@pytest.mark.parametrize(
    ("name", "millicores"), [("t3.medium", 1930), ("g4dn.xlarge", 3920), ("g4dn.2xlarge", 7910)]
)
def test_cpu_left_to_pods(name: str, millicores: int) -> None:
    assert INSTANCE_TYPES[name].allocatable_cpu_millicores == millicores


def test_memory_left_to_pods_is_less_than_a_real_node_has() -> None:
    # A g4dn.xlarge of a real cluster reports about 15.5 GiB, of which about 14.8 are allocatable.
    assert 14_000 < INSTANCE_TYPES["g4dn.xlarge"].allocatable_memory_mib < 14_800


def test_memory_reserved_grows_with_the_pod_limit() -> None:
    few, many = INSTANCE_TYPES["g4dn.4xlarge"], INSTANCE_TYPES["g5.4xlarge"]
    difference = few.allocatable_memory_mib - many.allocatable_memory_mib
    assert difference == 11 * (many.max_pods - few.max_pods)


@pytest.mark.parametrize("instance", INSTANCE_TYPES.values(), ids=lambda item: item.name)
def test_gpu_facts_come_together_or_not_at_all(instance: InstanceType) -> None:
    facts = {bool(getattr(instance, name)) for name in GPU_FACTS}
    assert len(facts) == 1
