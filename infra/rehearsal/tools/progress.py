"""Steps on a rich console: live on a terminal, two plain lines in a log."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from types import TracebackType

from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    Progress,
    SpinnerColumn,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
)


@dataclass(slots=True)
class ConsoleStep:
    """One row of the live view."""

    progress: Progress
    task: TaskID

    def detail(self, text: str) -> None:
        """Say what is being done right now."""
        self.progress.update(self.task, detail=escape(text))

    def advance(self, amount: int, total: int | None = None) -> None:
        """Count bytes; without a total the bar only moves."""
        self.progress.update(self.task, advance=amount, total=total)


class ConsoleReporter:
    """Shows running steps live, and leaves one line for each that ended."""

    def __init__(self, console: Console):
        self._console = console
        self._progress = Progress(
            SpinnerColumn(),
            TextColumn("{task.description}"),
            BarColumn(bar_width=20),
            TimeElapsedColumn(),
            TextColumn("[dim]{task.fields[detail]}"),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )

    def __enter__(self) -> "ConsoleReporter":
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._progress.stop()

    @contextmanager
    def step(self, title: str) -> Iterator[ConsoleStep]:
        """Show a step for as long as the block runs, then how long it took."""
        started = monotonic()
        if not self._console.is_terminal:
            self.remark(f"{title} …")
        task = self._progress.add_task(escape(title), total=None, detail="")
        try:
            yield ConsoleStep(self._progress, task)
            self.remark(f"{title}: done in {monotonic() - started:.0f} s")
        finally:
            self._progress.remove_task(task)

    def remark(self, text: str) -> None:
        """Show one line that stays."""
        self._console.print(escape(text), highlight=False, soft_wrap=True)
