"""Holds single values against what Pulumi's types and the AWS model's shapes allow."""

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

from infra.preview.aws_model import Shape

UNKNOWN_TEXT = "04da6b54-80e4-46f7-96ec-b56ff0331ba9"
"""How the Pulumi SDK spells a value that is not known before `up` (pulumi.runtime.rpc.UNKNOWN)."""

_SIGNATURE_KEY = "4dabf18193072939515e22adb298388d"
"""Key that marks a secret, an asset or a resource reference (pulumi.runtime.rpc)."""
_SECRET = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a marker of the protocol, no secret


def is_number(value: object) -> bool:
    """Return whether a value is a number (JSON has no integers of its own, so 2.0 is one)."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_sequence(value: object) -> bool:
    """Return whether a value is a list, and no text."""
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


_KINDS: Mapping[str, tuple[str, Callable[[Any], bool]]] = {
    "str": ("text", lambda value: isinstance(value, str)),
    "int": ("a whole number", lambda value: is_number(value) and value == int(value)),
    "float": ("a number", is_number),
    "bool": ("true or false", lambda value: isinstance(value, bool)),
    "document": ("a JSON document", lambda value: isinstance(value, str | Mapping)),
    "list": ("a list", is_sequence),
    "map": ("a map", lambda value: isinstance(value, Mapping)),
}


def settled(value: Any) -> Any:
    """Return a value without its secrecy; None for one that is absent or not known yet."""
    if isinstance(value, Mapping) and _SIGNATURE_KEY in value:
        return settled(value["value"]) if value[_SIGNATURE_KEY] == _SECRET else None
    if value == UNKNOWN_TEXT or not isinstance(
        value, str | bool | int | float | Mapping | Sequence
    ):
        return None
    return value


def wrong_kind(kind: str, value: Any) -> str | None:
    """Return what a value should have been, or None when it is of its Pulumi kind."""
    wanted, fits = _KINDS[kind]
    return None if fits(value) else wanted


def shown(value: Any) -> str:
    """Return a value as a message shows it: short, text in quotes."""
    text = repr(value) if not isinstance(value, bool) else str(value).lower()
    return text if len(text) <= _LONGEST_SHOWN else f"{text[:_LONGEST_SHOWN]}…"


_LONGEST_SHOWN = 80


def refusal(shape: Shape, value: Any) -> str | None:
    """Return why the API would refuse a scalar or the length of a list; None if it would not."""
    if isinstance(value, str):
        return _text_refusal(shape, value)
    if is_number(value):
        return _number_refusal(shape, value)
    kind = "map" if isinstance(value, Mapping) else "list"
    is_counted = not isinstance(value, bool) and shape["type"] == kind
    return _range_refusal(shape, len(value), " entries") if is_counted else None


def _number_refusal(shape: Shape, value: float) -> str | None:
    allowed = shape.get("values", ())
    if allowed and value not in allowed:
        return f"allows only {_choices([str(number) for number in allowed])}"
    return _range_refusal(shape, value, "") if shape["type"] != "string" else None


def _text_refusal(shape: Shape, value: str) -> str | None:
    if shape["type"] == "boolean":
        return None if value in ("true", "false") else "allows only true or false"
    if shape["type"] != "string":
        return None
    allowed = shape.get("enum", ())
    if allowed and value not in allowed:
        return f"allows only {_choices(allowed)}"
    pattern = shape.get("pattern")
    if pattern and not python_pattern(pattern).fullmatch(value):
        return f"wants text like {pattern}"
    return _range_refusal(shape, len(value), " characters")


_FEW = 25


def _choices(allowed: Sequence[str]) -> str:
    if len(allowed) > _FEW:
        return f"one of its {len(allowed)} known values"
    return " or ".join((", ".join(allowed[:-1]), allowed[-1])) if len(allowed) > 1 else allowed[0]


def _range_refusal(shape: Shape, amount: float, unit: str) -> str | None:
    lowest, highest = shape.get("min"), shape.get("max")
    if lowest is not None and amount < lowest:
        return f"wants at least {lowest}{unit}"
    if highest is not None and amount > highest:
        return f"wants at most {highest}{unit}"
    return None


# AWS writes its patterns for Java; Python's re has no classes for Unicode's categories. Each is
# replaced by a wider one, so that nothing valid is refused.
_UNICODE_CLASSES = {
    r"\p{L}": r"\w",
    r"\p{M}": r"\w",
    r"\p{N}": r"\w",
    r"\p{S}": r"\W",
    r"\p{P}": r"\W",
    r"\p{Z}": r"\s",
    r"\p{ASCII}": r"\x00-\x7f",
    r"\p{Graph}": r"\x21-\x7e",
    r"\p{Print}": r"\x20-\x7e",
    r"\uD800\uDC00-\uDBFF\uDFFF": r"\U00010000-\U0010FFFF",  # Java's pairs beyond 16 bits
}


@cache
def python_pattern(pattern: str) -> re.Pattern[str]:
    """Return an API model's pattern as Python can match it."""
    for java, python in _UNICODE_CLASSES.items():
        pattern = pattern.replace(java, python)
    return re.compile(pattern, re.DOTALL)
