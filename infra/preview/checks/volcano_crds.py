"""Volcano's objects hold against the CRDs of the pinned chart, when a copy can be reached."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from components import versions
from infra.preview import schemas
from infra.preview.checks.verdict import Check, Finding, refused, skipped
from infra.preview.checks.walk import RELEASE, manifests, one_line, title
from infra.preview.recording import Recording
from stacks.settings import Settings

REPOSITORY_ROOT: Final = Path(__file__).resolve().parents[3]
ARCHIVE: Final = f"{versions.VOLCANO_CHART.chart}-{versions.VOLCANO_CHART.version}.tgz"


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each field that a CRD does not know or would not take."""
    objects = [
        resource
        for resource in manifests(recording)
        if ".volcano.sh/" in str(resource.inputs.get("apiVersion", ""))
    ]
    if not objects:
        return
    chart = find_chart(recording)
    if chart is None:
        yield skipped(
            f"no copy of {ARCHIVE} is at hand (GANGWAY_MIRROR, ../shared/mirror/charts, the tool "
            "cache), so Volcano's objects were not held against its CRDs"
        )
        return
    known = schemas.chart_crd_schemas(chart)
    for resource in objects:
        token = f"{resource.inputs['apiVersion']}:{resource.inputs.get('kind')}"
        if token not in known:
            yield refused(f"{title(resource)}: the pinned chart has no CRD for {token}")
            continue
        for problem in schemas.problems(resource.inputs, known[token]):
            yield refused(f"{title(resource)}: {one_line(problem)}")


def find_chart(recording: Recording) -> Path | None:
    """The packed chart: the release's own file, the mirror folder, or the tool cache."""
    own = [
        Path(str(release.inputs.get("chart", "")))
        for release in recording.of_type(RELEASE)
        if str(release.inputs.get("chart", "")).endswith(ARCHIVE)
    ]
    return next((path for path in (*own, *chart_places(os.environ)) if path.is_file()), None)


def chart_places(environment: "os._Environ[str] | dict[str, str]") -> Iterator[Path]:
    """Where a copy of the chart may lie, nearest first."""
    mirror = environment.get("GANGWAY_MIRROR", "")
    if mirror and "://" not in mirror:
        yield Path(mirror) / "charts" / ARCHIVE
    yield REPOSITORY_ROOT.parent / "shared" / "mirror" / "charts" / ARCHIVE
    home = Path(environment.get("HOME", "/nonexistent"))
    cache = environment.get("GANGWAY_CACHE") or str(
        Path(environment.get("XDG_CACHE_HOME") or home / ".cache") / "gangway"
    )
    yield Path(cache) / "charts" / ARCHIVE


CHECK = Check(
    name="Volcano CRDs",
    claim=f"queue and job fit the CRDs of the Volcano {versions.VOLCANO_CHART.version} chart",
    find=find,
)
