"""Training reports, small and valid enough to be listed, and a bucket in memory that has them."""

import io
import json
from typing import Any

from botocore.exceptions import ClientError


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
