"""Cost: every line counted by hand once, ranges for spot, assumptions in sight."""

from dataclasses import replace

import pytest

from infra.preview.cost import Assumptions, Cost, CostLine, estimate, node_pools
from stacks.prices import load_prices
from tests.support import settings as sample_settings
from tests.support.recorded import recording, resource
from tests.support.recorder import record
from tests.support.sample_program import sample

PRICES = load_prices("us-east-1")


@pytest.fixture(scope="module")
def cost() -> Cost:
    given = sample_settings.settings({"autoscaling.scaleDownUnneededMinutes": 5})
    return estimate(record(sample), PRICES, given)


def line(cost: Cost, start: str) -> CostLine:
    return next(item for item in cost.lines if item.item.startswith(start))


@pytest.mark.parametrize(
    ("item", "amount", "idle", "low", "high"),
    [
        pytest.param("EKS control plane", "1", 0.10, 0.10, 0.10, id="control plane"),
        pytest.param("NAT gateway", "1", 0.045, 0.045, 0.045, id="nat"),
        pytest.param("public IPv4", "1", 0.005, 0.005, 0.005, id="address"),
        pytest.param("interface endpoint", "2", 0.02, 0.02, 0.02, id="endpoint in two zones"),
        pytest.param("system nodes, on", "2 to 3", 0.0832, 0.1248, 0.1248, id="system"),
        pytest.param("gpu nodes, spot", "0 to 8", 0, 8 * 0.15, 8 * 0.4289, id="gpu"),
        pytest.param("gpu nodes' disks", "0 to 8", 0, 64 / 730, 64 / 730, id="disks"),
        pytest.param("KMS key", "1", 1 / 730, 1 / 730, 1 / 730, id="key"),
        pytest.param("logs", "1", 1.5 / 730, 1.5 / 730, 1.5 / 730, id="logs"),
        pytest.param("results", "1", 0.23 / 730, 0.23 / 730, 0.23 / 730, id="results"),
    ],
)
def test_a_line_is_counted(
    cost: Cost, item: str, amount: str, idle: float, low: float, high: float
) -> None:
    found = line(cost, item)
    assert found.amount == amount
    assert found.idle.low == pytest.approx(idle)
    assert (found.full.low, found.full.high) == pytest.approx((low, high))


def test_totals_add_up(cost: Cost) -> None:
    assert cost.idle.low == pytest.approx(sum(item.idle.low for item in cost.lines))
    assert cost.full.high == pytest.approx(sum(item.full.high for item in cost.lines))
    assert cost.idle_month.low == pytest.approx(cost.idle.low * 730)


def test_all_on_demand_takes_the_first_type_listed(cost: Cost) -> None:
    spot = line(cost, "gpu nodes, spot")
    assert cost.full_on_demand == pytest.approx(cost.full.high - spot.full.high + 8 * 0.526)


def test_a_job_pays_for_its_nodes_from_start_until_they_are_given_back(cost: Cost) -> None:
    assert cost.job is not None
    assert (cost.job.nodes, cost.job.minutes) == (2, 42)
    disk = 0.08 * 100 / 730
    assert cost.job.cost.low == pytest.approx((0.15 + disk) * 2 * 42 / 60)
    assert "30 of training assumed" in cost.job.how


def test_a_longer_job_costs_more() -> None:
    given = sample_settings.settings()
    longer = estimate(record(sample), PRICES, given, Assumptions(job_minutes=60)).job
    assert longer is not None
    assert longer.minutes == 7 + 60 + 10


def test_without_settings_no_job_is_priced() -> None:
    assert estimate(record(sample), PRICES).job is None


def test_node_groups_alike_are_one_pool() -> None:
    pools = node_pools(record(sample))
    assert [(pool.role, pool.least, pool.most, pool.disk_gib) for pool in pools] == [
        ("system", 2, 3, 50),
        ("gpu", 0, 8, 100),
    ]


def test_extended_support_costs_six_times_as_much() -> None:
    old = resource("eks:index:Cluster", "cluster", {"version": "1.33"}, custom=False)
    found = estimate(recording(old), PRICES).lines[0]
    assert found.item == "EKS control plane (extended support)"
    assert found.full.low == pytest.approx(0.60)


def test_another_regions_prices_are_pointed_out() -> None:
    elsewhere = replace(PRICES, asked="eu-west-1")
    assert estimate(recording(), elsewhere).substituted_for == "eu-west-1"
    assert estimate(recording(), PRICES).substituted_for == ""


def test_a_type_without_a_price_has_no_figures() -> None:
    nodes = resource(
        "aws:eks/nodeGroup:NodeGroup",
        "gpu",
        {"instanceTypes": ["x9.huge"], "scalingConfig": {"maxSize": 1, "minSize": 0}},
    )
    assert estimate(recording(nodes), PRICES).lines[0].figures == ()
