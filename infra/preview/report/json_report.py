"""The report as JSON for programs: sorted keys, secrets left out."""

import dataclasses
import json
from typing import Any, Final

from infra.preview.recording import RecordedResource
from infra.preview.report.facts import facts
from infra.preview.report.model import Report

FORMAT: Final = 1
"""Raised when a key changes its meaning or goes away."""

SECRET: Final = "[secret]"  # noqa: S105 - what stands in a secret's place


def render_json(report: Report) -> str:
    """One object: environment, verdicts, cost, order, resources."""
    recording = report.recording
    document = {
        "format": FORMAT,
        "environment": report.environment,
        "region": report.region,
        "sound": not report.refused,
        "summary": report.summary,
        "counts": dict(report.counts),
        "difference": list(report.difference),
        "order": [list(wave) for wave in report.waves],
        "cost": _cost(report),
        "verdicts": [dataclasses.asdict(verdict) for verdict in report.verdicts],
        "resources": [_resource(resource) for resource in recording or ()],
    }
    return json.dumps(document, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _cost(report: Report) -> dict[str, Any] | None:
    if report.cost is None:
        return None
    totals = {
        "idle_hour": dataclasses.asdict(report.cost.idle),
        "full_hour": dataclasses.asdict(report.cost.full),
        "idle_month": dataclasses.asdict(report.cost.idle_month),
    }
    data = dataclasses.asdict(report.cost) | totals
    rounded: dict[str, Any] = _rounded(data)
    return rounded


def _rounded(value: Any) -> Any:
    """Floats to six places: the rest is noise of adding."""
    if isinstance(value, float):
        return round(value, 6)
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(item) for item in value]
    return value


def public_inputs(resource: RecordedResource) -> dict[str, Any]:
    """The inputs with a word in place of each that is, or holds, a secret."""
    secret = {path.split(".")[0].split("[")[0] for path in resource.secret_inputs}
    return {key: SECRET if key in secret else value for key, value in resource.inputs.items()}


def _resource(resource: RecordedResource) -> dict[str, Any]:
    return {
        "type": resource.type,
        "name": resource.name,
        "urn": resource.urn,
        "parent": resource.parent,
        "facts": list(facts(resource)),
        "inputs": public_inputs(resource),
        "needs": list(resource.depends_on),
        "provider": resource.provider_urn,
        "options": {
            "deleteBeforeReplace": resource.delete_before_replace,
            "ignoreChanges": list(resource.ignore_changes),
            "protect": resource.protect,
            "replaceOnChanges": list(resource.replace_on_changes),
            "retainOnDelete": resource.retain_on_delete,
        },
    }
