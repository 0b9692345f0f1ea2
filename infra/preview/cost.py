"""What the recorded stack costs: idle, at full size, a month, a job; each line with its source.

Only what is declared counts, plus three assumptions that stand in `Assumptions` and in the
report. Traffic is left out: nobody knows it before a run.
"""

import math
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final

from components import versions
from components.instance_types import INSTANCE_TYPES
from infra.preview.recording import RecordedResource, Recording
from stacks import capacity
from stacks.prices import HOURS_PER_MONTH, Figure, Prices
from stacks.settings import Settings

NODE_GROUP: Final = "aws:eks/nodeGroup:NodeGroup"
LAUNCH_TEMPLATE: Final = "aws:ec2/launchTemplate:LaunchTemplate"


@dataclass(frozen=True, kw_only=True, slots=True)
class Range:
    """Dollars, lowest to highest; both alike where the price is fixed."""

    low: float
    high: float

    def __add__(self, other: "Range") -> "Range":
        return Range(low=self.low + other.low, high=self.high + other.high)

    def times(self, factor: float) -> "Range":
        """Both ends times `factor`."""
        return Range(low=self.low * factor, high=self.high * factor)


NOTHING: Final = Range(low=0.0, high=0.0)


@dataclass(frozen=True, kw_only=True, slots=True)
class Assumptions:
    """What no program can know: run time, start-up, amounts of data.

    Start-up: about 90 s until a node joins and 334 s for an uncached 20 GB image (AWS, ML
    container cache, README).
    """

    job_minutes: int = 30
    log_gb_per_month: float = 3.0
    results_gb: float = 10.0
    start_minutes: int = 7


@dataclass(frozen=True, kw_only=True, slots=True)
class CostLine:
    """One row: what, how much of it when idle and at full size, at which price."""

    item: str
    amount: str
    figures: tuple[Figure, ...]
    idle: Range
    full: Range


@dataclass(frozen=True, kw_only=True, slots=True)
class JobCost:
    """One run of the training job: its nodes from start until the autoscaler takes them back."""

    nodes: int
    minutes: int
    cost: Range
    on_demand: float
    how: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Cost:
    """All rows and what they add up to, dollars an hour unless the name says otherwise."""

    lines: tuple[CostLine, ...]
    prices_date: str
    prices_region: str
    substituted_for: str
    full_on_demand: float
    job: JobCost | None
    assumptions: Assumptions

    @property
    def idle(self) -> Range:
        """An hour with nothing running."""
        return sum((line.idle for line in self.lines), NOTHING)

    @property
    def full(self) -> Range:
        """An hour with every node group at its largest."""
        return sum((line.full for line in self.lines), NOTHING)

    @property
    def idle_month(self) -> Range:
        """730 hours with nothing running."""
        return self.idle.times(HOURS_PER_MONTH)


@dataclass(frozen=True, kw_only=True, slots=True)
class NodePool:
    """Node groups alike in role, capacity type and instance types, counted together."""

    role: str
    capacity_type: str
    instance_types: tuple[str, ...]
    disk_gib: int
    least: int
    most: int

    @property
    def spot(self) -> bool:
        """Whether the nodes are spot instances."""
        return self.capacity_type == "SPOT"

    def figures(self, prices: Prices) -> tuple[Figure, ...]:
        """Lowest and highest price a node may have; on demand, EKS takes the first type listed."""
        known = [prices.instances[name] for name in self.instance_types if name in prices.instances]
        if not known:
            return ()
        if not self.spot:
            return (known[0].on_demand,)
        lowest = min((item.spot_low for item in known), key=lambda figure: figure.usd)
        highest = max((item.spot_high for item in known), key=lambda figure: figure.usd)
        return (lowest, highest)

    def on_demand(self, prices: Prices) -> float:
        """Price of the first type on demand."""
        return next(
            (
                prices.instances[name].on_demand.usd
                for name in self.instance_types
                if name in prices.instances
            ),
            0.0,
        )


