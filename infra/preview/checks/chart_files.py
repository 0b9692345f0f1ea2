"""Charts that are files are there, or Helm would stop in the middle of an `up`."""

from collections.abc import Iterator
from pathlib import Path

from infra.preview.checks.verdict import Check, Finding, refused
from infra.preview.checks.walk import RELEASE, title
from infra.preview.recording import Recording
from stacks.settings import Settings


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each chart file that does not exist."""
    for release in recording.of_type(RELEASE):
        chart = str(release.inputs.get("chart", ""))
        if chart.endswith(".tgz") and not Path(chart).is_file():
            yield refused(
                f"{title(release)}: there is no file {chart}; put the chart there or correct "
                "gangway:charts.directory"
            )


CHECK = Check(
    name="chart files",
    claim="every chart comes from a repository or a file that is there",
    find=find,
)
