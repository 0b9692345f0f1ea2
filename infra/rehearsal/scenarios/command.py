"""`gangway demo`: plays the story on a rehearsal, shows it live, writes page, pictures, figures."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from infra.errors import GangwayError
from infra.rehearsal import control_plane
from infra.rehearsal.driver import Rehearsal
from infra.rehearsal.scenarios.arena import QUEUES, Arena
from infra.rehearsal.scenarios.findings import Outcome
from infra.rehearsal.scenarios.live import Stage
from infra.rehearsal.scenarios.observer import AuditLog
from infra.rehearsal.scenarios.page import page
from infra.rehearsal.scenarios.picture import draw
from infra.rehearsal.scenarios.png import png
from infra.rehearsal.scenarios.report import document
from infra.rehearsal.scenarios.runner import Runner
from infra.rehearsal.scenarios.scenario import DEFAULT_SCHEDULER, VOLCANO
from infra.rehearsal.scenarios.story import Story, StoryOptions, tell
from infra.rehearsal.scenarios.svg import svg
from infra.rehearsal.scenarios.workloads import Half
from infra.rehearsal.training import tell_report
from stacks.prices import load_prices

DEFAULT_OUT: Final = Path(".gangway/demo")

_STYLES: Final = {
    Outcome.HAPPENED: "green",
    Outcome.DID_NOT_HAPPEN: "bold red",
    Outcome.DOES_NOT_APPLY: "dim",
}


class StoryDidNotHappenError(GangwayError):
    """What the demo shows is not what was observed."""


def demo(
    env: Annotated[str, typer.Option(help="Environment whose rehearsal is used.")] = "dev",
    name: Annotated[
        str | None, typer.Option(help="Name of the rehearsal, when several run side by side.")
    ] = None,
    gpus: Annotated[int, typer.Option(help="GPUs for each scheduler.")] = 2,
    workers: Annotated[int, typer.Option(help="Workers of the job, one GPU each.")] = 2,
    blocker_seconds: Annotated[
        float | None, typer.Option(help="The blocker ends by itself after so many seconds.")
    ] = None,
    job_fails: Annotated[
        bool, typer.Option("--job-fails", help="The job fails at its end.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for page, pictures and figures.")] = DEFAULT_OUT,
) -> None:
    """Show the default scheduler and Volcano side by side on the same jobs."""
    options = StoryOptions(
        blocker_seconds=blocker_seconds, gpus=gpus, job_fails=job_fails, workers=workers
    )
    console = Console()
    rehearsal = Rehearsal(env, console, name=name)
    _make_folder(out)
    _bring_up(rehearsal)
    result = play(rehearsal, tell(options), console)
    written = write(result, out)
    summarize(result, console)
    console.print("Page, pictures and figures:")
    for path in written:
        console.print(f"  {path}", highlight=False)
    tell_report(rehearsal, console)
    if not result["happened"]:
        raise StoryDidNotHappenError(_why_not(result))


def play(rehearsal: Rehearsal, story: Story, console: Console) -> dict[str, Any]:
    """Play the story on a running rehearsal; returns the result's document."""
    halves = [
        Half(gpus=story.scenario.gpus, scheduler=scheduler)
        for scheduler in (DEFAULT_SCHEDULER, VOLCANO)
    ]
    log = AuditLog(control_plane.audit_log(rehearsal.state))
    arena = Arena(rehearsal.api, halves)
    stage = Stage(console, story.scenario, halves)
    # Nobody takes the rehearsal down, and no second demo clears this one's objects, meanwhile.
    with rehearsal.state.driven(), _interruptible(console), arena.built(), stage:
        recording = Runner(arena, log, story.scenario, halves, stage.show).play()
    return document(story, recording, halves, load_prices(rehearsal.settings.region))


def write(result: dict[str, Any], out: Path) -> list[Path]:
    """Write the page, the pictures and the figures they show; returns their paths."""
    drawing = draw(result)
    contents = {
        "demo.html": page(result).encode(),
        "demo.json": (json.dumps(result, indent=2, ensure_ascii=False) + "\n").encode(),
        "demo.png": png(drawing),
        "demo.svg": svg(drawing).encode(),
    }
    for name, content in contents.items():
        (out / name).write_bytes(content)
    return [out / name for name in contents]


def summarize(result: dict[str, Any], console: Console) -> None:
    """Tell what was expected and what was seen, and what the waste costs."""
    titles = {scheduler["name"]: scheduler["title"] for scheduler in result["schedulers"]}
    table = Table("Part", "Scheduler", "Expected", "Seen", box=None, pad_edge=False)
    for finding in result["findings"]:
        outcome = Outcome(finding["outcome"])
        table.add_row(
            str(finding["part"]),
            titles[finding["scheduler"]],
            finding["expected"],
            f"[{_STYLES[outcome]}]{outcome}[/]: {finding['observed']}",
        )
    console.print(table)
    for text in result["not_shown"]:
        console.print(text)
    for scheduler in result["schedulers"]:
        seconds, usd = scheduler["gpu_seconds"], scheduler["wasted_usd"]
        console.print(
            f"{scheduler['title']}: {seconds['wasted']:.2f} of {seconds['held']:.2f} GPU-seconds "
            f"wasted, ${usd['on_demand']:.4f} on demand"
        )


def _bring_up(rehearsal: Rehearsal) -> None:
    """Bring the rehearsal up, or what is missing of it; one that runs is left alone."""
    status = rehearsal.status()
    if status and all(status.values()) and rehearsal.api.find(QUEUES) is not None:
        return
    rehearsal.up(gang_seconds=0)


@contextmanager
def _interruptible(console: Console) -> Iterator[None]:
    """Leave by the same way at Ctrl-C and at SIGTERM, and let nothing cut the clean-up short."""
    is_leaving = False

    def leave(_number: int, _frame: FrameType | None) -> None:
        nonlocal is_leaving
        if is_leaving:
            console.print("Taking the demo's objects out of the cluster, one moment ...")
            return
        is_leaving = True
        raise KeyboardInterrupt

    numbers = [n for n in (signal.SIGINT, signal.SIGTERM) if signal.getsignal(n) != signal.SIG_IGN]
    before = {number: signal.signal(number, leave) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _make_folder(out: Path) -> None:
    try:
        out.mkdir(parents=True, exist_ok=True)
        (out / "demo.json").touch()
    except OSError as error:
        message = f"--out is {out}: cannot write there ({error.strerror}); give another folder"
        raise GangwayError(message) from error


def _why_not(result: dict[str, Any]) -> str:
    if result["stopped"]:
        return f"the story did not happen: {result['stopped']}"
    missed = [
        f"{finding['scheduler']}, part {finding['part']}: {finding['expected']} "
        f"(seen: {finding['observed']})"
        for finding in result["findings"]
        if finding["outcome"] == Outcome.DID_NOT_HAPPEN
    ]
    return f"the story did not happen: {'; '.join(missed) or 'no part of it applies'}"
