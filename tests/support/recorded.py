"""Recordings made by hand, for tests of what reads a recording."""

from collections.abc import Mapping, Sequence
from typing import Any

from infra.preview.checks.verdict import Check
from infra.preview.recording import RecordedResource, Recording
from stacks.settings import Settings

KUBERNETES_PROVIDER = "urn:pulumi:dev::gangway::pulumi:providers:kubernetes::cluster"


def resource(
    type_token: str,
    name: str = "x",
    inputs: Mapping[str, Any] | None = None,
    *,
    after: Sequence[RecordedResource] = (),
    **options: Any,
) -> RecordedResource:
    """One custom resource, or a component when `custom=False`."""
    given = dict(inputs or {})
    return RecordedResource(
        type=type_token,
        name=name,
        urn=f"urn:pulumi:dev::gangway::{type_token}::{name}",
        id=options.pop("id", name),
        inputs=given,
        outputs=given,
        custom=options.pop("custom", True),
        depends_on=tuple(sorted(other.urn for other in after)),
        **options,
    )


def recording(*resources: RecordedResource, exports: Mapping[str, Any] | None = None) -> Recording:
    """A recording of these resources."""
    return Recording(
        project="gangway",
        stack="dev",
        resources=tuple(sorted(resources, key=lambda item: item.urn)),
        exports=dict(exports or {}),
    )


def levels_and_sentences(
    check: Check, recorded: Recording, settings: Settings | None = None
) -> list[tuple[str, str]]:
    """What a check says."""
    return [(item.level, item.sentence) for item in check.verdicts(recorded, settings)]


def only_sentence(
    check: Check, level: str, recorded: Recording, settings: Settings | None = None
) -> str:
    """The one sentence that a check says, of one level."""
    found = levels_and_sentences(check, recorded, settings)
    assert [item[0] for item in found] == [level], found
    return found[0][1]
