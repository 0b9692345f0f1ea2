"""Checks a report against report.schema.json without needing a validator in the image.

It knows the part of JSON Schema 2020-12 that our schema uses and refuses a schema that uses
more, so that a rule can never be passed over in silence.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

PATH: Final = Path(__file__).with_name("report.schema.json")

TYPES: Final[Mapping[str, tuple[type, ...]]] = {
    "array": (list,),
    "boolean": (bool,),
    "integer": (int,),
    "number": (int, float),
    "object": (dict,),
    "string": (str,),
}
ANNOTATIONS: Final = frozenset({"$schema", "$defs", "title", "description"})


def load_schema() -> dict[str, Any]:
    """Read the schema that lies beside this module."""
    schema: dict[str, Any] = json.loads(PATH.read_text(encoding="utf-8"))
    return schema


def problems(document: Any, schema: Mapping[str, Any]) -> list[str]:
    """List what is wrong with the document, each with its place in it."""
    return list(_Check(schema).check(document, schema, "report"))


class _Check:
    def __init__(self, root: Mapping[str, Any]) -> None:
        self.root = root
        self.rules: dict[str, Callable[[Any, Any, Mapping[str, Any], str], Iterator[str]]] = {
            "$ref": self._ref,
            "additionalProperties": self._additional,
            "const": self._const,
            "enum": self._enum,
            "items": self._items,
            "maximum": self._maximum,
            "minItems": self._least_items,
            "minLength": self._least_text,
            "minimum": self._minimum,
            "oneOf": self._one_of,
            "pattern": self._pattern,
            "properties": self._properties,
            "required": self._required,
            "type": self._type,
        }

    def check(self, value: Any, schema: Mapping[str, Any], place: str) -> Iterator[str]:
        """Apply every rule of one schema to one value."""
        for name, setting in schema.items():
            if name in ANNOTATIONS:
                continue
            if name not in self.rules:
                message = f"the schema uses {name!r}, which this check does not know"
                raise NotImplementedError(message)
            yield from self.rules[name](value, setting, schema, place)

    def _ref(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        target: Any = self.root
        for part in setting.removeprefix("#/").split("/"):
            target = target[part]
        yield from self.check(value, target, place)

    def _type(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        names = [setting] if isinstance(setting, str) else setting
        if not any(_is(value, name) for name in names):
            yield f"{place} is {value!r:.60}, not {' or '.join(names)}"

    def _const(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        if not _equal(value, setting):
            yield f"{place} is {value!r:.60}, not {setting!r}"

    def _enum(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        if not any(_equal(value, allowed) for allowed in setting):
            yield f"{place} is {value!r:.60}, not one of {setting}"

    def _minimum(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        if _is(value, "number") and not value >= setting:
            yield f"{place} is {value}, below {setting}"

    def _maximum(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        if _is(value, "number") and not value <= setting:
            yield f"{place} is {value}, above {setting}"

    def _least_items(
        self, value: Any, setting: Any, _: Mapping[str, Any], place: str
    ) -> Iterator[str]:
        if isinstance(value, list) and len(value) < setting:
            yield f"{place} has {len(value)} items, fewer than {setting}"

    def _least_text(
        self, value: Any, setting: Any, _: Mapping[str, Any], place: str
    ) -> Iterator[str]:
        if isinstance(value, str) and len(value) < setting:
            yield f"{place} has {len(value)} characters, fewer than {setting}"

    def _pattern(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        if isinstance(value, str) and not re.search(setting, value):
            yield f"{place} is {value!r:.60}, which does not match {setting}"

    def _items(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        if isinstance(value, list):
            for index, item in enumerate(value):
                yield from self.check(item, setting, f"{place}[{index}]")

    def _properties(
        self, value: Any, setting: Any, _: Mapping[str, Any], place: str
    ) -> Iterator[str]:
        if isinstance(value, dict):
            for name in sorted(value.keys() & setting.keys()):
                yield from self.check(value[name], setting[name], f"{place}.{name}")

    def _required(
        self, value: Any, setting: Any, _: Mapping[str, Any], place: str
    ) -> Iterator[str]:
        if isinstance(value, dict):
            yield from (f"{place} has no {name}" for name in setting if name not in value)

    def _additional(
        self, value: Any, setting: Any, schema: Mapping[str, Any], place: str
    ) -> Iterator[str]:
        if not isinstance(value, dict):
            return
        for name in sorted(value.keys() - schema.get("properties", {}).keys()):
            if setting is False:
                yield f"{place} has {name!r}, which is not known"
            else:
                yield from self.check(value[name], setting, f"{place}.{name}")

    def _one_of(self, value: Any, setting: Any, _: Mapping[str, Any], place: str) -> Iterator[str]:
        found = [list(self.check(value, option, place)) for option in setting]
        fitting = sum(not option for option in found)
        if fitting > 1:
            yield f"{place} fits {fitting} forms, not one"
        elif not fitting:
            yield from min(found, key=len)


def _is(value: Any, name: str) -> bool:
    if isinstance(value, bool):
        return name == "boolean"
    if name == "integer" and isinstance(value, float):
        return value.is_integer()
    if isinstance(value, float) and value != value:  # noqa: PLR0124 - NaN is no JSON number
        return False
    return isinstance(value, TYPES[name])


def _equal(value: Any, other: Any) -> bool:
    return bool(value == other) and isinstance(value, bool) == isinstance(other, bool)
