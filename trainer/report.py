"""The report: one document per rank, joined into one per job. Building is pure, keys are stable.

A rerun of a finished rank writes the same bytes under the same key: the timestamp in the key is
that of the job's first start, which rank 0 keeps beside the checkpoints.
"""

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from trainer import schema
from trainer.environment import Environment
from trainer.exits import ExitCode, StorageError

Document = dict[str, Any]

SCHEMA_VERSION: Final = 1
SECONDS_PER_HOUR: Final = 3600
RESULT_FIELDS: Final = (
    "backend",
    "device",
    "final_loss",
    "first_step",
    "initial_loss",
    "steps",
)
"""What a training function may return for the report's own fields."""
OTHER_FIELDS: Final = ("curve", "data", "samples", "training_seconds", "versions")


@dataclass(slots=True)
class Record:
    """What a rank learned about its run, filled in as it goes."""

    started_at: datetime
    attempt: int = 1
    aws: Document = field(default_factory=dict)
    checkpoints: Document = field(default_factory=lambda: {"written": [], "skipped": []})
    cgroup: Document = field(default_factory=dict)
    curve: list[Document] = field(default_factory=list)
    duration_seconds: float = 0.0
    failure: Document | None = None
    gpus: list[Document] = field(default_factory=list)
    result: Document = field(default_factory=dict)
    samples: int = 0
    system: Document = field(default_factory=dict)
    training_seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)


def utc(moment: datetime) -> str:
    """Spell a moment in UTC, to the millisecond."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def rank_key(environment: Environment) -> str:
    """Where this rank's document goes."""
    folder = f"{environment.destination.prefix}ranks/{environment.job.uid}"
    return f"{folder}/rank-{environment.world.rank}.json"


def job_key(prefix: str, document: Mapping[str, Any]) -> str:
    """Where the job's document goes: outcome, first start in UTC, uid."""
    moment = datetime.fromisoformat(document["started_at"]).astimezone(UTC)
    stamp = moment.strftime("%Y%m%dT%H%M%SZ")
    return f"{prefix}volcano_training_{document['status']}_{stamp}_{document['run_id']}.json"


def encode(document: Mapping[str, Any]) -> bytes:
    """Check a document against the schema and give its bytes; nothing unchecked is uploaded."""
    wrong = schema.problems(document, schema.load_schema())
    if wrong:
        message = "the report does not fit its schema: " + "; ".join(wrong[:5])
        raise StorageError(message)
    return json.dumps(document, indent=1, sort_keys=True, allow_nan=False).encode() + b"\n"


def rank_document(environment: Environment, record: Record, finished_at: datetime) -> Document:
    """Build this rank's document."""
    pod = environment.pod
    failed = record.failure is not None
    gpu_seconds = environment.limits.gpus * record.duration_seconds
    return known(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": "rank",
            "run_id": environment.job.uid,
            "rank": environment.world.rank,
            "status": "failed" if failed else "success",
            "started_at": utc(record.started_at),
            "finished_at": utc(finished_at),
            "job": job_section(environment, record.attempt),
            "kubernetes_info": {
                "namespace": pod.namespace,
                "node": pod.node,
                "pod": pod.name,
                "pod_ip": pod.ip,
                "pod_uid": pod.uid,
                "service_account": pod.service_account,
            },
            "aws_metadata": record.aws,
            "gpu_info": {"devices": record.gpus} if record.gpus else None,
            "resource_limits": known(
                {
                    "cgroup": record.cgroup or None,
                    "cpu_millicores": environment.limits.cpu_millicores,
                    "gpus": environment.limits.gpus,
                    "memory_bytes": environment.limits.memory_bytes,
                }
            ),
            "system_info": record.system,
            "versions": record.versions or None,
            "data": record.result.get("data") or {"seed": environment.training.seed},
            "training_results": training_results(environment, record),
            "loss_curve": record.curve or None,
            "throughput": throughput(record.samples, record.training_seconds),
            "gpu_seconds": gpu_seconds,
            "cost": cost(environment.prices, record.aws, record.duration_seconds),
            "checkpoints": record.checkpoints,
            "failure": record.failure,
        }
    )


def job_section(environment: Environment, attempt: int) -> Document:
    """Describe the job."""
    return {
        "attempt": attempt,
        "framework": environment.training.framework,
        "max_retry": environment.job.max_retry,
        "name": environment.job.name,
        "namespace": environment.pod.namespace,
        "queue": environment.job.queue,
        "task": environment.job.task,
        "uid": environment.job.uid,
        "version": environment.job.version,
        "world_size": environment.world.size,
    }


def training_results(environment: Environment, record: Record) -> Document:
    """What was learned, in numbers that name their yardstick."""
    result = record.result
    section = {name: finite(result.get(name)) for name in RESULT_FIELDS}
    first, last = section["initial_loss"], section["final_loss"]
    best = result.get("data", {}).get("best_loss")
    extra = {
        name: finite(value)
        for name, value in result.items()
        if name not in (*RESULT_FIELDS, *OTHER_FIELDS) and isinstance(value, int | float | str)
    }
    return known(
        {
            **section,
            "duration_seconds": record.duration_seconds,
            "epochs": environment.training.epochs,
            "last_loss": record.curve[-1]["loss"] if record.curve else None,
            "learned_fraction": learned_fraction(first, last, best),
            "loss_fell_by_factor": first / last if first and last and last > 0 else None,
            "metrics": known(extra) or None,
            "mixed_precision": environment.training.mixed_precision,
            "status": "failed" if record.failure else "success",
        }
    )


