"""The training job of a whole rehearsal: Volcano binds it, its pods train as real processes."""

import io
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from rich.console import Console
from typer.testing import CliRunner

from components.training_job import FEWEST_RETRIES
from infra.cli import application
from infra.rehearsal import driver, frameworks
from infra.rehearsal.driver import Rehearsal
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.rehearsal.training import tell_report
from stacks.prices import load_prices
from tests.support.rehearsal import built_tools
from tests.support.training_site import TrainingSite, by_rank
from trainer.data import LOSS_FACTOR
from trainer.schema import load_schema

LONGER = {"epochs": 12}
"""Long enough for a fault to come in the middle."""

GUIDE = Path(__file__).parents[3] / "docs" / "trainer.md"
TENSORFLOW = {
    "framework": "tensorflow",
    "image": "docker.io/tensorflow/tensorflow:2.21.0-gpu",
}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TrainingSite]:
    built_tools(CATALOGUE)
    if frameworks.interpreter("pytorch") is None:
        pytest.skip(frameworks.missing("pytorch"))
    root = tmp_path_factory.mktemp("rehearsals")
    rehearsal = Rehearsal("dev", Console(), name="training", root=root)
    try:
        rehearsal.up()
        yield TrainingSite(rehearsal)
    finally:
        rehearsal.down(force=True)


@pytest.fixture(scope="module")
def completed(site: TrainingSite) -> dict[str, Any]:
    """The report of the environment's own run, as `up` started it."""
    return site.finish(site.job()["metadata"]["uid"])


def test_the_default_task_is_learned(completed: dict[str, Any]) -> None:
    jsonschema.validate(completed, load_schema())
    assert completed["status"] == "success"
    assert completed["training_results"]["loss_fell_by_factor"] > LOSS_FACTOR
    assert len(completed["ranks"]) == completed["job"]["world_size"] == 2


def test_the_report_says_when_and_where_each_rank_was_scheduled(
    site: TrainingSite, completed: dict[str, Any]
) -> None:
    created = datetime.fromisoformat(site.job()["metadata"]["creationTimestamp"])
    for place, rank in by_rank(completed):
        node = site.node(place["node"])
        labels = node["metadata"]["labels"]
        aws = rank["aws_metadata"]
        assert created <= datetime.fromisoformat(place["scheduled_at"]) <= datetime.now(UTC)
        assert aws["instance_id"] == node["spec"]["providerID"].rpartition("/")[2]
        assert aws["instance_type"] == labels["node.kubernetes.io/instance-type"]
        assert aws["zone"] == place["zone"] == labels["topology.kubernetes.io/zone"]
        assert aws["capacity_type"] == place["capacity_type"] == "spot"
    assert completed["gang"]["scheduled_spread_ms"] >= 0
    assert completed["gang"]["started_spread_ms"] > 0


def test_the_report_is_written_as_the_service_accounts_own_role(
    site: TrainingSite, completed: dict[str, Any]
) -> None:
    role = site.world().pod_identity_role("training", "trainer")
    assert role
    names = {rank["aws_metadata"]["role"] for rank in completed["ranks"]}
    assert names == {role.rpartition("/")[2]}


def test_the_cost_is_that_of_the_price_file(completed: dict[str, Any]) -> None:
    prices = load_prices("us-east-1")
    (kind,) = {rank["aws_metadata"]["instance_type"] for rank in completed["ranks"]}
    hours = sum(rank["training_results"]["duration_seconds"] for rank in completed["ranks"]) / 3600
    low = prices.instances[kind].spot_low.usd
    assert completed["cost"]["low"] == pytest.approx(low * hours)
    assert completed["cost"]["prices_date"] == str(prices.date)


def test_results_lists_the_runs_of_a_rehearsal(
    site: TrainingSite, completed: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver, "Rehearsal", lambda *_, **__: site.rehearsal)
    words = ["results", "--rehearsal", site.rehearsal.state.name]
    answer = CliRunner().invoke(application(words), words)
    assert answer.exit_code == 0, answer.output
    assert completed["run_id"][:8] in answer.output
    assert "99.9 %" in answer.output


def test_the_report_is_told_when_the_run_is_over(
    site: TrainingSite, completed: dict[str, Any]
) -> None:
    console = Console(width=160, file=io.StringIO())
    tell_report(site.rehearsal, console)
    assert completed["run_id"][:8] in console.file.getvalue()  # type: ignore[attr-defined]


def test_a_killed_rank_restarts_the_gang_which_resumes(site: TrainingSite) -> None:
    uid = site.train(**LONGER, seed=2)
    step = site.wait_for_checkpoint(uid)
    site.kill(rank=1)
    document = site.finish(uid)
    assert document["job"]["attempt"] == 2
    assert document["checkpoints"]["resumed_from"]["step"] >= step > 0
    assert document["training_results"]["loss_fell_by_factor"] > LOSS_FACTOR


def test_a_spot_interruption_restarts_the_gang_on_another_node(site: TrainingSite) -> None:
    uid = site.train(**LONGER, seed=3)
    step = site.wait_for_checkpoint(uid)
    lost = site.interrupt(rank=1)
    document = site.finish(uid)
    assert lost not in {rank["node"] for rank in document["gang"]["ranks"]}
    assert document["job"]["attempt"] == 2
    assert document["checkpoints"]["resumed_from"]["step"] >= step > 0


def test_tensorflow_completes_by_setting(site: TrainingSite) -> None:
    if frameworks.interpreter("tensorflow") is None:
        pytest.skip(frameworks.missing("tensorflow"))
    document = site.finish(site.train(**TENSORFLOW))
    jsonschema.validate(document, load_schema())
    assert document["job"]["framework"] == "tensorflow"
    assert document["training_results"]["loss_fell_by_factor"] > LOSS_FACTOR
    assert len(document["ranks"]) == 2


def test_the_guides_own_script_trains_by_setting(site: TrainingSite, tmp_path: Path) -> None:
    example = GUIDE.read_text(encoding="utf-8").split("```python\n")[1].partition("```")[0]
    document = site.finish(site.train(scriptDirectory=scripts(tmp_path, example), seed=4))
    jsonschema.validate(document, load_schema())
    assert abs(document["training_results"]["metrics"]["bias"]) < 1e-2
    assert document["training_results"]["final_loss"] < 1e-4
    assert document["checkpoints"]["written"][-1]["step"] == 400


def scripts(folder: Path, text: str) -> str:
    (folder / "train.py").write_text(text, encoding="utf-8")
    return str(folder)


def test_the_last_retry_leaves_a_report_of_the_failure(site: TrainingSite, tmp_path: Path) -> None:
    broken = scripts(tmp_path, "def train(context):\n    raise ValueError('labels missing')\n")
    uid = site.train(scriptDirectory=broken, seed=5, job={"maxRetry": FEWEST_RETRIES})
    document = site.finish(uid, phase="Failed", status="failed")
    assert document["job"]["attempt"] == document["job"]["max_retry"] == FEWEST_RETRIES
    assert document["failure"]["reason"] == "ValueError: labels missing"


def test_what_no_restart_mends_aborts_the_job_at_once(site: TrainingSite, tmp_path: Path) -> None:
    uid = site.train(scriptDirectory=scripts(tmp_path, "def run(): ...\n"), seed=6)
    document = site.finish(uid, phase="Aborted", status="failed")
    assert document["job"]["attempt"] == 1
    assert "has no function train(context)" in document["failure"]["reason"]
