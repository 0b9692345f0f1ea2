"""Dated prices of what the stack uses, each figure with source, date and how well it is known.

The file is data of ours, not a lookup: a plan needs no network, and two plans of one commit show
the same figures.
"""

import datetime
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

PRICE_FILE: Final = Path(__file__).with_name("prices") / "aws-2026-11-30.json"
HOURS_PER_MONTH: Final = 730
"""Hours that AWS's own calculator counts for a month."""

STALE_AFTER_DAYS: Final = 90
FALLBACK_REGION: Final = "us-east-1"


@dataclass(frozen=True, kw_only=True, slots=True)
class Figure:
    """One price: dollars per unit, the source it was read in, when, and how well it is known.

    `mark` is S (read in the source), X (in an excerpt citing it), M (measured), C (computed from
    others) or K (general knowledge).
    """

    usd: float
    per: str
    source: str
    url: str
    date: str
    mark: str


@dataclass(frozen=True, kw_only=True, slots=True)
class InstancePrices:
    """Hourly prices of one instance type; spot moves, so it is a range."""

    on_demand: Figure
    spot_low: Figure
    spot_high: Figure


@dataclass(frozen=True, kw_only=True, slots=True)
class Prices:
    """The figures of one region; `region` differs from `asked` when that region has none."""

    asked: str
    date: datetime.date
    instances: Mapping[str, InstancePrices]
    items: Mapping[str, Figure]
    region: str

    @property
    def substituted(self) -> bool:
        """Whether another region's figures stand in."""
        return self.region != self.asked


def load_prices(region: str) -> Prices:
    """Prices of `region`; those of us-east-1 when the file has none for it."""
    document = _document()
    regions = document["regions"]
    known = region if region in regions else FALLBACK_REGION
    figures = regions[known]
    sources = document["sources"]
    return Prices(
        asked=region,
        date=datetime.date.fromisoformat(document["date"]),
        instances={
            name: InstancePrices(**{kind: _figure(raw, sources) for kind, raw in kinds.items()})
            for name, kinds in figures["instances"].items()
        },
        items={name: _figure(raw, sources) for name, raw in figures["items"].items()},
        region=known,
    )


@cache
def _document() -> dict[str, Any]:
    document: dict[str, Any] = json.loads(PRICE_FILE.read_text(encoding="utf-8"))
    return document


def _figure(raw: Mapping[str, Any], sources: Mapping[str, Mapping[str, str]]) -> Figure:
    source = sources[raw["source"]]
    return Figure(
        usd=raw["usd"],
        per=raw["per"],
        source=source["title"],
        url=source["url"],
        date=source["date"],
        mark=source["mark"],
    )


def stale(prices: Prices, today: datetime.date) -> str | None:
    """A sentence when the price file is older than 90 days on `today`, else None."""
    age = (today - prices.date).days
    if age <= STALE_AFTER_DAYS:
        return None
    return (
        f"prices are {age} days old (file of {prices.date.isoformat()}, warning after "
        f"{STALE_AFTER_DAYS}); check them against aws.amazon.com and add a newer file in "
        "stacks/prices"
    )


def job_prices(prices: Prices, instance_types: Iterable[str]) -> dict[str, Any]:
    """What the trainer needs to say what a run cost: date, region, dollars an hour by type."""
    return {
        "date": prices.date.isoformat(),
        "region": prices.region,
        "usd_per_hour": {
            name: {
                "on_demand": prices.instances[name].on_demand.usd,
                "spot_high": prices.instances[name].spot_high.usd,
                "spot_low": prices.instances[name].spot_low.usd,
            }
            for name in sorted(instance_types)
            if name in prices.instances
        },
    }
