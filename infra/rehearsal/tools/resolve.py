"""Getting tools: plan first, refuse what cannot be had, then fetch or build what is not here."""

import errno
import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from rich.console import Console

from infra.errors import GangwayError
from infra.rehearsal.tools.cache import ToolCache
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.rehearsal.tools.model import Reporter, Source, SourceError, Tool, Workshop
from infra.rehearsal.tools.on_path import Which, check_need
from infra.rehearsal.tools.plan import ToolPlan, plan, refuse_missing
from infra.rehearsal.tools.progress import ConsoleReporter
from infra.rehearsal.tools.settings import ToolSettings

_MEGABYTE: Final = 1_000_000
_WORKING_COPIES: Final = 2
"""A tool being fetched lies once as downloaded and once as unpacked."""


def resolve(names: Iterable[str], console: Console) -> Mapping[str, Path]:
    """Return the main file of each named tool, fetching or building what is not here yet.

    Raises MissingToolError naming all tools that cannot be had before anything slow starts.
    """
    workshop = Workshop(settings=ToolSettings.from_environment(os.environ))
    with ConsoleReporter(console) as reporter:
        return Resolver(workshop=workshop, reporter=reporter).resolve(names)


def check(names: Iterable[str]) -> list[ToolPlan]:
    """Return where each named tool would come from; takes seconds and changes nothing."""
    workshop = Workshop(settings=ToolSettings.from_environment(os.environ))
    return plan(names, CATALOGUE, workshop, shutil.which)


@dataclass(frozen=True, kw_only=True, slots=True)
class Resolver:
    """Resolves tools of one catalogue with one set of settings."""

    workshop: Workshop
    reporter: Reporter
    catalogue: Mapping[str, Tool] = field(default_factory=lambda: CATALOGUE)
    which: Which = shutil.which
    free_bytes: Callable[[Path], int] = lambda folder: shutil.disk_usage(folder).free

    def resolve(self, names: Iterable[str]) -> Mapping[str, Path]:
        """Plan, refuse, then get; the answer's order is that of `names`."""
        plans = plan(names, self.catalogue, self.workshop, self.which)
        refuse_missing(plans)
        absent = [row for row in plans if row.path is None]
        if absent:
            self._prepare(absent)
        return {row.tool.name: row.path or self._get(row) for row in plans}

    @property
    def _cache(self) -> ToolCache:
        return ToolCache(self.workshop.settings.cache)

    def _prepare(self, absent: list[ToolPlan]) -> None:
        root = self._cache.root
        needed = sum(row.tool.megabytes for row in absent) * _MEGABYTE * _WORKING_COPIES
        with _cache_failures(root):
            root.mkdir(parents=True, exist_ok=True)
            self._cache.sweep()
            free = self.free_bytes(root)
        if free < needed:
            message = (
                f"the tool cache {root} has {free // _MEGABYTE} MB free, "
                f"{needed // _MEGABYTE} MB are needed: free some, or set GANGWAY_CACHE to a "
                "folder with more space"
            )
            raise GangwayError(message)

    def _get(self, row: ToolPlan) -> Path:
        with _cache_failures(self._cache.root), self._cache.lock(row.tool, self.reporter):
            return self._found_meanwhile(row.tool) or self._try_sources(row)

    def _found_meanwhile(self, tool: Tool) -> Path | None:
        found = self._cache.find(tool)
        return found.path if found else None

    def _try_sources(self, row: ToolPlan) -> Path:
        tried = list(row.tried)
        for source in row.sources:
            try:
                return self._fetch(row.tool, source)
            except SourceError as error:
                tried.append(f"{source.kind}: {error}")
                self.reporter.remark(f"{row.tool.name}: {source.kind} failed: {error}")
        refuse_missing([ToolPlan(tool=row.tool, tried=tuple(tried))])
        raise AssertionError

    def _fetch(self, tool: Tool, source: Source) -> Path:
        check_need(source.needs, self.which)
        version = source.version or tool.version
        title = f"{tool.name} {version} ({source.kind}, about {source.seconds} s)"
        with (
            self.reporter.step(title) as step,
            self._cache.workplace(tool, version, source.kind, source.needs) as folder,
        ):
            source.fetch(folder, self.workshop, step)
            if not (folder / tool.entry).is_file():
                message = f"it gave no {tool.entry}"
                raise SourceError(message)
        return self._cache.root / tool.name / version / tool.entry


@contextmanager
def _cache_failures(root: Path) -> Iterator[None]:
    """Tell a full or read-only cache in one sentence."""
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            advice = "free some space there, or set GANGWAY_CACHE to a folder with more"
        else:
            advice = "set GANGWAY_CACHE to a folder that can be written"
        place = f" (at {error.filename})" if error.filename else ""
        message = f"the tool cache {root} cannot be used: {reason}{place}; {advice}"
        raise GangwayError(message) from error


def link_programs(paths: Mapping[str, Path], folder: Path) -> None:
    """Make `folder` a PATH entry: one link per program, under the tool's name."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, path in paths.items():
        link = folder / name
        link.unlink(missing_ok=True)
        link.symlink_to(path)
