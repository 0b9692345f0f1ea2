"""The plan: for every tool, where it will come from, before anything slow starts."""

from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from infra.errors import MissingToolError, UsageError
from infra.rehearsal.tools.cache import ToolCache
from infra.rehearsal.tools.go_toolchain import GO_NEEDED
from infra.rehearsal.tools.model import PathRule, Source, SourceError, Tool, Workshop
from infra.rehearsal.tools.on_path import Which, check_need, find_on_path

_PROBES_AT_ONCE: Final = 8


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolPlan:
    """Where one tool comes from: `path` is set when it is here, else `sources[0]` gives it.

    `sources` are those worth trying, in order; with neither, the tool cannot be had and `tried`
    tells why.
    """

    tool: Tool
    origin: str = ""
    place: str = ""
    version: str = ""
    seconds: int = 0
    path: Path | None = None
    sources: tuple[Source, ...] = ()
    tried: tuple[str, ...] = ()

    @property
    def missing(self) -> bool:
        """Tell that nothing can give the tool."""
        return self.path is None and not self.sources


def plan(
    names: Iterable[str],
    catalogue: Mapping[str, Tool],
    workshop: Workshop,
    which: Which,
) -> list[ToolPlan]:
    """Plan each named tool; asks PATH and the network, changes nothing."""
    tools = [_named(name, catalogue) for name in dict.fromkeys(names)]
    cache = ToolCache(workshop.settings.cache)
    with ThreadPoolExecutor(max_workers=_PROBES_AT_ONCE) as pool:
        return list(pool.map(lambda tool: _plan_one(tool, cache, workshop, which), tools))


def refuse_missing(plans: Sequence[ToolPlan]) -> None:
    """Raise MissingToolError naming every tool that cannot be had, what was tried, what to do."""
    missing = [row for row in plans if row.missing]
    if not missing:
        return
    count = "1 tool" if len(missing) == 1 else f"{len(missing)} tools"
    rows = [f"  {row.tool.name} {row.tool.version}: {'; '.join(row.tried)}" for row in missing]
    go = ".".join(str(part) for part in GO_NEEDED)
    message = "\n".join(
        [
            f"{count} of the rehearsal cannot be had:",
            *rows,
            (
                "Set GANGWAY_MIRROR to a folder or URL that carries them, GANGWAY_REGISTRY to a "
                f"reachable container registry, or put Go {go} or later on PATH with a reachable "
                "GOPROXY; `gangway rehearse tools --check` tells what then works."
            ),
        ]
    )
    raise MissingToolError(message)


def _named(name: str, catalogue: Mapping[str, Tool]) -> Tool:
    if name not in catalogue:
        message = f"no tool is called {name!r}: allowed are {', '.join(sorted(catalogue))}"
        raise UsageError(message)
    return catalogue[name]


def _plan_one(tool: Tool, cache: ToolCache, workshop: Workshop, which: Which) -> ToolPlan:
    tried: list[str] = []
    try:
        return _from_cache(tool, cache, which)
    except SourceError as error:
        tried.append(f"cache: {error}")
    if tool.on_path:
        try:
            return _from_path(tool, tool.on_path, which)
        except SourceError as error:
            tried.append(f"PATH: {error}")
    return _from_sources(tool, workshop, which, tried)


def _from_cache(tool: Tool, cache: ToolCache, which: Which) -> ToolPlan:
    found = cache.find(tool)
    if found is None:
        message = "altered or cut short" if cache.altered(tool) else "not there"
        raise SourceError(message)
    check_need(found.needs, which)
    return ToolPlan(
        tool=tool, origin="cache", place=found.origin, version=found.version, path=found.path
    )


def _from_path(tool: Tool, rule: PathRule, which: Which) -> ToolPlan:
    path = find_on_path(tool, rule, which)
    return ToolPlan(tool=tool, origin="PATH", place=str(path), version=tool.version, path=path)


def _from_sources(tool: Tool, workshop: Workshop, which: Which, tried: list[str]) -> ToolPlan:
    for position, source in enumerate(tool.sources):
        try:
            check_need(source.needs, which)
            place = source.probe(workshop)
        except SourceError as error:
            tried.append(f"{source.kind}: {error}")
        else:
            return ToolPlan(
                tool=tool,
                origin=source.kind,
                place=place,
                version=source.version or tool.version,
                seconds=source.seconds,
                sources=tool.sources[position:],
                tried=tuple(tried),
            )
    return ToolPlan(tool=tool, tried=tuple(tried))
