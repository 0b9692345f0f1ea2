"""A small valid gang with some values replaced, for tests of one thing at a time."""

from typing import Any

from components import gpu
from components.training_environment import TrainingEnvironment
from components.training_job import TrainingJobArgs
from components.training_pod import WorkerArgs

ROLE_ARN = "arn:aws:iam::111122223333:role/trainer"
TEAM_TAINT = gpu.Taint(key="team", value="ml", effect="NoExecute")


def worker(**changes: Any) -> WorkerArgs:
    values: dict[str, Any] = {
        "cpu": "2",
        "gpus": 1,
        "image": "public.ecr.aws/example/pytorch:2.12",
        "instance_types": ("g4dn.xlarge", "g4dn.2xlarge"),
        "memory": "4Gi",
        "shared_memory": "1Gi",
        "taints": (gpu.GPU_TAINT,),
    }
    return WorkerArgs(**values | changes)


def environment(**changes: Any) -> TrainingEnvironment:
    values: dict[str, Any] = {
        "batch_size_per_worker": 256,
        "checkpoint_interval_steps": 50,
        "epochs": 5,
        "expected_role_arn": ROLE_ARN,
        "framework": "pytorch",
        "mixed_precision": False,
        "region": "us-east-1",
        "rendezvous_timeout_seconds": 300,
        "results_bucket": "results-1",
        "results_prefix": "logs/",
        "seed": 1,
    }
    return TrainingEnvironment(**values | changes)


def job(**changes: Any) -> TrainingJobArgs:
    values: dict[str, Any] = {
        "environment": environment(),
        "max_retry": 10,
        "name": "gang-train",
        "namespace": "training",
        "pending_deadline_minutes": 60,
        "queue": "ml-queue",
        "scripts": {"__main__.py": "print(1)", "model.py": "width = 8"},
        "service_account": "trainer",
        "worker": worker(),
        "workers": 2,
    }
    return TrainingJobArgs(**values | changes)
