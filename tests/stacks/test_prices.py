"""Prices: complete, sourced, dated, and stale only when somebody says what day it is."""

import datetime
import json

import pytest

from components.instance_types import INSTANCE_TYPES
from stacks import prices

PRICES = prices.load_prices("us-east-1")
FIGURES = [
    *(pytest.param(figure, id=name) for name, figure in PRICES.items.items()),
    *(
        pytest.param(getattr(kinds, kind), id=f"{name}-{kind}")
        for name, kinds in PRICES.instances.items()
        for kind in ("on_demand", "spot_low", "spot_high")
    ),
]


@pytest.mark.parametrize("figure", FIGURES)
def test_a_figure_has_source_date_and_mark(figure: prices.Figure) -> None:
    assert figure.usd > 0
    assert figure.source
    assert datetime.date.fromisoformat(figure.date) <= PRICES.date
    assert figure.mark in "SXMCK"
    assert figure.url or figure.mark in "CK"


def test_every_known_instance_type_has_a_price() -> None:
    assert set(PRICES.instances) == set(INSTANCE_TYPES)


@pytest.mark.parametrize("name", sorted(PRICES.instances))
def test_spot_lies_below_on_demand(name: str) -> None:
    kinds = PRICES.instances[name]
    assert kinds.spot_low.usd < kinds.spot_high.usd < kinds.on_demand.usd


def test_the_file_is_named_after_its_date() -> None:
    assert prices.PRICE_FILE.stem.endswith(PRICES.date.isoformat())


def test_every_source_is_used() -> None:
    document = json.loads(prices.PRICE_FILE.read_text(encoding="utf-8"))
    text = json.dumps(document["regions"])
    assert [name for name in document["sources"] if f'"{name}"' not in text] == []


def test_a_region_without_figures_gets_those_of_us_east_1_and_says_so() -> None:
    elsewhere = prices.load_prices("eu-west-1")
    assert elsewhere.substituted
    assert elsewhere.region == "us-east-1"
    assert elsewhere.items == PRICES.items
    assert not PRICES.substituted


def test_prices_are_fresh_for_90_days() -> None:
    assert prices.stale(PRICES, PRICES.date + datetime.timedelta(days=90)) is None


def test_prices_are_stale_on_the_91st_day() -> None:
    sentence = prices.stale(PRICES, PRICES.date + datetime.timedelta(days=91))
    assert sentence is not None
    assert "91 days old" in sentence


def test_the_trainer_gets_the_types_asked_for_and_skips_unknown_ones() -> None:
    given = prices.job_prices(PRICES, ["g4dn.xlarge", "x9.huge"])
    assert given == {
        "date": "2026-11-30",
        "region": "us-east-1",
        "usd_per_hour": {
            "g4dn.xlarge": {"on_demand": 0.526, "spot_high": 0.3, "spot_low": 0.15},
        },
    }
