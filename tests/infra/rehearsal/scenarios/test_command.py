import json
import signal

import pytest
from rich.console import Console

from infra.errors import GangwayError, UsageError
from infra.rehearsal.scenarios import command
from tests.support.recording import recorded_document

RESULT = recorded_document()


class FakeRehearsal:
    """A rehearsal that counts how often it was brought up."""

    def __init__(self, status=None, has_queues=True) -> None:
        self._has_queues = has_queues
        self._status = status if status is not None else {"kube-apiserver": True}
        self.told: list[int] = []
        self.ups: list[float] = []

    @property
    def api(self):
        return self

    def find(self, path):
        return {} if self._has_queues else None

    def status(self):
        return self._status

    def up(self, *, gang_seconds):
        self.ups.append(gang_seconds)


@pytest.fixture
def demo(monkeypatch, tmp_path):
    def run(result=RESULT, rehearsal=None, **options):
        fake = rehearsal or FakeRehearsal()
        monkeypatch.setattr(command, "Rehearsal", lambda *args, **names: fake)
        monkeypatch.setattr(command, "play", lambda *args: result)
        monkeypatch.setattr(command, "tell_report", lambda rehearsal, console: fake.told.append(1))
        command.demo(out=tmp_path / "out", **options)
        return fake

    return run


def test_page_pictures_and_figures_are_written(demo, tmp_path):
    demo()
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names == {"demo.html", "demo.json", "demo.png", "demo.svg"}
    assert json.loads((tmp_path / "out" / "demo.json").read_text()) == RESULT


def test_a_story_that_did_not_happen_is_a_failure_that_says_what_was_seen(demo, tmp_path):
    findings = [{**finding} for finding in RESULT["findings"]]
    findings[1] |= {"outcome": "did not happen", "observed": "1 of 2 workers held a GPU"}
    with pytest.raises(command.StoryDidNotHappenError) as failure:
        demo(RESULT | {"happened": False, "findings": findings})
    assert str(failure.value) == (
        "the story did not happen: volcano, part 1: all workers wait, none holds a GPU "
        "(seen: 1 of 2 workers held a GPU)"
    )
    assert failure.value.exit_code == 1
    assert (tmp_path / "out" / "demo.html").exists()


def test_a_play_that_was_stopped_is_a_failure_that_says_what_did_not_come(demo):
    stopped = RESULT | {"happened": False, "stopped": "the placement did not happen within 30 s"}
    with pytest.raises(command.StoryDidNotHappenError, match="the placement did not happen"):
        demo(stopped)


def test_the_demo_ends_with_the_report_of_the_environments_own_training(demo):
    assert demo().told == [1]


def test_a_rehearsal_that_runs_is_left_alone(demo):
    assert demo().ups == []


@pytest.mark.parametrize(
    "rehearsal",
    [
        FakeRehearsal(status={}),
        FakeRehearsal(status={"kube-apiserver": True, "supervisor": False}),
        FakeRehearsal(has_queues=False),
    ],
    ids=["none", "part of it", "no stack"],
)
def test_what_is_missing_of_a_rehearsal_is_brought_up(demo, rehearsal):
    assert demo(rehearsal=rehearsal).ups == [0]


def test_rejects_numbers_before_anything_is_brought_up(demo):
    rehearsal = FakeRehearsal(status={})
    with pytest.raises(UsageError, match="--gpus is 0"):
        demo(rehearsal=rehearsal, gpus=0)
    assert rehearsal.ups == []


def test_rejects_a_folder_that_cannot_be_written_before_anything_is_brought_up(
    monkeypatch, tmp_path
):
    rehearsal = FakeRehearsal(status={})
    monkeypatch.setattr(command, "Rehearsal", lambda *args, **names: rehearsal)
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(GangwayError, match=r"cannot write there .*give another folder"):
        command.demo(out=tmp_path / "file" / "out")
    assert rehearsal.ups == []


def test_the_summary_tells_each_expectation_and_the_waste():
    console = Console(width=160, color_system=None)
    with console.capture() as captured:
        command.summarize(RESULT | {"not_shown": ["Part 3 does not apply."]}, console)
    text = captured.get()
    assert text.count("happened:") == len(RESULT["findings"])
    assert "Part 3 does not apply." in text
    wasted = RESULT["schedulers"][0]["gpu_seconds"]["wasted"]
    assert f"Default scheduler: {wasted:.2f} of" in text


def test_a_termination_is_an_interruption_and_a_second_one_does_not_stop_the_cleaning():
    console = Console()
    reached = []

    def play() -> None:
        with command._interruptible(console):
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                signal.raise_signal(signal.SIGTERM)
                reached.append("cleaned")

    before = signal.getsignal(signal.SIGTERM)
    with console.capture() as captured, pytest.raises(KeyboardInterrupt):
        play()
    assert reached == ["cleaned"]
    assert "one moment" in captured.get()
    assert signal.getsignal(signal.SIGTERM) == before
