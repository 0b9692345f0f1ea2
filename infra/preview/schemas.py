"""JSON schemas of Kubernetes objects: the built-in kinds, and the CRDs inside a packed chart."""

import json
import tarfile
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

KUBERNETES_SCHEMAS: Final = "v1.35.0-local-strict"
"""Folder of the kubernetes-validate package; strict, so that an unknown key is an error."""


def kubernetes_problems(manifest: Mapping[str, Any]) -> list[str] | None:
    """What is wrong with an object of a built-in kind; None when there is no schema for it."""
    group = str(manifest.get("apiVersion", "")).replace("/", "-")
    prefix, _, version = group.rpartition("-")
    short = f"{prefix.split('.')[0]}-{version}" if prefix else version
    name = f"{str(manifest.get('kind', '')).lower()}-{short}.json"
    schema = _read(name)
    return None if schema is None else problems(manifest, schema)


def pod_template_problems(template: Mapping[str, Any]) -> list[str]:
    """What is wrong with a pod template, wherever it stands."""
    schema = _read("podtemplatespec-v1.json")
    return [] if schema is None else problems(template, schema)


def problems(document: Mapping[str, Any], schema: Mapping[str, Any]) -> list[str]:
    """Sentences `path: what is wrong`, sorted."""
    import jsonschema  # noqa: PLC0415 - slow to import, used only when a check runs
    import referencing  # noqa: PLC0415 - as above

    registry: Any = referencing.Registry()
    definitions = _read("_definitions.json")
    if definitions is not None and "$id" in definitions:
        registry = referencing.Resource.from_contents(definitions) @ registry
    validator = jsonschema.Draft202012Validator(dict(schema), registry=registry)
    return sorted({_sentence(error) for error in _leaves(validator.iter_errors(document))})


def _leaves(errors: Any) -> Iterator[Any]:
    for error in errors:
        if error.context:
            yield from _leaves([min(error.context, key=lambda item: (-len(item.path), str(item)))])
        else:
            yield error


def _sentence(error: Any) -> str:
    path = "".join(
        f"[{part}]" if isinstance(part, int) else f".{part}" for part in error.absolute_path
    ).lstrip(".")
    return f"{path or 'the object'}: {error.message}"


@cache
def _read(name: str) -> dict[str, Any] | None:
    folder = resources.files("kubernetes_validate") / "kubernetes-json-schema" / KUBERNETES_SCHEMAS
    try:
        document: dict[str, Any] = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None
    return document


def chart_crd_schemas(chart: Path) -> dict[str, dict[str, Any]]:
    """`group/version:Kind` -> closed schema, for each CRD that a packed chart's crd/bases holds."""
    import yaml  # noqa: PLC0415 - only when a chart is there

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    found: dict[str, dict[str, Any]] = {}
    with tarfile.open(chart) as archive:
        for member in archive:
            if "/crd/bases/" not in member.name or not member.name.endswith(".yaml"):
                continue
            file = archive.extractfile(member)
            if file is None or not member.name.rpartition("_")[2].startswith(("jobs.", "queues.")):
                continue
            # Safe loaders only, see above.
            crd = yaml.load(file.read(), Loader=loader)  # noqa: S506
            group, kind = crd["spec"]["group"], crd["spec"]["names"]["kind"]
            for version in crd["spec"]["versions"]:
                schema = version["schema"]["openAPIV3Schema"]
                found[f"{group}/{version['name']}:{kind}"] = closed(schema)
    return found


def closed(schema: dict[str, Any]) -> dict[str, Any]:
    """The schema with unknown keys refused: the API server would drop them without a word."""
    result = {
        key: (
            {name: closed(inner) for name, inner in value.items()}
            if key == "properties"
            else closed(value)
            if key in ("items", "additionalProperties") and isinstance(value, dict)
            else value
        )
        for key, value in schema.items()
    }
    keeps = schema.get("x-kubernetes-preserve-unknown-fields")
    if "properties" in schema and not keeps and "additionalProperties" not in schema:
        result["additionalProperties"] = False
    return result
