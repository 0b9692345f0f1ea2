"""Reads which properties each aws resource type takes from the installed Pulumi SDK's source.

The answer is kept in aws_properties.json, so that a check neither imports the SDK nor parses it;
`python -m infra.preview.aws_sdk` writes the file anew after an upgrade of pulumi-aws.
A property is `"name": kind`, `"name!"` when the provider requires it. A kind is `str`, `int`,
`bool`, `float`, `document` (JSON as text or as an object), `list KIND`, `map KIND`, an object of
properties, or a list holding one object.
"""

import json
import re
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from infra.preview.aws_types import CREATE_CALLS

PROPERTIES_FILE = Path(__file__).with_name("aws_properties.json")

_DEEPEST = 6
_CLASS = re.compile(r"^class (\w+Args)(?:\(|:)(.*?)(?=^class |^@|\Z)", re.S | re.M)
_PROPERTY = re.compile(
    r"@_builtins\.property\s+@pulumi\.getter(?:\(name=\"(?P<camel>\w+)\"\))?\s+"
    r"(?:@_utilities[^\n]*\n\s+)?def (?P<snake>\w+)\(self\) -> (?P<kind>.*?):\n"
)
_REQUIRED = re.compile(r"^        pulumi\.set\(__self__, \"(\w+)\"", re.M)
_SCALAR = re.compile(r"_builtins\.(str|int|bool|float)")


def sdk_properties() -> dict[str, Any]:
    """Return `{type token: properties}` for every type in the table of create calls."""
    return {token: _resource_properties(token) for token in sorted(CREATE_CALLS)}


def _resource_properties(token: str) -> dict[str, Any]:
    _, module_and_file, resource = token.split(":")
    module, file = module_and_file.split("/")
    package = _sdk_directory() / module
    classes = _classes((package / "_inputs.py").read_text("utf-8"))
    snake = re.sub(r"(?<!^)(?=[A-Z])", "_", file).lower()
    own = _classes((package / f"{snake}.py").read_text("utf-8"))
    # A resource whose name is also a nested type's calls its arguments InitArgs.
    arguments = own.get(f"{resource}Args") or own[f"{resource}InitArgs"]
    return _properties(arguments, classes, _DEEPEST)


def _sdk_directory() -> Path:
    spec = find_spec("pulumi_aws")
    if spec is None or spec.origin is None:
        message = "pulumi_aws is not installed: run `make setup`"
        raise ModuleNotFoundError(message)
    return Path(spec.origin).parent


def _classes(source: str) -> dict[str, str]:
    return {match[1]: match[2] for match in _CLASS.finditer(source)}


def _properties(body: str, classes: dict[str, str], depth: int) -> dict[str, Any]:
    required = set(_REQUIRED.findall(body))
    return {
        (match["camel"] or match["snake"]) + ("!" if match["snake"] in required else ""): _kind(
            match["kind"], classes, depth
        )
        for match in _PROPERTY.finditer(body)
    }


def _kind(annotation: str, classes: dict[str, str], depth: int) -> Any:
    if "PolicyDocument" in annotation:
        return "document"
    is_list, is_map = "Sequence" in annotation, "Mapping" in annotation
    name = re.search(r"'(?:_inputs\.)?(\w+Args)'", annotation)
    if name and name[1] in classes:
        nested = _properties(classes[name[1]], classes, depth - 1) if depth else "any"
        return [nested] if is_list else nested
    scalars = sorted(set(_SCALAR.findall(annotation)))
    kind = scalars[0] if len(scalars) == 1 and "Any" not in annotation else "any"
    if is_map:
        kind = f"map {'str' if kind == 'str' else 'any'}"
    return f"list {kind}" if is_list else kind


if __name__ == "__main__":
    PROPERTIES_FILE.write_text(json.dumps(sdk_properties(), indent=1) + "\n", "utf-8")
