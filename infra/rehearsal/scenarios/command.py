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
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.scenarios.arena import Arena
from infra.rehearsal.scenarios.findings import Outcome
from infra.rehearsal.scenarios.live import Stage
from infra.rehearsal.scenarios.observer import AuditLog
from infra.rehearsal.scenarios.page import page
from infra.rehearsal.scenarios.picture import draw
from infra.rehearsal.scenarios.png import png
from infra.rehearsal.scenarios.report import document
from infra.rehearsal.scenarios.runner import Recording, Runner
from infra.rehearsal.scenarios.scenario import DEFAULT_SCHEDULER, VOLCANO
from infra.rehearsal.scenarios.story import Story, StoryOptions, tell
from infra.rehearsal.scenarios.svg import svg
from infra.rehearsal.scenarios.workloads import Half
from infra.rehearsal.state import StateFolder
from stacks.prices import FALLBACK_REGION, load_prices

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
    gpus: Annotated[int, typer.Option(help="GPUs for each scheduler.")] = 2,
    workers: Annotated[int, typer.Option(help="Workers of the job, one GPU each.")] = 2,
    blocker_seconds: Annotated[
        float | None, typer.Option(help="The blocker ends by itself after so many seconds.")
    ] = None,
    job_fails: Annotated[bool, typer.Option(help="The job fails at its end.")] = False,
    out: Annotated[Path, typer.Option(help="Folder for page, pictures and figures.")] = DEFAULT_OUT,
) -> None:
    """Show the default scheduler and Volcano side by side on the same jobs."""
    options = StoryOptions(
        blocker_seconds=blocker_seconds, gpus=gpus, job_fails=job_fails, workers=workers
    )
    story = tell(options)
    _make_folder(out)
    console = Console()
    halves = [
        Half(gpus=story.scenario.gpus, scheduler=scheduler)
        for scheduler in (DEFAULT_SCHEDULER, VOLCANO)
    ]
    recording = _play(StateFolder.named(env), story, halves, console)
    result = document(story, recording, halves, load_prices(FALLBACK_REGION))
    written = write(result, out)
    summarize(result, console)
    console.print(f"Page, pictures and figures: {', '.join(str(path) for path in written)}")
    if not result["happened"]:
        raise StoryDidNotHappenError(_why_not(result))


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


def _play(state: StateFolder, story: Story, halves: list[Half], console: Console) -> Recording:
    api = _reach(state)
    log = AuditLog(control_plane.audit_log(state))
    arena = Arena(api, halves)
    with _interruptible(), arena.built(), Stage(console, story.scenario, halves) as stage:
        return Runner(arena, log, story.scenario, halves, stage.show).play()


def _reach(state: StateFolder) -> KubernetesApi:
    if not all((control_plane.status(state) or {"": False}).values()):
        message = (
            f"no rehearsal of {state.name} is running: bring it up with `gangway rehearse up "
            f"--env {state.name}`"
        )
        raise GangwayError(message)
    return KubernetesApi.of(state)


@contextmanager
def _interruptible() -> Iterator[None]:
    """Let an end by signal take the same way out as Ctrl-C, so that nothing is left behind."""

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


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
