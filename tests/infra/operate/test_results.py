import io
import json
from typing import Any

import pytest
import typer
from botocore.exceptions import ClientError, NoCredentialsError
from rich.console import Console
from typer.testing import CliRunner

from infra.errors import GangwayError, MissingToolError
from infra.operate import results


def a_rank(rank: int, run_id: str = "aaaa1111-x") -> dict[str, Any]:
    return {
        "kind": "rank",
        "run_id": run_id,
        "rank": rank,
        "status": "success",
        "started_at": f"2026-11-30T10:00:0{rank}.000Z",
        "finished_at": f"2026-11-30T10:01:0{rank}.000Z",
        "gpu_seconds": 60.0,
        "job": {
            "attempt": 1,
            "max_retry": 10,
            "name": "gang-train",
            "namespace": "training",
            "world_size": 2,
        },
        "training_results": {"final_loss": 0.0121, "learned_fraction": 0.998},
    }


def a_job(run_id: str, status: str = "success", started: str = "10") -> dict[str, Any]:
    return {
        **a_rank(0, run_id),
        "kind": "job",
        "status": status,
        "started_at": f"2026-11-30T{started}:00:00.000Z",
        "gang": {"started_spread_ms": 12.3},
        "throughput": {"samples": 10, "samples_per_second": 53419.7},
        "cost": {"low": 0.001, "high": 0.002},
        "ranks": [a_rank(0, run_id), a_rank(1, run_id)],
    }


class Bucket:
    """An S3 client that holds objects in memory, or fails each call."""

    def __init__(self, objects: dict[str, Any] | None = None, error: Exception | None = None):
        self.objects = {key: json.dumps(value) for key, value in (objects or {}).items()}
        self.error = error
        self.reads = 0

    def get_paginator(self, _: str) -> "Bucket":
        return self

    def paginate(self, Bucket: str, Prefix: str) -> list[dict[str, Any]]:  # noqa: N803
        if self.error:
            raise self.error
        found = [key for key in self.objects if key.startswith(Prefix)]
        return [{"Contents": [{"Key": key, "ETag": self.objects[key]} for key in found]}]

    def get_object(self, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self.reads += 1
        return {"Body": io.BytesIO(self.objects[Key].encode())}


def client_error(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, "ListObjectsV2")


def reports(bucket: Bucket) -> results.Reports:
    return results.Reports("results", "logs/", bucket)


def test_reports_are_listed_by_start() -> None:
    bucket = Bucket(
        {
            "logs/volcano_training_success_1_b.json": a_job("b", started="12"),
            "logs/volcano_training_success_1_a.json": a_job("a", started="09"),
            "logs/checkpoints/x/y.json": {"not": "a report"},
        }
    )
    assert [one["run_id"] for one in reports(bucket).read()] == ["a", "b"]


def test_a_success_replaces_the_failures_of_the_same_run() -> None:
    documents = [a_job("a", "failed"), a_job("a"), a_job("a", "failed")]
    assert [one["status"] for one in results.one_per_run(documents)] == ["success"]


def test_ranks_whose_job_document_did_not_come_are_joined() -> None:
    bucket = Bucket({f"logs/ranks/aaaa1111-x/rank-{rank}.json": a_rank(rank) for rank in (1, 0)})
    (found,) = reports(bucket).read()
    assert found["status"] == "2 of 2 ranks"
    assert [rank["rank"] for rank in found["ranks"]] == [0, 1]
    assert found["gpu_seconds"] == 120.0


def test_ranks_of_a_reported_job_are_not_listed_twice() -> None:
    bucket = Bucket(
        {
            "logs/volcano_training_success_1_a.json": a_job("a"),
            "logs/ranks/a/rank-0.json": a_rank(0, "a"),
        }
    )
    assert len(reports(bucket).read()) == 1


def test_one_run_can_be_asked_for_by_the_beginning_of_its_uid() -> None:
    bucket = Bucket(
        {
            "logs/volcano_training_success_1_abc.json": a_job("abc"),
            "logs/volcano_training_success_1_xyz.json": a_job("xyz"),
        }
    )
    assert [one["run_id"] for one in reports(bucket).read("ab")] == ["abc"]


def test_an_object_is_read_once() -> None:
    bucket = Bucket({"logs/volcano_training_success_1_a.json": a_job("a")})
    source = reports(bucket)
    source.read()
    source.read()
    assert bucket.reads == 1


def test_a_line_holds_the_figures_of_the_run() -> None:
    assert results.line(a_job("aaaa1111-x")) == [
        "aaaa1111",
        "training/gang-train",
        "success",
        "2026-11-30 10:00:00",
        "2/2",
        "1/10",
        "0.0121",
        "99.8 %",
        "53,420",
        "60",
        "0.0010-0.0020",
        "12",
    ]


def test_what_is_not_known_is_a_dash() -> None:
    bare = {"run_id": "a", "status": "failed", "ranks": []}
    assert results.line(bare)[6:] == ["-"] * 6


def shown(documents: list[dict[str, Any]], **options: Any) -> str:
    console = Console(width=200, file=io.StringIO())
    settings = {"run": None, "as_json": False, **options}
    results.show(console, documents, reports(Bucket()), **settings)
    text: str = console.file.getvalue()  # type: ignore[attr-defined]
    return text


def test_no_report_is_a_sentence() -> None:
    assert shown([]) == "no reports yet in s3://results/logs/\n"


def test_no_report_of_a_run_is_a_sentence() -> None:
    assert shown([], run="ab") == "no report of run 'ab' in s3://results/logs/\n"


def test_a_failure_is_shown_with_its_reason() -> None:
    failed = {**a_job("a", "failed"), "failure": {"reason": "rank 1 is gone", "exit_code": 75}}
    assert "a: rank 1 is gone" in shown([failed])


def test_json_lines_are_whole_documents() -> None:
    assert json.loads(shown([a_job("a")], as_json=True)) == a_job("a")


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (NoCredentialsError(), "no AWS credentials were found"),
        (client_error("ExpiredToken"), "not valid any more: log in again"),
        (client_error("NoSuchBucket"), "there is no bucket 'results'"),
        (client_error("AccessDenied"), "may not read s3://results/logs/"),
        (client_error("SlowDown"), "s3://results/logs/ could not be read: .*SlowDown"),
    ],
    ids=["no credentials", "expired", "no bucket", "refused", "other"],
)
def test_rejects_an_unreadable_bucket_in_one_sentence(error: Exception, sentence: str) -> None:
    with pytest.raises(GangwayError, match=sentence):
        reports(Bucket(error=error)).read()


