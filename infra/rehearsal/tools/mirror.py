"""The mirror: a folder or URL that carries what official hosts would, with its checksums."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from infra.rehearsal.tools.archive import place_file, sha256_of, unpack_members
from infra.rehearsal.tools.model import SourceError, Step, Workshop
from infra.rehearsal.tools.web import WebError

SUMS = "SHA256SUMS"


@dataclass(frozen=True, kw_only=True, slots=True)
class MirrorFile:
    """A file of the mirror: an archive of which `members` are taken, or the tool itself.

    The file must agree with the mirror's own SHA256SUMS and with the sum pinned here.
    """

    path: str
    sha256: str
    entry: str
    members: tuple[str, ...] = ()
    needs: str | None = None
    version: str | None = None
    any_machine: bool = False
    kind: str = "mirror"
    seconds: int = 5

    def probe(self, workshop: Workshop) -> str:
        """Return the file's place once the mirror lists it with the pinned sum."""
        mirror = workshop.settings.mirror
        if mirror is None:
            message = "no mirror (set GANGWAY_MIRROR)"
            raise SourceError(message)
        self._check_machine(workshop)
        self._check_listed(workshop, mirror)
        place = f"{mirror}/{self.path}"
        if isinstance(mirror, Path):
            if not (mirror / self.path).is_file():
                message = f"{place} is listed in {SUMS} but not there"
                raise SourceError(message)
        else:
            _ask(workshop, place)
        return place

    def fetch(self, folder: Path, workshop: Workshop, step: Step) -> None:
        """Verify the file, then place it or the members it is taken for."""
        self.probe(workshop)
        with self._local(workshop, step) as file:
            if sha256_of(file) != self.sha256:
                message = f"{workshop.settings.mirror}/{self.path} differs from its checksum"
                raise SourceError(message)
            if self.members:
                step.detail("unpacking")
                unpack_members(file, {name: name for name in self.members}, folder)
            else:
                place_file(file, folder / self.entry)

    def _check_machine(self, workshop: Workshop) -> None:
        machine = workshop.settings.machine
        if not self.any_machine and (machine.system, machine.architecture) != ("linux", "amd64"):
            message = (
                f"the mirror carries linux/amd64 only, this is "
                f"{machine.system}/{machine.architecture}"
            )
            raise SourceError(message)

    def _check_listed(self, workshop: Workshop, mirror: Path | str) -> None:
        listed = _sums(workshop, mirror).get(self.path)
        if listed is None:
            message = f"{mirror}/{SUMS} does not list {self.path}"
            raise SourceError(message)
        if listed != self.sha256:
            message = f"{mirror}/{SUMS} gives {self.path} another sum than the pinned one"
            raise SourceError(message)

    @contextmanager
    def _local(self, workshop: Workshop, step: Step) -> Iterator[Path]:
        mirror = workshop.settings.mirror
        if isinstance(mirror, Path):
            yield mirror / self.path
            return
        with TemporaryDirectory(dir=scratch(workshop)) as temporary:
            target = Path(temporary) / Path(self.path).name
            try:
                workshop.web.download(f"{mirror}/{self.path}", target, step.advance)
            except WebError as error:
                raise SourceError(str(error)) from error
            yield target


def scratch(workshop: Workshop) -> Path:
    """Return the folder for half-done work, on the file system of the cache."""
    folder = workshop.settings.cache / ".partial"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def parse_sums(text: str) -> dict[str, str]:
    """Read lines of `sha256sum` output: file name to lower-case sum."""
    rows = (line.split(maxsplit=1) for line in text.splitlines() if line.strip())
    return {
        row[1].strip().lstrip("*").removeprefix("./"): row[0].lower()
        for row in rows
        if len(row) == len(("sum", "name"))
    }


def _ask(workshop: Workshop, url: str) -> None:
    try:
        workshop.web.exists(url)
    except WebError as error:
        raise SourceError(str(error)) from error


def _sums(workshop: Workshop, mirror: Path | str) -> dict[str, str]:
    try:
        if isinstance(mirror, Path):
            return parse_sums((mirror / SUMS).read_text(encoding="utf-8"))
        return parse_sums(workshop.web.text(f"{mirror}/{SUMS}"))
    except (OSError, WebError) as error:
        message = f"the mirror {mirror} cannot be read ({error})"
        raise SourceError(message) from error
