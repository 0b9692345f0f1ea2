"""Kubernetes quantities as exact numbers."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components import quantities


@pytest.mark.parametrize(
    ("quantity", "number"),
    [("2", 2), ("500m", Decimal("0.5")), ("4Gi", 4 * 2**30), ("1.5G", 1_500_000_000), ("3k", 3000)],
)
def test_amount(quantity: str, number: Decimal) -> None:
    assert quantities.amount(quantity) == number


@pytest.mark.parametrize("quantity", ["", "4 Gi", "4gi", "-1", "1e3", "Gi", "1.Gi"])
def test_rejects_what_is_no_quantity(quantity: str) -> None:
    with pytest.raises(ValueError, match="is no Kubernetes quantity; write for example 500m"):
        quantities.amount(quantity)


@given(
    number=st.integers(min_value=1, max_value=10**6),
    suffix=st.sampled_from(sorted(quantities.SUFFIXES)),
    count=st.integers(min_value=1, max_value=1000),
)
def test_times_keeps_the_amount(number: int, suffix: str, count: int) -> None:
    quantity = f"{number}{suffix}"
    product = quantities.times(quantity, count)
    assert quantities.amount(product) == quantities.amount(quantity) * count


def test_exceeding_names_what_is_above_the_limit() -> None:
    wanted = {"cpu": "2001m", "memory": "4Gi", "nvidia.com/gpu": "1"}
    assert quantities.exceeding(wanted, {"cpu": "2", "memory": "4096Mi"}) == ["cpu"]