def learned_fraction(first: float | None, last: float | None, best: float | None) -> float | None:
    """How much of what could be learned was: 0 is nothing, 1 is the best possible loss."""
    if first is None or last is None or best is None or first <= best:
        return None
    return min((first - last) / (first - best), 1.0)


def throughput(samples: int, seconds: float) -> Document | None:
    """Samples and samples a second, when something was trained."""
    if samples <= 0 or seconds <= 0:
        return None
    return {"samples": samples, "samples_per_second": samples / seconds}


def cost(
    prices: Mapping[str, Any] | None, aws: Mapping[str, Any], seconds: float
) -> Document | None:
    """Price the instance's time by the dated table; absent when type or price is not known."""
    table = (prices or {}).get("usd_per_hour", {}).get(aws.get("instance_type"), {})
    spot = aws.get("capacity_type") == "spot"
    low = table.get("spot_low" if spot else "on_demand")
    high = table.get("spot_high" if spot else "on_demand")
    date = (prices or {}).get("date")
    if low is None or high is None or date is None:
        return None
    hours = seconds / SECONDS_PER_HOUR
    return {
        "basis": f"{aws['instance_type']} {'spot' if spot else 'on-demand'}, this attempt's time",
        "currency": "USD",
        "high": high * hours,
        "low": low * hours,
        "prices_date": date,
    }


def join(ranks: Sequence[Document], start: Mapping[str, Any], finished_at: datetime) -> Document:
    """Join the ranks' documents into the job's; `start` is what all ranks agreed on."""
    first = ranks[0]
    failures = [{**rank["failure"], "rank": rank["rank"]} for rank in ranks if "failure" in rank]
    return known(
        {
            **{
                name: first.get(name)
                for name in ("checkpoints", "data", "job", "loss_curve", "run_id", "versions")
            },
            "schema_version": SCHEMA_VERSION,
            "kind": "job",
            "status": "failed" if failures else "success",
            "started_at": start["first_started_at"],
            "finished_at": utc(finished_at),
            "gang": gang(start["hellos"]),
            "training_results": first.get("training_results"),
            "throughput": _joined_throughput(ranks),
            "gpu_seconds": sum(rank.get("gpu_seconds", 0.0) for rank in ranks),
            "cost": _joined_cost(ranks, len(start["hellos"])),
            "failure": root_cause(failures),
            "ranks": list(ranks),
        }
    )


def root_cause(failures: Sequence[Document]) -> Document | None:
    """Of several failures, the one that is not about having lost another rank."""
    own = [one for one in failures if one["exit_code"] != ExitCode.PEER_LOST]
    return next(iter(own or failures), None)


def gang(hellos: Sequence[Mapping[str, Any]]) -> Document:
    """When and where every rank started, and how far apart."""
    fields = ("rank", "pod", "node", "zone", "capacity_type", "scheduled_at", "started_at")
    return known(
        {
            "ranks": [known({name: hello.get(name) for name in fields}) for hello in hellos],
            "scheduled_spread_ms": spread_ms([hello.get("scheduled_at") for hello in hellos]),
            "started_spread_ms": spread_ms([hello.get("started_at") for hello in hellos]),
            "zones": sorted({hello["zone"] for hello in hellos if hello.get("zone")}) or None,
        }
    )


def spread_ms(times: Sequence[str | None]) -> float | None:
    """Milliseconds between the first and the last, when every one is known."""
    known_times = [datetime.fromisoformat(time) for time in times if time]
    if not times or len(known_times) != len(times):
        return None
    return (max(known_times) - min(known_times)).total_seconds() * 1000


def _joined_throughput(ranks: Sequence[Document]) -> Document | None:
    parts = [rank["throughput"] for rank in ranks if "throughput" in rank]
    if not parts:
        return None
    return {name: sum(part[name] for part in parts) for name in parts[0]}


def _joined_cost(ranks: Sequence[Document], world: int) -> Document | None:
    parts = [rank["cost"] for rank in ranks if "cost" in rank]
    if len(parts) < world:
        return None
    bases = sorted({part["basis"] for part in parts})
    return {
        "basis": f"{len(parts)} instances: {'; '.join(bases)}",
        "currency": "USD",
        "high": sum(part["high"] for part in parts),
        "low": sum(part["low"] for part in parts),
        "prices_date": parts[0]["prices_date"],
    }


def known(section: Mapping[str, Any]) -> Document:
    """Leave out what is not known; nothing stands in for it."""
    return {name: value for name, value in section.items() if value is not None}


def finite(value: Any) -> Any:
    """Leave out a number that JSON cannot hold."""
    return None if isinstance(value, float) and not math.isfinite(value) else value
