"""The settings' own promises: frozen, strict, safe defaults."""

import pytest
from pydantic import ValidationError

from stacks.settings import Section
from tests.support.settings import settings


def test_settings_cannot_be_changed() -> None:
    parsed = settings()
    with pytest.raises(ValidationError, match="frozen"):
        parsed.region = "eu-west-1"  # type: ignore[misc]


DEFAULTS = {
    ("cluster", "version"): "1.35",
    ("cluster", "allow_extended_support"): False,
    ("gpu_nodes", "ami_type"): "AL2023_x86_64_NVIDIA",
    ("gpu_nodes", "disk_gib"): 100,
    ("gpu_nodes", "min_size_per_zone"): 0,
    ("system_nodes", "ami_type"): "AL2023_x86_64_STANDARD",
    ("training_job", "workers"): 2,
    ("training_job", "queue"): "ml-queue",
    ("training_job", "cpu_per_worker"): "2",
    ("training_job", "memory_per_worker"): "4Gi",
    ("training_job", "gpus_per_worker"): 1,
    ("training_job", "max_retry"): 10,
    ("training_job", "single_zone"): True,
    ("training", "framework"): "pytorch",
    ("results", "prefix"): "logs/",
    ("results", "bucket_name"): None,
}


@pytest.mark.parametrize(
    ("path", "value"), DEFAULTS.items(), ids=[".".join(path) for path in DEFAULTS]
)
def test_default(path: tuple[str, str], value: object) -> None:
    assert getattr(getattr(settings(), path[0]), path[1]) == value


COSTLY = [
    ("gpu_nodes", "instance_types"),
    ("gpu_nodes", "max_size_per_zone"),
    ("gpu_nodes", "capacity_type"),
    ("system_nodes", "instance_types"),
    ("system_nodes", "max_size"),
    ("training", "image"),
    ("results", "force_destroy"),
    ("cluster", "public_access_cidrs"),
]


@pytest.mark.parametrize("path", COSTLY, ids=[".".join(path) for path in COSTLY])
def test_what_costs_money_or_data_has_no_default(path: tuple[str, str]) -> None:
    section: Section = getattr(settings(), path[0])
    assert type(section).model_fields[path[1]].is_required()
