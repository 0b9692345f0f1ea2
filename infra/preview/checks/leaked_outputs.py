"""No output object was formatted into a string."""

from collections.abc import Iterator
from typing import Final

from infra.preview.checks.verdict import Check, Finding, refused
from infra.preview.checks.walk import strings, title
from infra.preview.recording import Recording
from stacks.settings import Settings

MARKERS: Final = (
    "Calling __str__ on an Output",
    "Calling [toString] on an",
    "<pulumi.output.Output object at",
    "<Output",
)
"""What pulumi 3.272 puts in place of the value (sdk output.py), repr included."""


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each input or export that holds the marker instead of the value."""
    places = [(title(resource), resource.inputs) for resource in recording]
    for where, data in (*places, ("the stack's exports", recording.exports)):
        for path, text in strings(data):
            if any(marker in text for marker in MARKERS):
                yield refused(
                    f"{where}: {path} holds the text of an output object; use "
                    "pulumi.Output.format or apply instead of an f-string"
                )


CHECK = Check(
    name="outputs",
    claim="no output object was formatted into a string",
    find=find,
)
