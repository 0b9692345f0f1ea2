"""Official downloads: release files with the vendor's checksum, charts with their index's."""

from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import yaml

from infra.rehearsal.tools.archive import place_file, unpack_members
from infra.rehearsal.tools.mirror import parse_sums, scratch
from infra.rehearsal.tools.model import SourceError, Step, Workshop
from infra.rehearsal.tools.settings import Machine
from infra.rehearsal.tools.web import WebError

_PULUMI_ARCHITECTURES = {"amd64": "x64"}


@dataclass(frozen=True, kw_only=True, slots=True)
class ReleaseFile:
    """A file of a release: the program, or an archive with it as `member`.

    `{os}`, `{arch}` and `{pulumi_arch}` in the texts stand for the machine. `checksums` is a URL
    whose body is the bare sum or `sha256sum` lines; without one only TLS vouches for the file.
    """

    url: str
    entry: str
    checksums: str | None = None
    member: str | None = None
    version: str | None = None
    needs: str | None = None
    kind: str = "official download"
    seconds: int = 15

    def probe(self, workshop: Workshop) -> str:
        """Return the URL once it, and its checksum, can be fetched."""
        url = _render(self.url, workshop.settings.machine)
        try:
            workshop.web.exists(url)
        except WebError as error:
            raise SourceError(str(error)) from error
        return url

    def fetch(self, folder: Path, workshop: Workshop, step: Step) -> None:
        """Download, verify and place the program."""
        machine = workshop.settings.machine
        url = _render(self.url, machine)
        with TemporaryDirectory(dir=scratch(workshop)) as temporary:
            file = Path(temporary) / Path(url).name
            expected = self._expected_sum(workshop, Path(url).name)
            _download(workshop, url, file, expected, step)
            if self.member:
                member = _render(self.member, machine)
                unpack_members(file, {member: self.entry}, folder)
            else:
                place_file(file, folder / self.entry)

    def _expected_sum(self, workshop: Workshop, name: str) -> str | None:
        if self.checksums is None:
            return None
        url = _render(self.checksums, workshop.settings.machine)
        try:
            text = workshop.web.text(url)
        except WebError as error:
            raise SourceError(str(error)) from error
        words = text.split()
        found = words[0].lower() if len(words) == 1 else parse_sums(text).get(name)
        if found is None:
            message = f"{url} lists no sum for {name}"
            raise SourceError(message)
        return found


@dataclass(frozen=True, kw_only=True, slots=True)
class HelmChart:
    """A packed chart of a Helm repository, checked against the digest in the index."""

    repository: str
    chart: str
    chart_version: str
    entry: str
    version: str | None = None
    needs: str | None = None
    kind: str = "Helm repository"
    seconds: int = 2

    def probe(self, workshop: Workshop) -> str:
        """Return the chart's URL as the repository's index gives it."""
        return self._from_index(workshop)[0]

    def fetch(self, folder: Path, workshop: Workshop, step: Step) -> None:
        """Download the chart and compare it with the index."""
        url, digest = self._from_index(workshop)
        _download(workshop, url, folder / self.entry, digest, step)

    def _from_index(self, workshop: Workshop) -> tuple[str, str | None]:
        index = f"{self.repository}/index.yaml"
        for row in _index_rows(workshop, index, self.chart):
            if str(row.get("version")).removeprefix("v") == self.chart_version and row.get("urls"):
                url = str(row["urls"][0])
                return (url if "://" in url else f"{self.repository}/{url}"), row.get("digest")
        message = f"{index} lists no {self.chart} {self.chart_version}"
        raise SourceError(message)


def _index_rows(workshop: Workshop, index: str, chart: str) -> list[dict[str, Any]]:
    try:
        content = yaml.safe_load(workshop.web.text(index))
        return list(content["entries"].get(chart, []))
    except WebError as error:
        raise SourceError(str(error)) from error
    except (yaml.YAMLError, AttributeError, KeyError, TypeError) as error:
        message = f"{index} is no index of a Helm repository"
        raise SourceError(message) from error


def _download(workshop: Workshop, url: str, target: Path, expected: str | None, step: Step) -> None:
    try:
        found = workshop.web.download(url, target, step.advance)
    except WebError as error:
        raise SourceError(str(error)) from error
    if expected is not None and found != expected:
        message = f"{url} has the sum {found[:12]}…, its publisher says {expected[:12]}…"
        raise SourceError(message)


def _render(text: str, machine: Machine) -> str:
    architecture = machine.architecture
    return text.format(
        os=machine.system,
        arch=architecture,
        pulumi_arch=_PULUMI_ARCHITECTURES.get(architecture, architecture),
    )
