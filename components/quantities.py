"""Kubernetes resource quantities as exact numbers."""

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

SUFFIXES: Final = {
    "": Decimal(1),
    "m": Decimal(1) / 1000,
    "k": Decimal(10) ** 3,
    "M": Decimal(10) ** 6,
    "G": Decimal(10) ** 9,
    "T": Decimal(10) ** 12,
    "Ki": Decimal(2) ** 10,
    "Mi": Decimal(2) ** 20,
    "Gi": Decimal(2) ** 30,
    "Ti": Decimal(2) ** 40,
}
"""Suffix -> factor (Kubernetes API conventions, resource quantities)."""

_PATTERN: Final = re.compile(r"(\d+(?:\.\d+)?)([a-zA-Z]*)")


def _split(quantity: str) -> tuple[Decimal, str]:
    match = _PATTERN.fullmatch(quantity)
    if match is None or match.group(2) not in SUFFIXES:
        message = f"{quantity!r} is no Kubernetes quantity; write for example 500m, 2 or 4Gi"
        raise ValueError(message)
    return Decimal(match.group(1)), match.group(2)


def amount(quantity: str) -> Decimal:
    """The number of base units (cores, bytes, devices) that `quantity` stands for.

    Raises ValueError for text that is no quantity.
    """
    number, suffix = _split(quantity)
    return number * SUFFIXES[suffix]


def times(quantity: str, count: int) -> str:
    """`quantity` taken `count` times, as a quantity Kubernetes parses back to the same number.

    Raises ValueError for text that is no quantity.
    """
    number, suffix = _split(quantity)
    return f"{(number * count).normalize():f}{suffix}"


def exceeding(wanted: Mapping[str, str], limit: Mapping[str, str]) -> list[str]:
    """Names of resources whose amount in `wanted` is above that in `limit`, sorted.

    A resource that `limit` does not name is not limited by it.
    """
    return sorted(
        name
        for name, quantity in wanted.items()
        if name in limit and amount(quantity) > amount(limit[name])
    )
