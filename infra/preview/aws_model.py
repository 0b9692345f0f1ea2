"""The AWS API's own description of its calls, read from botocore's data files.

botocore itself is not imported: its loader and clients cost more than the whole check.
"""

import gzip
import json
from collections.abc import Iterator, Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

Shape = Mapping[str, Any]


class UnknownMemberError(LookupError):
    """A path names a member that the call's input does not have."""


@cache
def service_model(service: str) -> Mapping[str, Any]:
    """Return the newest model of a service as botocore ships it."""
    spec = find_spec("botocore")
    if spec is None or spec.origin is None:
        message = "botocore is not installed: run `make setup`"
        raise ModuleNotFoundError(message)
    versions = Path(spec.origin).parent / "data" / service
    newest = max(path for path in versions.iterdir() if path.is_dir())
    model: Mapping[str, Any] = json.loads(gzip.decompress((newest / _FILE).read_bytes()))
    return model


_FILE = "service-2.json.gz"


def input_shape(service: str, operation: str) -> Shape:
    """Return the shape of a call's input."""
    model = service_model(service)
    return shape(service, model["operations"][operation]["input"]["shape"])


def shape(service: str, name: str) -> Shape:
    """Return a shape by name."""
    found: Shape = service_model(service)["shapes"][name]
    return found


def member(service: str, structure: Shape, name: str) -> Shape | None:
    """Return the shape of a structure's member, found without regard to capitals."""
    wanted = name.lower()
    for candidate, reference in structure.get("members", {}).items():
        if candidate.lower() == wanted:
            return shape(service, reference["shape"])
    return None


def element(service: str, sequence: Shape) -> Shape:
    """Return the shape of a list's element."""
    return shape(service, sequence["member"]["shape"])


def follow(service: str, start: Shape, path: str) -> Shape:
    """Return the shape that a path such as `Tags[].Key` leads to from a structure."""
    here = start
    for name, steps_in in _parts(path):
        found = member(service, here, name)
        if found is None:
            message = f"{service}: no member {name} on the way to {path}"
            raise UnknownMemberError(message)
        here = element(service, found) if steps_in else found
    return here


def _parts(path: str) -> Iterator[tuple[str, bool]]:
    for part in path.split("."):
        yield part.removesuffix("[]"), part.endswith("[]")
