import json
import math
from datetime import datetime, timedelta, timezone
from typing import Any

import pytest

from tests.support.pod_environment import environment
from tests.support.reports import AGREED, START, job_report, rank_report
from trainer import report
from trainer.exits import StorageError


def test_the_jobs_key_names_outcome_first_start_and_uid() -> None:
    key = report.job_key("logs/", job_report())
    assert key == "logs/volcano_training_success_20261130T100000Z_7a1c0d5e-uid.json"


def test_the_ranks_key_does_not_depend_on_the_attempt() -> None:
    assert report.rank_key(environment(RANK="1", JOB_VERSION="4")) == (
        "logs/ranks/7a1c0d5e-uid/rank-1.json"
    )


def test_a_document_is_the_same_bytes_again() -> None:
    assert report.encode(job_report()) == report.encode(json.loads(report.encode(job_report())))


def test_rejects_to_encode_what_does_not_fit_the_schema() -> None:
    with pytest.raises(StorageError, match=r"does not fit its schema: report has no gang"):
        report.encode({name: value for name, value in job_report().items() if name != "gang"})


def test_times_are_spelled_in_utc() -> None:
    local = datetime(2026, 11, 30, 15, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    assert report.utc(local) == "2026-11-30T10:00:00.000Z"


def test_results_say_how_much_of_what_could_be_learned_was() -> None:
    results = rank_report()["training_results"]
    assert results["learned_fraction"] == pytest.approx((2.01 - 0.02) / (2.01 - 0.01))
    assert results["loss_fell_by_factor"] == pytest.approx(100.5)


@pytest.mark.parametrize(
    ("first", "last", "best", "fraction"),
    [(2.0, 2.0, 1.0, 0.0), (2.0, 0.9, 1.0, 1.0), (2.0, 3.0, 1.0, -1.0), (2.0, 1.0, None, None)],
    ids=["nothing", "all", "worse", "unknown"],
)
def test_the_learned_fraction_runs_from_nothing_to_all(
    first: float, last: float, best: float | None, fraction: float | None
) -> None:
    assert report.learned_fraction(first, last, best) == fraction


def test_a_users_other_numbers_are_metrics() -> None:
    assert rank_report()["training_results"]["metrics"] == {"accuracy": 0.5}


def test_a_loss_that_json_cannot_hold_is_left_out() -> None:
    results = rank_report(result={"final_loss": math.nan, "initial_loss": math.inf})
    assert "final_loss" not in results["training_results"]
    report.encode(results)


def test_spot_is_priced_as_a_range_with_the_tables_date() -> None:
    cost = rank_report()["cost"]
    assert (cost["low"], cost["high"]) == (pytest.approx(0.0015), pytest.approx(0.003))
    assert cost["prices_date"] == "2026-11-30"
    assert cost["basis"] == "g4dn.xlarge spot, this attempt's time"


def test_on_demand_is_priced_exactly() -> None:
    aws = {**rank_report()["aws_metadata"], "capacity_type": "on-demand"}
    cost = rank_report(aws=aws)["cost"]
    assert cost["low"] == cost["high"] == pytest.approx(0.00526)


@pytest.mark.parametrize("missing", ["instance_type"])
def test_an_unknown_instance_has_no_cost(missing: str) -> None:
    aws = {name: v for name, v in rank_report()["aws_metadata"].items() if name != missing}
    assert "cost" not in rank_report(aws=aws)


def test_without_a_gpu_there_is_no_gpu_section() -> None:
    assert "gpu_info" not in rank_report(gpus=[])


def test_the_job_adds_up_its_ranks() -> None:
    document = job_report()
    assert document["gpu_seconds"] == 72.0
    assert document["throughput"] == {"samples": 2000, "samples_per_second": 200.0}
    assert document["cost"]["high"] == pytest.approx(0.006)


def test_the_cost_of_a_gang_is_unknown_when_one_rank_is() -> None:
    ranks = [rank_report(0), {n: v for n, v in rank_report(1).items() if n != "cost"}]
    assert "cost" not in report.join(ranks, AGREED, START)


def test_the_gang_shows_how_far_apart_its_ranks_started() -> None:
    gang = job_report()["gang"]
    assert gang["started_spread_ms"] == pytest.approx(100)
    assert gang["scheduled_spread_ms"] == 0
    assert gang["zones"] == ["us-east-1a"]


def test_a_spread_is_unknown_when_one_time_is() -> None:
    assert report.spread_ms(["2026-11-30T10:00:00Z", None]) is None


def failed(rank: int, code: int, reason: str) -> dict[str, Any]:
    return rank_report(rank, failure={"exit_code": code, "reason": reason})


def test_the_cause_of_a_failure_is_not_that_the_others_lost_the_rank() -> None:
    ranks = [failed(0, 75, "rank 1 is gone"), failed(1, 70, "the labels do not match")]
    document = report.join(ranks, AGREED, START)
    assert document["status"] == "failed"
    assert document["failure"] == {
        "exit_code": 70,
        "rank": 1,
        "reason": "the labels do not match",
    }
    assert report.job_key("logs/", document).startswith("logs/volcano_training_failed_")
    report.encode(document)


def test_a_failed_rank_keeps_its_last_loss() -> None:
    results = failed(0, 75, "x")["training_results"]
    assert (results["status"], results["last_loss"]) == ("failed", 0.012)
