"""A container's environment, resolved from its spec as a kubelet resolves it."""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from components.quantities import amount
from infra.errors import GangwayError

JsonObject = Mapping[str, Any]
Lookup = Callable[[str, str], Mapping[str, str] | None]

_REFERENCE: Final = re.compile(r"\$(\$?)\(([A-Za-z_][A-Za-z0-9_.-]*)\)")
_KEYED_FIELD: Final = re.compile(r"metadata\.(labels|annotations)\['([^']+)'\]")


class NotYetError(GangwayError):
    """Something that the pod needs (a Secret, a ConfigMap) does not exist yet."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Sources:
    """Where a pod's values come from.

    `config_map` and `secret` take a namespace and a name and answer the data, or None.
    """

    config_map: Lookup
    secret: Lookup
    node_allocatable: Mapping[str, str]
    pod_address: str
    node_address: str


def container_environment(
    container: JsonObject, pod: JsonObject, sources: Sources
) -> dict[str, str]:
    """Name -> value of all the variables that the container's spec sets."""
    values: dict[str, str] = {}
    namespace = pod["metadata"]["namespace"]
    for source in container.get("envFrom", []):
        values |= _whole_source(source, namespace, sources)
    for variable in container.get("env", []):
        if "valueFrom" in variable:
            value = _value_from(variable["valueFrom"], container, pod, sources)
            if value is not None:
                values[variable["name"]] = value
        else:
            values[variable["name"]] = expand(variable.get("value", ""), values)
    return values


def expand(text: str, values: Mapping[str, str]) -> str:
    """Replace `$(NAME)` by its value; an unknown name stays, `$$(NAME)` is an escaped one."""

    def replace(match: re.Match[str]) -> str:
        if match.group(1):
            return f"$({match.group(2)})"
        return values.get(match.group(2), match.group(0))

    return _REFERENCE.sub(replace, text)


def field(path: str, pod: JsonObject, sources: Sources) -> str:
    """The pod's field that a downward API reference names; "" for one that is not set."""
    keyed = _KEYED_FIELD.fullmatch(path)
    if keyed:
        return str((pod["metadata"].get(keyed.group(1)) or {}).get(keyed.group(2), ""))
    known = {
        "metadata.name": pod["metadata"]["name"],
        "metadata.namespace": pod["metadata"]["namespace"],
        "metadata.uid": pod["metadata"]["uid"],
        "spec.nodeName": pod["spec"].get("nodeName", ""),
        "spec.serviceAccountName": pod["spec"].get("serviceAccountName", "default"),
        "status.podIP": sources.pod_address,
        "status.podIPs": sources.pod_address,
        "status.hostIP": sources.node_address,
        "status.hostIPs": sources.node_address,
    }
    if path not in known:
        message = f"pod field {path} is not known to the rehearsal; known: {', '.join(known)}"
        raise GangwayError(message)
    return str(known[path])


def resource(
    reference: JsonObject, container: JsonObject, pod: JsonObject, left: JsonObject
) -> str:
    """A container's limit or request in units of the divisor, rounded up.

    Without a limit it is what the node has left to pods (`left`).
    """
    wanted = reference.get("containerName")
    if wanted:
        container = next(item for item in pod["spec"]["containers"] if item["name"] == wanted)
    kind, name = reference["resource"].split(".", 1)
    declared = container.get("resources", {}).get(kind, {})
    quantity = declared.get(name) or (left.get(name, "0") if kind == "limits" else "0")
    divisor = str(reference.get("divisor", "1"))
    return str(math.ceil(amount(str(quantity)) / amount("1" if divisor == "0" else divisor)))


def _whole_source(source: JsonObject, namespace: str, sources: Sources) -> dict[str, str]:
    prefix = source.get("prefix", "")
    reference = source.get("configMapRef") or source["secretRef"]
    lookup = sources.config_map if "configMapRef" in source else sources.secret
    data = _required(lookup, namespace, reference)
    return {prefix + key: value for key, value in (data or {}).items()}


def _value_from(
    origin: JsonObject, container: JsonObject, pod: JsonObject, sources: Sources
) -> str | None:
    if "fieldRef" in origin:
        return field(origin["fieldRef"]["fieldPath"], pod, sources)
    if "resourceFieldRef" in origin:
        return resource(origin["resourceFieldRef"], container, pod, sources.node_allocatable)
    key = origin.get("configMapKeyRef") or origin["secretKeyRef"]
    lookup = sources.config_map if "configMapKeyRef" in origin else sources.secret
    data = _required(lookup, pod["metadata"]["namespace"], key)
    if data is None or key["key"] not in data:
        if key.get("optional"):
            return None
        message = f"{key['name']} has no key {key['key']}"
        raise NotYetError(message)
    return data[key["key"]]


def _required(lookup: Lookup, namespace: str, reference: JsonObject) -> Mapping[str, str] | None:
    data = lookup(namespace, reference["name"])
    if data is None and not reference.get("optional"):
        message = f"{reference['name']} not found in namespace {namespace}"
        raise NotYetError(message)
    return data
