"""The engine's events as a live view: what is being made now, for how long, what is done."""

import time
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Final, Self

from pulumi import automation
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

QUIET_TYPES: Final = ("pulumi:pulumi:Stack", "pulumi:providers:")
"""Not the program's own: shown by nobody."""

VERBS: Final = {
    "create": "created",
    "create-replacement": "replaced",
    "delete": "deleted",
    "delete-replaced": "deleted (replaced)",
    "discard": "forgotten",
    "import": "imported",
    "read": "read",
    "refresh": "refreshed",
    "replace": "replaced",
    "update": "updated",
}
"""Engine operation -> what is said when it is done; others (`same`) are not news."""

HALVES: Final = frozenset({"create-replacement", "delete-replaced"})
"""The two steps of each "replace", which the engine tells as a third."""

SHOWN_AT_ONCE: Final = 12


def display_name(urn: str) -> str:
    """`ec2/subnet private-use1-az4` from a URN: type without its package's repetition, and name."""
    kind, _, name = urn.split("::", 2)[2].rpartition("::")
    own = kind.rpartition("$")[2]
    package, _, rest = own.partition(":")
    short = rest.rpartition(":")[0] if package == "aws" else rest
    return f"{package} {short} {name}"


@dataclass(slots=True)
class Progress:
    """What the events said so far; pure, so that a recorded stream can be replayed."""

    running: dict[str, tuple[str, float]] = field(default_factory=dict)
    done: list[tuple[str, str, float]] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)
    diagnostics: list[str] = field(default_factory=list)
    unchanged: int = 0

    def take(self, event: automation.EngineEvent, now: float) -> str | None:
        """Take one event in; returns the line to tell when it ended something."""
        if event.resource_pre_event:
            self._start(event.resource_pre_event.metadata, now)
        elif event.res_outputs_event:
            return self._finish(event.res_outputs_event.metadata, now)
        elif event.res_op_failed_event:
            return self._fail(event.res_op_failed_event.metadata, now)
        elif event.diagnostic_event and event.diagnostic_event.severity == "error":
            self.diagnostics.append(_one_line(event.diagnostic_event.message))
        return None

    def _start(self, step: Any, now: float) -> None:
        if not _quiet(step.type) and str(step.op.value) in VERBS:
            self.running[step.urn] = (str(step.op.value), now)

    def _finish(self, step: Any, now: float) -> str | None:
        operation, started = self.running.pop(step.urn, (str(step.op.value), now))
        if operation not in VERBS or _quiet(step.type):
            self.unchanged += operation == "same" and not _quiet(step.type)
            return None
        took = now - started
        self.done.append((operation, step.urn, took))
        return f"{VERBS[operation]} {display_name(step.urn)} ({took:.1f} s)"

    def _fail(self, step: Any, now: float) -> str:
        _, started = self.running.pop(step.urn, ("", now))
        self.failed.append(step.urn)
        return f"failed {display_name(step.urn)} ({now - started:.1f} s)"

    def counts(self) -> dict[str, int]:
        """Operation -> how many resources it was done to."""
        counted: dict[str, int] = {}
        for operation, _, _ in self.done:
            counted[operation] = counted.get(operation, 0) + 1
        return counted

    def summary(self) -> str:
        """`99 created, 3 unchanged`, in the order in which it happened."""
        told = {name: count for name, count in self.counts().items() if name not in HALVES}
        parts = [
            f"{count} {VERBS[operation]}" for operation, count in (told or self.counts()).items()
        ]
        if self.unchanged:
            parts.append(f"{self.unchanged} unchanged")
        if self.failed:
            parts.append(f"{len(self.failed)} failed")
        return ", ".join(parts) or "nothing to do"


def _quiet(type_token: str) -> bool:
    return type_token.startswith(QUIET_TYPES)


def _one_line(message: str) -> str:
    return " ".join(message.split())


class LiveView:
    """Shows a Progress while the engine works: a table on a terminal, lines elsewhere."""

    def __init__(self, console: Console, title: str) -> None:
        self.progress = Progress()
        self._console = console
        self._title = title
        self._started = time.monotonic()
        self._live = Live(
            get_renderable=self._render, console=console, refresh_per_second=4, transient=True
        )

    def __enter__(self) -> Self:
        """Begin to show."""
        if self._console.is_terminal:
            self._live.start()
        else:
            self._console.print(self._title, highlight=False)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """End with the line that stays."""
        if self._console.is_terminal:
            self._live.stop()
        seconds = time.monotonic() - self._started
        self._console.print(
            f"{self._title}: {self.progress.summary()} in {seconds:.1f} s", highlight=False
        )

    def on_event(self, event: automation.EngineEvent) -> None:
        """Take an event of the engine."""
        line = self.progress.take(event, time.monotonic())
        if line is not None:
            self._console.print(f"  {line}", highlight=False, markup=False)

    def on_error(self, line: str) -> None:
        """Keep what the engine writes to its error stream."""
        if line.startswith("error:"):
            self.progress.diagnostics.append(_one_line(line.removeprefix("error:")))

    def _render(self) -> RenderableType:
        now = time.monotonic()
        table = Table.grid(padding=(0, 2))
        running = sorted(self.progress.running.items(), key=lambda item: item[1][1])
        for urn, (operation, since) in running[:SHOWN_AT_ONCE]:
            table.add_row(f"{now - since:5.1f} s", operation, display_name(urn))
        head = Text(f"{self._title}: {self.progress.summary()}, {now - self._started:.0f} s")
        return Group(head, table)
