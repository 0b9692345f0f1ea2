import io
import json
from types import SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from infra.errors import GangwayError
from infra.rehearsal import frameworks, gang_watch, training
from infra.rehearsal.gang_watch import GangState
from tests.support.training_reports import Bucket, a_job


def rehearsal(gang: GangState | None) -> Any:
    return SimpleNamespace(
        api=None,
        gang=lambda: gang,
        outputs=lambda: {"resultsBucket": "results"},
        settings=SimpleNamespace(
            training=SimpleNamespace(framework="pytorch"),
            training_job=SimpleNamespace(name="gang-train", namespace="training"),
        ),
        shell_variables=dict,
        state=SimpleNamespace(name="dev"),
    )


RUNNING = GangState(bound=2, minimum=2, phase="Running", running=2)


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with the framework, on which the job has ended and left a report."""
    bucket = Bucket({"logs/volcano_training_success_1_a.json": a_job("aaaa1111")})
    monkeypatch.setattr(frameworks, "absence", lambda _: None)
    monkeypatch.setattr(gang_watch, "wait_until_ended", lambda *_: RUNNING)
    monkeypatch.setattr(training, "make_client", lambda _: bucket)


def told(gang: GangState | None = RUNNING) -> str:
    console = Console(width=200, file=io.StringIO())
    training.tell_report(rehearsal(gang), console)
    return console.file.getvalue()  # type: ignore[attr-defined,no-any-return]


def test_the_report_of_a_run_that_is_over_is_shown() -> None:
    text = told()
    assert "aaaa1111" in text
    assert text.endswith("whole reports: gangway results --rehearsal dev --json\n")


def test_a_run_that_goes_on_is_not_waited_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(*given: Any) -> None:
        message = json.dumps(given[-1])
        raise GangwayError(message)

    monkeypatch.setattr(gang_watch, "wait_until_ended", never)
    assert "still trains: `gangway results --rehearsal dev --follow` shows" in told()


def test_without_the_framework_one_line_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frameworks, "absence", lambda name: f"{name} is not installed")
    assert told() == "pytorch is not installed\n"


def test_without_a_job_there_is_no_report() -> None:
    assert told(gang=None) == "the environment has no training job\n"