def estimate(
    recording: Recording,
    prices: Prices,
    settings: Settings | None = None,
    assumptions: Assumptions | None = None,
) -> Cost:
    """Price every recorded resource that costs money by the hour or the month."""
    given = assumptions or Assumptions()
    pools = node_pools(recording)
    lines = [
        *_fixed_lines(recording, prices),
        *_node_lines(pools, prices),
        *_monthly_lines(recording, prices, given),
    ]
    cost = Cost(
        lines=tuple(lines),
        prices_date=prices.date.isoformat(),
        prices_region=prices.region,
        substituted_for=prices.asked if prices.substituted else "",
        full_on_demand=0.0,
        job=_job(pools, prices, settings, given) if settings else None,
        assumptions=given,
    )
    spot = sum(
        (_times(pool.figures(prices), pool.most) for pool in pools if pool.spot), start=NOTHING
    )
    instead = sum(pool.on_demand(prices) * pool.most for pool in pools if pool.spot)
    return replace(cost, full_on_demand=cost.full.high - spot.high + instead)


def node_pools(recording: Recording) -> tuple[NodePool, ...]:
    """The recorded node groups, those alike joined."""
    sizes: dict[tuple[str, str, tuple[str, ...], int], list[int]] = defaultdict(lambda: [0, 0])
    disks = {
        resource.id: _disk_gib(resource.inputs) for resource in recording.of_type(LAUNCH_TEMPLATE)
    }
    for group in recording.of_type(NODE_GROUP):
        inputs = group.inputs
        template = disks.get((inputs.get("launchTemplate") or {}).get("id", ""), 0)
        types = tuple(inputs.get("instanceTypes") or ("t3.medium",))
        key = (
            _role(inputs, types),
            inputs.get("capacityType", "ON_DEMAND"),
            types,
            template or inputs.get("diskSize", 20),
        )
        scaling = inputs.get("scalingConfig") or {}
        sizes[key][0] += scaling.get("minSize", 0)
        sizes[key][1] += scaling.get("maxSize", 0)
    return tuple(
        NodePool(
            role=role,
            capacity_type=capacity_type,
            instance_types=types,
            disk_gib=disk,
            least=least,
            most=most,
        )
        for (role, capacity_type, types, disk), (least, most) in sorted(sizes.items(), reverse=True)
    )


def _role(inputs: dict[str, Any], types: tuple[str, ...]) -> str:
    labelled = (inputs.get("labels") or {}).get("gangway.dev/node-role")
    known = INSTANCE_TYPES.get(types[0])
    return str(labelled or ("gpu" if known and known.gpus else "system"))


def _disk_gib(inputs: dict[str, Any]) -> int:
    mappings = inputs.get("blockDeviceMappings") or []
    return sum(int((mapping.get("ebs") or {}).get("volumeSize", 0)) for mapping in mappings)


def _times(figures: tuple[Figure, ...], quantity: float) -> Range:
    if not figures:
        return NOTHING
    return Range(low=figures[0].usd * quantity, high=figures[-1].usd * quantity)


def _line(item: str, amount: str, figure: Figure, quantity: float) -> CostLine:
    """A row that costs the same idle and at full size; `quantity` is per hour."""
    cost = _times((figure,), quantity)
    return CostLine(item=item, amount=amount, figures=(figure,), idle=cost, full=cost)


def _fixed_lines(recording: Recording, prices: Prices) -> Iterator[CostLine]:
    clusters = [
        *recording.of_type("eks:index:Cluster"),
        *recording.of_type("aws:eks/cluster:Cluster"),
    ]
    for cluster in clusters:
        extended = _extended_support(cluster, prices)
        name = "eks_extended_support_hour" if extended else "eks_control_plane_hour"
        item = "EKS control plane" + (" (extended support)" if extended else "")
        yield _line(item, "1", prices.items[name], 1)
    gateways = len(recording.of_type("aws:ec2/natGateway:NatGateway"))
    if gateways:
        yield _line("NAT gateway", str(gateways), prices.items["nat_gateway_hour"], gateways)
    addresses = len(recording.of_type("aws:ec2/eip:Eip"))
    if addresses:
        yield _line(
            "public IPv4 address", str(addresses), prices.items["public_ipv4_hour"], addresses
        )
    interfaces = sum(
        len(endpoint.inputs.get("subnetIds") or [])
        for endpoint in recording.of_type("aws:ec2/vpcEndpoint:VpcEndpoint")
        if endpoint.inputs.get("vpcEndpointType") == "Interface"
    )
    if interfaces:
        figure = prices.items["interface_endpoint_hour"]
        yield _line("interface endpoint, per zone", str(interfaces), figure, interfaces)


