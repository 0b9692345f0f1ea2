"""What changed since an earlier preview's JSON: resources, inputs, cost; no account needed."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from infra.errors import UsageError
from infra.preview.checks.walk import one_line, short_type
from infra.preview.cost import Cost
from infra.preview.recording import RecordedResource
from infra.preview.report.json_report import FORMAT, public_inputs

VALUE_WIDTH: Final = 60
MISSING: Final = object()


def load_earlier(path: Path) -> dict[str, Any]:
    """An earlier `--format json` report. Raises UsageError when the file is none."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        message = f"--against {path} cannot be read as a JSON report: {error}"
        raise UsageError(message) from None
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        message = f"--against {path} is no JSON report of format {FORMAT}; make a new one"
        raise UsageError(message)
    return document


def difference(
    earlier: dict[str, Any], resources: tuple[RecordedResource, ...], cost: Cost | None
) -> tuple[str, ...]:
    """Lines as in a diff: `-` gone, `+` new, `!` changed; cost last."""
    before = {_key(item["urn"]): item for item in earlier["resources"]}
    now = {_key(resource.urn): resource for resource in resources}
    lines = [
        *(f"- {_name(before[key])}" for key in sorted(before.keys() - now.keys())),
        *(f"+ {_title(now[key])}" for key in sorted(now.keys() - before.keys())),
    ]
    for key in sorted(now.keys() & before.keys()):
        changes = _changes(before[key]["inputs"], public_inputs(now[key]), "")
        lines += [f"! {_title(now[key])}: {change}" for change in changes]
    return (*(lines or ["no resource changed"]), *_cost(earlier.get("cost"), cost))


def _key(urn: str) -> str:
    """The URN without its stack, so that two environments can be compared."""
    return urn.split("::", 1)[1]


def _title(resource: RecordedResource) -> str:
    return f"{short_type(resource.type)} {resource.name}"


def _name(item: dict[str, Any]) -> str:
    return f"{short_type(item['type'])} {item['name']}"


def _changes(before: Any, now: Any, path: str) -> Iterator[str]:
    """The innermost paths that differ, with both values."""
    if isinstance(before, dict) and isinstance(now, dict):
        for key in sorted(before.keys() | now.keys()):
            inner = f"{path}.{key}" if path else key
            yield from _changes(before.get(key, MISSING), now.get(key, MISSING), inner)
    elif before != now:
        yield f"{path} {_value(before)} -> {_value(now)}"


def _value(value: Any) -> str:
    if value is MISSING:
        return "unset"
    text = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return one_line(text, VALUE_WIDTH)


def _cost(before: dict[str, Any] | None, cost: Cost | None) -> Iterator[str]:
    if before is None or cost is None:
        return
    for what, old, new in (
        ("an hour, idle", before["idle_hour"]["high"], cost.idle.high),
        ("an hour, full size", before["full_hour"]["high"], cost.full.high),
        ("a month, idle", before["idle_month"]["high"], cost.idle_month.high),
    ):
        change = round(new - old, 3)
        if change:
            sign = "+" if change > 0 else "-"
            yield f"! {what}, at most: ${old:,.3f} -> ${new:,.3f} ({sign}${abs(change):,.3f})"
