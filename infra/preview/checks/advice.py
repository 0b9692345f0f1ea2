"""What the settings allow and is still worth a look before `pulumi up`."""

from collections.abc import Iterator

from infra.preview.checks.verdict import Check, Finding, warning
from infra.preview.recording import Recording
from stacks import problems
from stacks.settings import Settings


def find(_recording: Recording, settings: Settings | None) -> Iterator[Finding]:
    """The settings' own warnings."""
    if settings is not None:
        yield from map(warning, problems.warnings(settings))


CHECK = Check(
    name="settings",
    claim="the settings leave nothing open",
    find=find,
)