def _extended_support(cluster: RecordedResource, prices: Prices) -> bool:
    """Whether the version has left standard support on the price file's date (no clock here)."""
    support = versions.EKS_KUBERNETES_SUPPORT.get(str(cluster.inputs.get("version", "")))
    return support is not None and support.standard_until < prices.date.isoformat()


def _node_lines(pools: tuple[NodePool, ...], prices: Prices) -> Iterator[CostLine]:
    disk = prices.items["ebs_gp3_gb_month"]
    for pool in pools:
        figures = pool.figures(prices)
        kind = "spot" if pool.spot else "on demand"
        yield CostLine(
            item=f"{pool.role} nodes, {kind}: {' or '.join(pool.instance_types)}",
            amount=f"{pool.least} to {pool.most}",
            figures=figures,
            idle=_times(figures, pool.least),
            full=_times(figures, pool.most),
        )
        hourly = pool.disk_gib / HOURS_PER_MONTH
        yield CostLine(
            item=f"{pool.role} nodes' disks, gp3 {pool.disk_gib} GiB",
            amount=f"{pool.least} to {pool.most}",
            figures=(disk,),
            idle=_times((disk,), pool.least * hourly),
            full=_times((disk,), pool.most * hourly),
        )


def _monthly_lines(
    recording: Recording, prices: Prices, assumptions: Assumptions
) -> Iterator[CostLine]:
    for type_token, item, name, each in (
        ("aws:kms/key:Key", "KMS key", "kms_key_month", 1.0),
        (
            "aws:cloudwatch/metricAlarm:MetricAlarm",
            "CloudWatch alarm",
            "cloudwatch_alarm_month",
            1.0,
        ),
        (
            "aws:cloudwatch/logGroup:LogGroup",
            f"logs, {assumptions.log_gb_per_month:g} GB a month assumed",
            "cloudwatch_logs_gb",
            assumptions.log_gb_per_month,
        ),
        (
            "aws:s3/bucket:Bucket",
            f"results, {assumptions.results_gb:g} GB assumed",
            "s3_standard_gb_month",
            assumptions.results_gb,
        ),
    ):
        count = len(recording.of_type(type_token))
        if count:
            yield _line(item, str(count), prices.items[name], count * each / HOURS_PER_MONTH)


def _job(
    pools: tuple[NodePool, ...], prices: Prices, settings: Settings, assumptions: Assumptions
) -> JobCost | None:
    pool = next((pool for pool in pools if pool.role == "gpu"), None)
    if pool is None:
        return None
    job = settings.training_job
    per_node = max(1, capacity.workers_per_node(settings))
    nodes = math.ceil(job.workers / per_node)
    idle = settings.autoscaling.scale_down_unneeded_minutes if settings.autoscaling.enabled else 0
    minutes = assumptions.start_minutes + assumptions.job_minutes + idle
    hours = nodes * minutes / 60
    disk = prices.items["ebs_gp3_gb_month"].usd * pool.disk_gib / HOURS_PER_MONTH
    disks = Range(low=disk, high=disk)
    return JobCost(
        nodes=nodes,
        minutes=minutes,
        cost=(_times(pool.figures(prices), 1) + disks).times(hours),
        on_demand=(pool.on_demand(prices) + disk) * hours,
        how=(
            f"{nodes} nodes x {minutes} min: {assumptions.start_minutes} to start, "
            f"{assumptions.job_minutes} of training assumed, {idle} until the nodes are given back"
        ),
    )
