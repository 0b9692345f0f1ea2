"""Between the engine's protocol (protobuf structs with signatures) and plain Python data."""

from collections.abc import Mapping
from typing import Any, Final

from google.protobuf import struct_pb2

SIGNATURE: Final = "4dabf18193072939515e22adb298388d"
"""Key that marks a struct as something other than a map (pulumi sdk, rpc.py)."""

SECRET: Final = "1b47061264138c4ac30d75fd1eb44270"  # noqa: S105 - a protocol marker
ASSET: Final = "c44067f5952c0a294b673a41bacd8c17"
ARCHIVE: Final = "0def7320c3a5731c473e5ecbe6d01bc7"
RESOURCE: Final = "5cf8f73096256a8f31e491e813e4eb8e"
OUTPUT: Final = "d0e6a833031e9bbcd3f4e8bde6ca49a4"


def reference(urn: str, id_: str) -> dict[str, str]:
    """A reference to a registered resource, which the SDK turns back into an object."""
    return {SIGNATURE: RESOURCE, "urn": urn, "id": id_, "packageVersion": ""}


def secret(value: Any) -> dict[str, Any]:
    """A value that the SDK keeps secret."""
    return {SIGNATURE: SECRET, "value": value}


def to_struct(value: Mapping[str, Any]) -> struct_pb2.Struct:
    """Plain data (with `reference` and `secret` marks) as the protocol carries it."""
    struct = struct_pb2.Struct()
    struct.update(dict(value))
    return struct


def from_struct(struct: struct_pb2.Struct) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Plain data of a request and the paths of its secrets, both sorted by key."""
    secrets: list[str] = []
    plain = {key: _plain(struct.fields[key], key, secrets) for key in sorted(struct.fields)}
    return plain, tuple(sorted(set(secrets)))


def _plain(value: struct_pb2.Value, path: str, secrets: list[str]) -> Any:
    kind = value.WhichOneof("kind")
    if kind == "struct_value":
        return _plain_struct(value.struct_value, path, secrets)
    if kind == "list_value":
        return [
            _plain(item, f"{path}[{index}]", secrets)
            for index, item in enumerate(value.list_value.values)
        ]
    if kind == "number_value":
        number = value.number_value
        return int(number) if number.is_integer() else number
    if kind == "string_value":
        return value.string_value
    return value.bool_value if kind == "bool_value" else None


def _plain_struct(struct: struct_pb2.Struct, path: str, secrets: list[str]) -> Any:
    fields = struct.fields
    signature = fields[SIGNATURE].string_value if SIGNATURE in fields else ""
    if signature in (SECRET, OUTPUT):
        if signature == SECRET or fields["secret"].bool_value:
            secrets.append(path)
        return _plain(fields["value"], path, secrets)
    if signature == RESOURCE:
        return fields["id"].string_value or fields["urn"].string_value
    return {
        key: _plain(fields[key], f"{path}.{key}", secrets)
        for key in sorted(fields)
        if key != SIGNATURE
    }
