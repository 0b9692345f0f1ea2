"""What differs between old and new inputs, and which of it replaces the resource."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

from pulumi.provider.experimental.provider import PropertyDiff, PropertyDiffKind

from infra.preview.aws_values import UNKNOWN_TEXT
from infra.rehearsal.aws.plain import has_unknown

_PLAIN = {
    "add": PropertyDiffKind.ADD,
    "delete": PropertyDiffKind.DELETE,
    "update": PropertyDiffKind.UPDATE,
}
_REPLACING = {
    "add": PropertyDiffKind.ADD_REPLACE,
    "delete": PropertyDiffKind.DELETE_REPLACE,
    "update": PropertyDiffKind.UPDATE_REPLACE,
}


def same(old: Any, new: Any) -> bool:
    """Return whether two values mean the same to AWS: JSON by content, numbers by value."""
    if old == new:
        return True
    if isinstance(old, str) and isinstance(new, str) and old[:1] == "{" == new[:1]:
        try:
            return bool(json.loads(old) == json.loads(new))
        except ValueError:
            return False
    return False


def differences(
    old: Mapping[str, Any], new: Mapping[str, Any], path: str = ""
) -> Iterator[tuple[str, str]]:
    """Yield path and kind (`add`, `delete`, `update`) of each difference."""
    for name in sorted({*old, *new}):
        if name.startswith("__"):
            continue
        here = f"{path}.{name}" if path else name
        before, after = old.get(name), new.get(name)
        if after == UNKNOWN_TEXT or not same(before, after):
            yield from _difference(here, before, after)


def _difference(path: str, before: Any, after: Any) -> Iterator[tuple[str, str]]:
    if before is None or after is None:
        yield path, "add" if before is None else "delete"
    elif isinstance(before, Mapping) and isinstance(after, Mapping):
        yield from differences(before, after, path)
    elif isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        for index, (left, right) in enumerate(zip(before, after, strict=True)):
            if not same(left, right) or has_unknown(right):
                yield from _difference(f"{path}[{index}]", left, right)
    else:
        yield path, "update"


def replaces(path: str, replacing: frozenset[str]) -> bool:
    """Return whether a change at a path replaces: the path itself or what it lies in is listed."""
    return any(
        path == listed or path.startswith((f"{listed}.", f"{listed}[")) for listed in replacing
    )


def detailed(found: list[tuple[str, str]], replacing: frozenset[str]) -> dict[str, PropertyDiff]:
    """Return the differences in the engine's form."""
    return {
        path: PropertyDiff(
            (_REPLACING if replaces(path, replacing) else _PLAIN)[kind], input_diff=True
        )
        for path, kind in found
    }


def settled_on_input(observed: Any, known: Any) -> Any:
    """Return the observed value, in the spelling of the input where the two mean the same."""
    if same(observed, known):
        return known
    if isinstance(observed, list) and isinstance(known, list):
        if sorted(map(repr, observed)) == sorted(map(repr, known)):
            return known
    elif isinstance(observed, Mapping) and isinstance(known, Mapping):
        return {name: settled_on_input(value, known.get(name)) for name, value in observed.items()}
    return observed


def inputs_of(observed: Mapping[str, Any], known: Mapping[str, Any]) -> dict[str, Any]:
    """Return the known inputs as they are now, with nothing added that AWS filled in."""
    return {name: _narrowed(observed.get(name, value), value) for name, value in known.items()}


def _narrowed(observed: Any, known: Any) -> Any:
    if isinstance(observed, Mapping) and isinstance(known, Mapping) and known:
        kept = {name: _narrowed(observed.get(name), value) for name, value in known.items()}
        return {name: value for name, value in kept.items() if value is not None}
    return observed
