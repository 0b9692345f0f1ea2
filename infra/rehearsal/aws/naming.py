"""The names that the provider gives where the program gives none."""

import datetime
import hashlib
import itertools
from typing import Any, Final

from infra.rehearsal.aws.resource import Naming

DEFAULTS_KEY: Final = "__defaults"
"""Input that lists which inputs the provider filled in, as Pulumi's bridged providers keep it."""

_SUFFIX_LENGTH = 7
_counter = itertools.count(1)


def named(
    naming: Naming, logical_name: str, old: dict[str, Any], new: dict[str, Any], seed: bytes
) -> dict[str, Any]:
    """Return the new inputs with a name: the given one, the one it had, or a made-up one.

    With a prefix the name is made when the thing is, and is no input (see `prefixed`).
    """
    if new.get(naming.property_name) or new.get(naming.prefix_property):
        return {**new, DEFAULTS_KEY: []}
    was_ours = naming.property_name in old.get(DEFAULTS_KEY, ())
    name = old.get(naming.property_name) if was_ours else None
    if name is None:
        suffix = hashlib.sha256(seed).hexdigest()[:_SUFFIX_LENGTH]
        room = naming.longest - len(naming.lead) - len(suffix) - 1
        body = logical_name.lower() if naming.property_name == "bucket" else logical_name
        name = f"{naming.lead}{body[:room]}-{suffix}"
    return {**new, naming.property_name: name, DEFAULTS_KEY: [naming.property_name]}


def prefixed(naming: Naming, inputs: dict[str, Any]) -> dict[str, Any]:
    """Return the inputs with the name that a prefix asks for: the prefix and the time."""
    if inputs.get(naming.property_name):
        return inputs
    moment = datetime.datetime.now(datetime.UTC).strftime("%Y%m%d%H%M%S%f")[:18]
    suffix = f"{moment}{next(_counter):08x}"
    return {**inputs, naming.property_name: f"{inputs[naming.prefix_property]}{suffix}"}


def deletes_before_replacing(
    naming: Naming | None, old: dict[str, Any], new: dict[str, Any]
) -> bool:
    """Return whether old and new cannot stand side by side: a name that the program fixed."""
    if naming is None or new.get(naming.prefix_property):
        return False
    ours = naming.property_name in new.get(DEFAULTS_KEY, ())
    return not ours and old.get(naming.property_name) == new.get(naming.property_name)
