"""Reports with every section, as a run on GPUs would make them."""

from datetime import UTC, datetime, timedelta
from typing import Any

from tests.support.pod_environment import environment
from trainer import report

START = datetime(2026, 11, 30, 10, 0, 0, tzinfo=UTC)
PRICES = '{"date": "2026-11-30", "usd_per_hour": {"g4dn.xlarge": {"on_demand": 0.526, \
"spot_low": 0.15, "spot_high": 0.3}}}'
GPU = {
    "index": 0,
    "name": "Tesla T4",
    "compute_capability": "7.5",
    "driver_version": "580.159.03",
    "memory_total_mb": 15360,
    "memory_used_mb": 900,
    "temperature_celsius": 41,
    "utilization_percent": 63,
    "utilization_mean_percent": 31.5,
    "utilization_samples": 2,
}
HELLOS = [
    {
        "capacity_type": "spot",
        "node": f"ip-10-0-0-{rank}.ec2.internal",
        "pod": f"gang-train-worker-{rank}",
        "rank": rank,
        "scheduled_at": "2026-11-30T09:59:58Z",
        "started_at": f"2026-11-30T10:00:00.{rank}20Z",
        "zone": "us-east-1a",
    }
    for rank in (0, 1)
]
AGREED = {"first_started_at": "2026-11-30T10:00:00.000Z", "hellos": HELLOS}


def record(**changes: Any) -> report.Record:
    """What a rank that learned something knows."""
    checkpoint = {"key": "logs/checkpoints/gang-train/uid/step-0000000050.ckpt", "step": 50}
    values: dict[str, Any] = {
        "attempt": 2,
        "aws": {
            "account": "123456789012",
            "capacity_type": "spot",
            "instance_id": "i-0abc",
            "instance_type": "g4dn.xlarge",
            "region": "us-east-1",
            "role": "trainer",
            "zone": "us-east-1a",
        },
        "cgroup": {"version": 2, "memory_limit_bytes": 4294967296, "cpu_cores": 2.0},
        "checkpoints": {
            "resumed_from": checkpoint,
            "skipped": [{"key": "logs/x", "reason": "it holds 4 of 7 bytes"}],
            "written": [checkpoint],
        },
        "curve": [{"step": 1, "loss": 2.0}, {"step": 640, "loss": 0.012}],
        "duration_seconds": 36.0,
        "gpus": [GPU],
        "result": {
            "accuracy": 0.5,
            "backend": "nccl",
            "data": {"best_loss": 0.01, "seed": 1},
            "device": "Tesla T4",
            "final_loss": 0.02,
            "first_step": 50,
            "initial_loss": 2.01,
            "steps": 640,
        },
        "samples": 1000,
        "started_at": START,
        "system": {"python_version": "3.12.1", "cpu_count": 4},
        "training_seconds": 10.0,
        "versions": {"framework": "pytorch", "pytorch": "2.12.0"},
        **changes,
    }
    return report.Record(**values)


def rank_report(rank: int = 0, **changes: Any) -> dict[str, Any]:
    """One rank's document."""
    pod = environment(RANK=str(rank), GANGWAY_PRICES=PRICES)
    return report.rank_document(pod, record(**changes), START + timedelta(seconds=36))


def job_report() -> dict[str, Any]:
    """A whole job's document."""
    ranks = [rank_report(0), rank_report(1)]
    return report.join(ranks, AGREED, START + timedelta(seconds=37))
