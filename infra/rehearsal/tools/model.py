"""What a tool is, and what every place that it may come from can do."""

import re
from collections.abc import Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from infra.rehearsal.tools.settings import ToolSettings
from infra.rehearsal.tools.web import Web


class SourceError(Exception):
    """One source cannot give a tool; the message says why, the next source may still."""


class Step(Protocol):
    """One thing that takes a while, shown while it runs."""

    def detail(self, text: str) -> None:
        """Say what is being done right now."""

    def advance(self, amount: int, total: int | None = None) -> None:
        """Count `amount` more, of `total` when it is known."""


class Reporter(Protocol):
    """Shows steps and remarks to the user."""

    def step(self, title: str) -> AbstractContextManager[Step]:
        """Show a step for as long as the block runs."""

    def remark(self, text: str) -> None:
        """Show one line that stays."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Workshop:
    """What sources work with: settings, the web, and answers that need asking only once."""

    settings: ToolSettings
    web: Web = field(default_factory=Web)
    answers: dict[str, str | SourceError] = field(default_factory=dict)


class Source(Protocol):
    """A place that a tool may come from."""

    @property
    def kind(self) -> str:
        """Two or three words for tables, such as `official download`."""

    @property
    def version(self) -> str | None:
        """The version it gives where that is not the tool's pinned one."""

    @property
    def seconds(self) -> int:
        """Roughly how long it takes on two cores and a usual connection."""

    @property
    def needs(self) -> str | None:
        """A program that what it gives needs on PATH, such as `node>=18`."""

    def probe(self, workshop: Workshop) -> str:
        """Return where exactly it comes from, or raise SourceError. Changes nothing."""

    def fetch(self, folder: Path, workshop: Workshop, step: Step) -> None:
        """Put the tool's files into the empty `folder`, verified, or raise SourceError."""


@dataclass(frozen=True, kw_only=True, slots=True)
class PathRule:
    """How to tell whether a program already on PATH will do.

    The first `same_parts` numbers of its version must equal the pinned ones, and the whole
    version must not be below `at_least`.
    """

    arguments: tuple[str, ...]
    same_parts: int = 2
    at_least: str | None = None

    def fits(self, found: str, pinned: str) -> bool:
        """Tell whether version `found` can stand in for `pinned`."""
        have, want = numbers(found), numbers(pinned)
        floor = numbers(self.at_least) if self.at_least else ()
        return have[: self.same_parts] == want[: self.same_parts] and have >= floor


@dataclass(frozen=True, kw_only=True, slots=True)
class Tool:
    """One program or chart at one version, with its sources in the order to try them."""

    name: str
    version: str
    why: str
    megabytes: int
    sources: tuple[Source, ...]
    on_path: PathRule | None = None
    file_name: str = ""

    @property
    def entry(self) -> str:
        """The name of its main file."""
        return self.file_name or self.name

    def versions(self) -> Iterator[str]:
        """Every version that will do, the pinned one first."""
        yield from dict.fromkeys([self.version, *(s.version or self.version for s in self.sources)])


def numbers(version: str) -> tuple[int, ...]:
    """Return the leading dotted numbers of a version, `v` or not: v1.35.4-beta is 1, 35, 4."""
    found = re.match(r"v?(\d+(?:\.\d+)*)", version)
    return tuple(int(part) for part in found.group(1).split(".")) if found else ()
