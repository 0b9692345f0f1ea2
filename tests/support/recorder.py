"""The recorder of the preview, as tests use it: `record(program)` returns a `Recording`.

    recording = record(lambda: Network("network", NetworkArgs(...)))
    vpc = recording.one("aws:ec2/vpc:Vpc")
    assert vpc.inputs["enableDnsSupport"] is True

Inputs and outputs are plain data with camelCase keys, as providers see them. What the program
raises, inside `apply` too, comes out of `record` unchanged.
"""

from collections.abc import Sequence
from typing import Any

from infra.preview.recorder import RecordedResource, Recording, RecordingError, record

__all__ = [
    "RecordedResource",
    "Recording",
    "RecordingError",
    "inputs_of",
    "names_of",
    "record",
]


def inputs_of(recording: Recording, type_token: str, name: str | None = None) -> dict[str, Any]:
    """Inputs of the only resource of a type (and name)."""
    return recording.one(type_token, name).inputs


def names_of(resources: Sequence[RecordedResource]) -> list[str]:
    """Logical names, in URN order."""
    return [resource.name for resource in resources]
