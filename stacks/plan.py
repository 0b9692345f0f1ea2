"""What one environment's layers share: its settings, and what is derived from them once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi

from components import gpu
from components.node_group import gpu_node_taints
from stacks.settings import Settings

SERVICE_ACCOUNT: Final = "trainer"
"""The one account that may write results; identity and job must name the same."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """Settings with the name, tags and taints that every layer spells alike."""

    gpu_taints: tuple[gpu.Taint, ...]
    name: str
    settings: Settings
    tags: Mapping[str, str]


def plan_for(settings: Settings) -> Plan:
    """Derive the plan of one environment."""
    return Plan(
        gpu_taints=gpu_node_taints([taint.taint() for taint in settings.gpu_nodes.extra_taints]),
        name=f"gangway-{settings.environment}",
        settings=settings,
        tags={
            "gangway:environment": settings.environment,
            "gangway:project": "gangway",
            **settings.tags,
        },
    )


def after(*resources: pulumi.Resource, **options: Any) -> pulumi.ResourceOptions:
    """Options of a part that is created after `resources` and destroyed before them."""
    return pulumi.ResourceOptions(depends_on=list(resources), **options)
