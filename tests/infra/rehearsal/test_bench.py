"""The measurement of a rehearsal: what is refused, what is counted, what is told."""

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from infra.errors import GangwayError
from infra.rehearsal import bench, processes
from infra.rehearsal.bench import LIMITS, Round, measure, table
from infra.rehearsal.driver import Rehearsal
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.waiting import wait_until

FAST = Round(up=31.4, preview=7.0, down=16.3, memory=1400.0, yardstick=1.2)


@pytest.fixture
def rehearsal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Rehearsal:
    monkeypatch.setattr(bench, "YARDSTICK_LOOPS", 10)
    played = Rehearsal("dev", Console(quiet=True), name="bench", root=tmp_path)
    played._tools = {"kubectl": Path("kubectl")}
    monkeypatch.setattr(bench.gang_watch, "wait_until_ended", lambda *_: None)
    monkeypatch.setattr(Rehearsal, "api", property(lambda _: None))
    return played


@pytest.fixture
def commands(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    called: list[str] = []

    def seconds(rehearsal: Rehearsal, command: str, tell: Any) -> float:
        called.append(command)
        return float(len(called))

    monkeypatch.setattr(bench, "_seconds", seconds)
    return called


def test_a_round_is_one_whole_life(rehearsal: Rehearsal, commands: list[str]) -> None:
    measured = measure(rehearsal, lambda _: None)
    assert commands == ["up", "preview", "down"]
    assert (measured.up, measured.preview, measured.down) == (1.0, 2.0, 3.0)


def test_a_plan_is_measured_once_the_training_is_over(
    rehearsal: Rehearsal, commands: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def wait(api: KubernetesApi, namespace: str, name: str, seconds: float) -> None:
        commands.append(f"wait for {namespace}/{name}")

    monkeypatch.setattr(bench.gang_watch, "wait_until_ended", wait)
    measure(rehearsal, lambda _: None)
    assert commands == ["up", "wait for training/gang-train", "preview", "down"]


def test_rejects_a_rehearsal_that_is_there_and_keeps_it(
    rehearsal: Rehearsal, commands: list[str]
) -> None:
    rehearsal.state.folder(".")
    with pytest.raises(GangwayError, match="there is a rehearsal bench already"):
        measure(rehearsal, lambda _: None)
    assert rehearsal.state.path.exists()
    assert commands == []


@pytest.mark.parametrize("failure", [GangwayError("no"), KeyboardInterrupt()])
def test_what_a_failed_measurement_began_is_taken_away(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch, failure: BaseException
) -> None:
    def fails(*_: object) -> float:
        rehearsal.state.folder("logs")
        raise failure

    monkeypatch.setattr(bench, "_seconds", fails)
    with pytest.raises(type(failure)):
        measure(rehearsal, lambda _: None)
    assert not rehearsal.state.path.exists()


def test_a_command_that_fails_is_told_with_its_own_words(rehearsal: Rehearsal) -> None:
    other = Rehearsal("dev", Console(quiet=True), name="bench", root=rehearsal.state.path.parent)
    other.environment = "nowhere"
    with pytest.raises(
        GangwayError, match=r"rehearse up --env nowhere .* failed: --env is 'nowhere'"
    ):
        bench._seconds(other, "up", lambda _: None)


def test_every_figure_is_set_against_its_limit() -> None:
    rows = {row[0].partition(",")[0]: row[1:] for row in table([FAST, replace(FAST, up=41.0)])}
    assert rows["up"] == ["31.4, 41.0", "40", "missed"]
    assert rows["memory"] == ["1400, 1400", "2560", "kept"]
    assert set(LIMITS) < set(rows)


@pytest.fixture
def member(tmp_path: Path) -> Iterator[int]:
    """A process that carries the mark of the rehearsal in `tmp_path`."""
    code = "import time; print('up', flush=True); time.sleep(60)"
    process = subprocess.Popen(  # noqa: S603 - our own program
        [sys.executable, "-c", code],
        env=os.environ | {processes.MARK: str(tmp_path)},
        stdout=subprocess.PIPE,
        start_new_session=True,
    )
    assert process.stdout is not None
    process.stdout.readline()
    yield process.pid
    process.kill()
    process.communicate()


def test_the_memory_of_every_process_of_the_rehearsal_counts(tmp_path: Path, member: int) -> None:
    assert member in bench._members(tmp_path)
    assert bench._proportional_mib(member) > 1
    with bench._most_memory(tmp_path) as most:
        wait_until(lambda: most[0] > 1, what="a sample", deadline_seconds=10)


def test_a_process_that_has_just_ended_takes_no_memory() -> None:
    assert bench._proportional_mib(2**22 + 1) == 0.0