def test_rejects_what_is_not_a_report() -> None:
    bucket = Bucket({"logs/volcano_training_success_1_a.json": ["nothing"]})
    with pytest.raises(GangwayError, match=r"_a\.json is not a report"):
        reports(bucket).read()


def test_rejects_a_prefix_without_its_slash() -> None:
    with pytest.raises(GangwayError, match="--prefix is 'logs'; it must end with /"):
        results.Reports("results", "logs", Bucket())


def test_rejects_to_guess_the_bucket_without_pulumi(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    with pytest.raises(MissingToolError, match="give --bucket"):
        results.bucket_of_stack("dev")


def test_the_stack_is_asked_for_the_bucket(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    program = tmp_path / "pulumi"
    program.write_text('#!/bin/sh\necho "$3-of-$5"\n', encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    assert results.bucket_of_stack("prod") == "resultsBucket-of-prod"


def test_rejects_a_stack_without_the_output(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    program = tmp_path / "pulumi"
    program.write_text("#!/bin/sh\nexit 255\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/bin:/usr/bin")
    with pytest.raises(GangwayError, match="stack 'dev' has no output 'resultsBucket'"):
        results.bucket_of_stack("dev")


def test_the_command_lists_and_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    bucket = Bucket({"logs/volcano_training_success_1_a.json": a_job("a")})
    monkeypatch.setattr(results, "make_client", lambda: bucket)
    app = typer.Typer()
    app.command()(results.results)
    answer = CliRunner().invoke(app, ["--bucket", "results"], env={"COLUMNS": "200"})
    assert answer.exit_code == 0, answer.output
    assert "training/gang-train" in answer.output
