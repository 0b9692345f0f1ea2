"""The timeline of GPUs in the terminal while the demo plays."""

from collections.abc import Mapping, Sequence
from typing import Final

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from infra.rehearsal.scenarios.events import SECOND, Micros
from infra.rehearsal.scenarios.holdings import Span
from infra.rehearsal.scenarios.report import waits
from infra.rehearsal.scenarios.runner import Recording
from infra.rehearsal.scenarios.scenario import Scenario
from infra.rehearsal.scenarios.verdict import Verdict, judge
from infra.rehearsal.scenarios.workloads import Half

_NAME_WIDTH: Final = 8
_FINEST: Final = SECOND // 4
"""Time that one character stands for, until the line is full."""

_STYLES: Final = ("blue", "magenta", "cyan", "yellow")
_USEFUL, _WASTED, _FREE = "█", "▒", "·"


def frame(recording: Recording, scenario: Scenario, halves: Sequence[Half], width: int) -> Group:
    """One picture of the play so far, at most `width` columns wide."""
    columns = max(20, width - _NAME_WIDTH - 1)
    cell = max(_FINEST, -(-(recording.ended - recording.started) // columns))
    styles = gang_styles(scenario)
    says = recording.marks[-1] if recording.marks else None
    parts: list[RenderableType] = [
        Text(f"{says.part}  {says.says}" if says else "The stage is set.", style="bold")
    ]
    for half in halves:
        events = recording.events[half.scheduler.name]
        gangs = [work.gang for work in scenario.works]
        verdict = judge(events, gangs, gpus=half.gpus, until=recording.ended)
        parts.append(_headline(half, verdict))
        for index, node in enumerate(half.nodes):
            own = [span for span in verdict.spans if span.holding.node == node]
            lane = Text(f"GPU {index}".ljust(_NAME_WIDTH))
            lane.append_text(_lane(own, recording, cell, styles))
            parts.append(lane)
        waiting = [wait for wait in waits(events, recording.ended) if wait.end == recording.ended]
        told = ", ".join(f"{wait.gang}: {wait.workers}" for wait in waiting)
        parts.append(Text("waiting ".ljust(_NAME_WIDTH) + (told or "none"), style="dim"))
    parts.append(_legend(styles))
    return Group(*parts)


def gang_styles(scenario: Scenario) -> dict[str, str]:
    """A colour for each gang; blockers are grey."""
    jobs = [work.gang.name for work in scenario.works if not work.gang.blocker]
    blockers = [work.gang.name for work in scenario.works if work.gang.blocker]
    styles = {name: _STYLES[i % len(_STYLES)] for i, name in enumerate(jobs)}
    return styles | dict.fromkeys(blockers, "bright_black")


def _headline(half: Half, verdict: Verdict) -> Table:
    wasted = f"wasted {verdict.wasted_gpu_seconds:6.2f} GPU-seconds"
    table = Table.grid(expand=True)
    table.add_column()
    table.add_column(justify="right")
    table.add_row(
        Text(half.scheduler.title, style="bold"),
        Text(wasted, style="red" if verdict.wasted > SECOND // 10 else ""),
    )
    return table


def _lane(
    spans: Sequence[Span], recording: Recording, cell: Micros, styles: Mapping[str, str]
) -> Text:
    text = Text()
    moment = recording.started + cell // 2
    while moment <= recording.ended:
        span = next((span for span in spans if span.start <= moment < span.end), None)
        if span is None:
            text.append(_FREE, style="dim")
        elif span.useful:
            text.append(_USEFUL, style=styles[span.holding.gang])
        else:
            text.append(_WASTED, style="red")
        moment += cell
    return text


def _legend(styles: Mapping[str, str]) -> Text:
    text = Text()
    for gang, style in styles.items():
        text.append(f"{_USEFUL} ", style=style).append(f"{gang}  ")
    text.append(f"{_WASTED} ", style="red").append("held in vain  ")
    text.append(f"{_FREE} ", style="dim").append("free")
    return text


class Stage:
    """Shows a play while it runs: a moving picture in a terminal, else one line a step."""

    def __init__(self, console: Console, scenario: Scenario, halves: Sequence[Half]) -> None:
        self._console = console
        self._halves = halves
        self._live: Live | None = None
        self._said = ""
        self._scenario = scenario

    def __enter__(self) -> "Stage":
        if self._console.is_terminal:
            self._live = Live(console=self._console, refresh_per_second=8)
            self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._live is not None:
            self._live.stop()

    def show(self, recording: Recording) -> None:
        """Show the play as it stands."""
        if self._live is not None:
            width = self._console.width
            self._live.update(frame(recording, self._scenario, self._halves, width))
        elif recording.marks and recording.marks[-1].says != self._said:
            mark = recording.marks[-1]
            self._said = mark.says
            seconds = (mark.at - recording.started) / SECOND
            self._console.print(f"{max(seconds, 0):5.1f} s  {mark.part}  {mark.says}")
