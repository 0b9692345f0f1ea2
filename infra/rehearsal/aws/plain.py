"""Between Pulumi's property values and plain Python data."""

from collections.abc import Mapping
from typing import Any

from pulumi.provider.experimental.property_value import (
    Computed,
    PropertyValue,
    ResourceReference,
)

from infra.preview.aws_values import UNKNOWN_TEXT


def plain_map(properties: Mapping[str, PropertyValue]) -> dict[str, Any]:
    """Return properties as plain data; what is not known yet becomes UNKNOWN_TEXT."""
    return {name: plain(value) for name, value in properties.items()}


def plain(value: PropertyValue) -> Any:
    """Return one value as plain data, without its secrecy; a resource stands for its id."""
    inner = value.value
    if isinstance(inner, Computed):
        return UNKNOWN_TEXT
    if isinstance(inner, ResourceReference):
        return plain(inner.resource_id) if inner.resource_id is not None else UNKNOWN_TEXT
    if isinstance(inner, Mapping):
        return {name: plain(entry) for name, entry in inner.items()}
    if isinstance(inner, list | tuple):
        return [plain(entry) for entry in inner]
    if isinstance(inner, float) and inner == int(inner):
        return int(inner)
    return inner


def wrapped_map(properties: Mapping[str, Any]) -> dict[str, PropertyValue]:
    """Return plain data as Pulumi's properties."""
    return {name: wrapped(value) for name, value in properties.items() if value is not None}


def wrapped(value: Any) -> PropertyValue:
    """Return one plain value as Pulumi's.

    What is not known stays UNKNOWN_TEXT: that is how it travels, and the SDK can neither write
    nor read its own Computed.
    """
    if isinstance(value, Mapping):
        return PropertyValue(wrapped_map(value))
    if isinstance(value, list | tuple):
        return PropertyValue([wrapped(entry) for entry in value])
    return PropertyValue(float(value) if _is_whole(value) else value)


def _is_whole(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def has_unknown(value: Any) -> bool:
    """Return whether a plain value holds something that is not known yet."""
    if isinstance(value, Mapping):
        return any(has_unknown(entry) for entry in value.values())
    if isinstance(value, list):
        return any(has_unknown(entry) for entry in value)
    return bool(value == UNKNOWN_TEXT)
