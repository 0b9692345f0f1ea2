"""How amounts of dollars are written."""

from infra.preview.cost import Range


def dollars(amount: float, places: int = 2) -> str:
    """`$1.20`; a dash for nothing, `<$0.01` for what rounds to it."""
    if not amount:
        return "-"
    smallest = 10**-places
    return f"<${smallest:.{places}f}" if amount < smallest / 2 else f"${amount:,.{places}f}"


def hourly(cost: Range) -> str:
    """`$0.100`, or `$1.200 to $3.431` for a range."""
    return spread(cost, 3)


def spread(cost: Range, places: int = 2) -> str:
    """One amount, or two when they differ as written."""
    low, high = dollars(cost.low, places), dollars(cost.high, places)
    return low if low == high else f"{low} to {high}"
