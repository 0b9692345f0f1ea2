"""Refusals about zones, subnets and who reaches the API server: what EKS would refuse later."""

from collections.abc import Callable, Iterator
from typing import Final

from components.limits import FEWEST_ZONES, MOST_ZONES, ZONES_WITHOUT_EKS
from stacks import capacity
from stacks.settings import Settings

Problems = Iterator[str]


def _zones(settings: Settings) -> Problems:
    zones = settings.network.availability_zone_ids
    if len(set(zones)) < FEWEST_ZONES or len(set(zones)) != len(zones):
        given = ", ".join(zones) or "nothing"
        yield (
            f"gangway:network.availabilityZoneIds is {given}; EKS needs at least {FEWEST_ZONES} "
            "distinct zones, "
            "each named once"
        )
    prefix = capacity.region_zone_prefix(settings.region)
    wrong = [zone for zone in zones if zone.split("-", 1)[0] != prefix]
    if wrong:
        yield (
            f"gangway:network.availabilityZoneIds has {', '.join(wrong)}, outside aws:region "
            f"{settings.region}; its zone ids begin with {prefix}-az"
        )


def _gpu_zones(settings: Settings) -> Problems:
    known = settings.network.availability_zone_ids
    unknown = [zone for zone in settings.gpu_nodes.zone_ids if zone not in known]
    if unknown:
        yield (
            f"gangway:gpuNodes.zoneIds has {', '.join(unknown)}; allowed are the zones of "
            f"gangway:network.availabilityZoneIds: {', '.join(known)}"
        )
    if len(set(settings.gpu_nodes.zone_ids)) != len(settings.gpu_nodes.zone_ids):
        yield "gangway:gpuNodes.zoneIds names a zone twice; name each once"


def _existing_vpc(settings: Settings) -> Problems:
    existing = settings.network.existing_vpc
    if existing is None:
        return
    missing = [
        zone
        for zone in settings.network.availability_zone_ids
        if zone not in existing.private_subnet_ids
    ]
    if missing:
        yield (
            f"gangway:network.existingVpc.privateSubnetIds has no subnet for {', '.join(missing)}; "
            "give one private subnet for each zone of availabilityZoneIds"
        )


def _zones_offered(settings: Settings) -> Problems:
    zones = settings.network.availability_zone_ids
    refused = sorted(ZONES_WITHOUT_EKS & set(zones))
    if refused:
        yield (
            f"gangway:network.availabilityZoneIds has {', '.join(refused)}, where EKS takes no "
            "subnet; choose another zone of the region"
        )
    if settings.network.existing_vpc is None and len(zones) > MOST_ZONES:
        yield (
            f"gangway:network.availabilityZoneIds has {len(zones)} zones; allowed: {MOST_ZONES} "
            "at most, as the VPC is cut into that many"
        )


def _existing_subnets(settings: Settings) -> Problems:
    existing = settings.network.existing_vpc
    if existing is None:
        return
    subnets = list(existing.private_subnet_ids.values())
    for subnet in sorted({subnet for subnet in subnets if subnets.count(subnet) > 1}):
        yield (
            f"gangway:network.existingVpc.privateSubnetIds has {subnet} for two zones; a subnet "
            "lies in one zone, give each its own"
        )
    if settings.network.interface_endpoints:
        yield (
            "gangway:network.interfaceEndpoints is set beside existingVpc, whose owner makes its "
            "endpoints; remove it"
        )


def _named_once(settings: Settings) -> Problems:
    lists = {
        "network.interfaceEndpoints": settings.network.interface_endpoints,
        "cluster.publicAccessCidrs": settings.cluster.public_access_cidrs,
    }
    for key, values in lists.items():
        for value in sorted({value for value in values if values.count(value) > 1}):
            yield f"gangway:{key} names {value} twice; name each once"


RULES: Final[tuple[Callable[[Settings], Problems], ...]] = (
    _zones,
    _zones_offered,
    _gpu_zones,
    _existing_vpc,
    _existing_subnets,
    _named_once,
)
