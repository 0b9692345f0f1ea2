"""Holds an aws resource's inputs against the AWS API call that would create it.

What the API would refuse after minutes of `up` is refused here, before anything exists: unknown
names, missing ones, wrong types, values outside an enumeration, a pattern, a length or a range.
"""

import difflib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

from infra.preview import aws_model, aws_values
from infra.preview.aws_call import PROVIDER, CreateCall
from infra.preview.aws_model import Shape
from infra.preview.aws_sdk import PROPERTIES_FILE
from infra.preview.aws_tags import tag_problems
from infra.preview.aws_types import CREATE_CALLS


@dataclass(frozen=True, kw_only=True, slots=True)
class Problem:
    """One reason why a resource would be refused, and the property it lies in."""

    property_path: str
    reason: str

    def __str__(self) -> str:
        return f"{self.property_path} {self.reason}" if self.property_path else self.reason


def check_create(type_token: str, inputs: Mapping[str, Any]) -> list[str]:
    """Return a sentence for each reason why AWS would refuse to create the resource.

    `type_token` is Pulumi's (`aws:eks/nodeGroup:NodeGroup`), `inputs` are the camelCase inputs.
    Values that are not known yet are passed over. A type without an entry in the table is itself
    a reason, since nothing could be said about it.
    """
    return [str(problem) for problem in create_problems(type_token, inputs)]


def create_problems(type_token: str, inputs: Mapping[str, Any]) -> list[Problem]:
    """Return what `check_create` says, with the property that each reason lies in."""
    call = CREATE_CALLS.get(type_token)
    if call is None:
        reason = (
            f"{type_token} cannot be checked: infra/preview/aws_types.py does not say which"
            " AWS API call creates it"
        )
        return [Problem(property_path="", reason=reason)]
    start = aws_model.input_shape(call.service, call.operation)
    under = aws_model.follow(call.service, start, call.under) if call.under else start
    check = _Check(call=call, start=start)
    scopes = (under, start) if call.under else (start,)
    return [
        *check.members("", inputs, sdk_properties()[type_token], scopes),
        *check.missing_members(inputs, sdk_properties()[type_token]),
        *(Problem(property_path=path, reason=why) for path, why in tag_problems(inputs)),
    ]


@cache
def sdk_properties() -> Mapping[str, Any]:
    """Return the properties that each type takes, with their kinds (see aws_sdk)."""
    properties: Mapping[str, Any] = json.loads(PROPERTIES_FILE.read_text("utf-8"))
    return properties


@dataclass(frozen=True, slots=True)
class _Place:
    """Where a value goes: a shape of a service's call."""

    service: str
    operation: str
    shape: Shape

    def __str__(self) -> str:
        return f"{self.service} {self.operation}"


