import json
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner, Result

from infra.errors import GangwayError, MissingToolError
from infra.operate import results
from infra.rehearsal import driver
from infra.rehearsal.state import StateFolder
from tests.support.training_reports import Bucket, a_job

ONE = {"logs/volcano_training_success_1_a.json": a_job("a")}


@pytest.fixture
def invoke(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The command on a bucket in memory."""

    def run(bucket: Bucket, *words: str) -> Result:
        monkeypatch.setattr(results, "make_client", lambda _: bucket)
        app = typer.Typer()
        app.command()(results.results)
        return CliRunner().invoke(app, ["--bucket", "results", *words])

    return run


class Growing(Bucket):
    """Has one report more at every third look; the last look is interrupted by the user."""

    def __init__(self, looks: int) -> None:
        super().__init__()
        self.left = looks

    def paginate(self, Bucket: str, Prefix: str) -> list[dict[str, Any]]:  # noqa: N803
        if Prefix.endswith("volcano_training_"):
            self.left -= 1
            if self.left < 0:
                raise KeyboardInterrupt
            if self.left % 3 == 0:
                key = f"logs/volcano_training_success_1_run{self.left}.json"
                self.objects[key] = json.dumps(a_job(f"run{self.left}"))
        return super().paginate(Bucket, Prefix)


def test_the_command_lists_and_ends(invoke: Any) -> None:
    answer = invoke(Bucket(ONE))
    assert answer.exit_code == 0, answer.output
    assert "training/gang-train" in answer.stdout


def test_no_report_is_a_sentence(invoke: Any) -> None:
    answer = invoke(Bucket())
    assert (answer.exit_code, answer.stdout) == (0, "")
    assert answer.stderr == "no reports yet in s3://results/logs/\n"


def test_no_report_of_a_run_is_a_sentence(invoke: Any) -> None:
    answer = invoke(Bucket(ONE), "--run", "zz")
    assert answer.stderr == "no report of run 'zz' in s3://results/logs/\n"


def test_a_failure_is_shown_with_its_reason(invoke: Any) -> None:
    failed = {**a_job("a", "failed"), "failure": {"reason": "rank [1] is gone", "exit_code": 75}}
    answer = invoke(Bucket({"logs/volcano_training_failed_1_a.json": failed}))
    assert "a: rank [1] is gone" in answer.stdout


def test_json_lines_are_whole_documents(invoke: Any) -> None:
    assert json.loads(invoke(Bucket(ONE), "--json").stdout) == a_job("a")


def test_following_shows_each_new_report_once(invoke: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "FOLLOW_SECONDS", 0.0)
    answer = invoke(Growing(looks=8), "--follow", "--json")
    assert [json.loads(line)["run_id"] for line in answer.stdout.splitlines()] == [
        "run6",
        "run3",
        "run0",
    ]
    assert answer.stderr.count("waiting for one (Ctrl-C ends)") == 1


def test_rejects_to_guess_the_bucket_without_pulumi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="give --bucket"):
        results.bucket_of_stack("dev", {})


def test_the_stack_is_asked_for_the_bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    program = tmp_path / "pulumi"
    program.write_text('#!/bin/sh\necho "$3-of-$5"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert results.bucket_of_stack("prod", {}) == "resultsBucket-of-prod"


def test_rejects_a_stack_without_the_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    program = tmp_path / "pulumi"
    program.write_text("#!/bin/sh\nexit 255\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(GangwayError, match="stack 'dev' has no output 'resultsBucket'"):
        results.bucket_of_stack("dev", {})


def test_the_stack_of_a_rehearsal_is_asked_by_its_own_engine(tmp_path: Path) -> None:
    program = tmp_path / "pulumi"
    program.write_text('#!/bin/sh\necho "$PULUMI_BACKEND_URL"\n', encoding="utf-8")
    program.chmod(0o755)
    variables = {"PATH": f"{tmp_path}:/bin:/usr/bin", "PULUMI_BACKEND_URL": "file:///its-own"}
    assert results.bucket_of_stack("dev", variables) == "file:///its-own"


def test_a_rehearsals_client_asks_its_own_endpoint() -> None:
    client = results.make_client(
        {
            "AWS_ACCESS_KEY_ID": "rehearsal",
            "AWS_SECRET_ACCESS_KEY": "rehearsal",
            "AWS_ENDPOINT_URL": "http://127.0.0.1:5000",
            "AWS_REGION": "us-east-1",
        }
    )
    assert client.meta.endpoint_url == "http://127.0.0.1:5000"


@pytest.fixture
def rehearsals(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """Where rehearsals are looked for."""

    class Elsewhere(driver.Rehearsal):
        def __init__(self, *given: Any, **named: Any) -> None:
            super().__init__(*given, **named, root=tmp_path)

    monkeypatch.setattr(driver, "Rehearsal", Elsewhere)
    return tmp_path


def test_rejects_a_rehearsal_that_is_not_there(rehearsals: Path) -> None:
    with pytest.raises(GangwayError, match="no rehearsal t runs; `gangway rehearse up --env dev"):
        results.variables_of_rehearsal("dev", "t")


def test_rejects_a_rehearsal_whose_aws_was_never_started(rehearsals: Path) -> None:
    StateFolder.named("t", rehearsals).merge(kubernetes={"endpoint": "https://127.0.0.1:1"})
    with pytest.raises(GangwayError, match="no rehearsal t runs"):
        results.variables_of_rehearsal("dev", "t")