@dataclass(frozen=True, kw_only=True, slots=True)
class _Check:
    """Walks one resource's inputs beside Pulumi's property kinds and the API's shapes."""

    call: CreateCall
    start: Shape

    def members(
        self, path: str, value: Mapping[str, Any], kinds: Mapping[str, Any], scopes: Any
    ) -> Iterator[Problem]:
        known = {name.rstrip("!"): kind for name, kind in kinds.items()}
        for name, entry in value.items():
            here = _joined(path, name)
            if name.startswith("__"):  # Pulumi's own, such as __defaults
                continue
            if name not in known:
                yield _unknown_name(here, name, known, self.call)
            elif (plain := aws_values.settled(entry)) is not None:
                yield from self.one(here, plain, known[name], self.places(here, name, scopes))
        for name in kinds:
            if name.endswith("!") and value.get(name[:-1]) is None:
                yield Problem(property_path=_joined(path, name[:-1]), reason="is required")

    def missing_members(
        self, inputs: Mapping[str, Any], kinds: Mapping[str, Any]
    ) -> Iterator[Problem]:
        """Yield the members the API requires that neither Pulumi requires nor the provider fills.

        A property that Pulumi requires too has been reported already.
        """
        fed = {}
        for raw in kinds:
            name = raw.rstrip("!")
            for target in _as_tuple(self.call.targets.get(name, name)):
                if ":" not in target:
                    fed[target.lstrip("*").split(".")[0].removesuffix("[]").lower()] = raw
        for required in self.start.get("required", ()):
            raw = fed.get(required.lower(), required)
            is_given = raw.endswith("!") or inputs.get(raw) is not None
            is_filled = required in self.call.filled or required == self.call.under
            if not (is_given or is_filled or required == "Tags"):
                reason = f"is required by {self.call.service} {self.call.operation}"
                yield Problem(property_path=raw, reason=reason)

    def places(self, path: str, name: str, scopes: Any) -> list[tuple[_Place, bool]]:
        """Return where a property's value goes, and whether each of its elements goes there."""
        documented = self.call.documented.get(path)
        if documented is not None:
            return [(_Place(self.call.service, self.call.operation, documented), False)]
        target = self.call.targets.get(_without_indexes(path))
        if target is None:
            for scope in scopes:
                found = aws_model.member(self.call.service, scope, name)
                if found is not None:
                    return [(_Place(self.call.service, self.call.operation, found), False)]
            return []
        return [self.place(one, scopes) for one in _as_tuple(target) if one != PROVIDER]

    def place(self, target: str, scopes: Any) -> tuple[_Place, bool]:
        """Return the place that a target of the table names."""
        spreads, target = target.startswith("*"), target.lstrip("*")
        service, operation = self.call.service, self.call.operation
        if target.startswith("."):
            return _Place(service, operation, _follow(service, scopes[0], target[1:])), spreads
        start = self.start
        if ":" in target:
            operation, target = target.split(":")
            if "." in operation:
                service, operation = operation.split(".")
            start = aws_model.input_shape(service, operation)
        return _Place(service, operation, _follow(service, start, target)), spreads

    def one(
        self, path: str, value: Any, kind: Any, places: list[tuple[_Place, bool]]
    ) -> Iterator[Problem]:
        wanted = aws_values.wrong_kind(_kind_name(kind), value) if kind != "any" else None
        if wanted:
            reason = f"is {aws_values.shown(value)}, but must be {wanted}"
            yield Problem(property_path=path, reason=reason)
            return
        yield from _value_problems(path, value, [p for p, spreads in places if not spreads])
        yield from self.inside(path, value, kind, places)

    def inside(
        self, path: str, value: Any, kind: Any, places: list[tuple[_Place, bool]]
    ) -> Iterator[Problem]:
        """Check what a list, a map or an object holds."""
        if isinstance(kind, dict):
            shapes = [_structure(place) for place, _ in places]
            yield from self.members(path, value, kind, shapes)
        elif _kind_name(kind) == "list":
            element_kind = kind[0] if isinstance(kind, list) else kind.removeprefix("list ")
            inner = [(p if spreads else _element(p), False) for p, spreads in places]
            for index, entry in enumerate(value):
                plain = aws_values.settled(entry)
                if plain is not None:
                    yield from self.one(f"{path}[{index}]", plain, element_kind, inner)
        elif kind == "map str":
            yield from _map_problems(path, value, [place for place, _ in places])


def _value_problems(path: str, value: Any, places: list[_Place]) -> Iterator[Problem]:
    for place in places:
        why = aws_values.refusal(place.shape, value)
        if why:
            what = aws_values.shown(value) if not isinstance(value, list) else f"{len(value)} long"
            yield Problem(property_path=path, reason=f"is {what}, but {place} {why}")
            return


def _map_problems(path: str, value: Mapping[str, Any], places: list[_Place]) -> Iterator[Problem]:
    for key, raw in value.items():
        entry = aws_values.settled(raw)
        if entry is not None and aws_values.wrong_kind("str", entry):
            reason = f"is {aws_values.shown(entry)}, but must be text"
            yield Problem(property_path=f"{path}[{key!r}]", reason=reason)
            continue
        for place in places:
            if place.shape["type"] == "map":
                yield from _map_entry_problems(f"{path}[{key!r}]", key, entry, place)


def _map_entry_problems(path: str, key: str, entry: Any, place: _Place) -> Iterator[Problem]:
    for word, text, side in (("key", key, "key"), ("value", entry, "value")):
        shape = aws_model.shape(place.service, place.shape[side]["shape"])
        why = aws_values.refusal(shape, text) if text is not None else None
        if why:
            reason = f"has the {word} {aws_values.shown(text)}, but {place} {why}"
            yield Problem(property_path=path, reason=reason)


def _unknown_name(path: str, name: str, known: Mapping[str, Any], call: CreateCall) -> Problem:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]}" if close else ""
    reason = f"is no property that Pulumi passes to {call.service} {call.operation}{hint}"
    return Problem(property_path=path, reason=reason)


def _follow(service: str, start: Shape, path: str) -> Shape:
    return aws_model.follow(service, start, path)


def _structure(place: _Place) -> Shape:
    """Return the structure that an object's properties go to; Pulumi writes a list of one bare."""
    if place.shape["type"] == "list":
        return aws_model.element(place.service, place.shape)
    return place.shape


def _element(place: _Place) -> _Place:
    if place.shape["type"] != "list":
        return place
    return _Place(place.service, place.operation, aws_model.element(place.service, place.shape))


def _kind_name(kind: Any) -> str:
    if isinstance(kind, dict):
        return "map"
    return "list" if isinstance(kind, list) else str(kind).split(" ", 1)[0]


def _as_tuple(target: str | tuple[str, ...]) -> tuple[str, ...]:
    return (target,) if isinstance(target, str) else target


def _joined(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _without_indexes(path: str) -> str:
    return ".".join(part.split("[", 1)[0] for part in path.split("."))
