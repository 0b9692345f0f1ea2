"""A complete environment of a training pod, as the job's manifest and Volcano give it."""

import json

from trainer.environment import Environment, read_environment

ROLE_ARN = "arn:aws:iam::123456789012:role/gangway/trainer"


def variables(**changes: str | None) -> dict[str, str]:
    """The variables of rank 0 of 2, with changes; None takes one away."""
    cluster = {"worker": ["w0.job:2222", "w1.job:2222"]}
    values: dict[str, str | None] = {
        "AWS_REGION": "us-east-1",
        "GANGWAY_BATCH_SIZE_PER_WORKER": "256",
        "GANGWAY_CHECKPOINT_INTERVAL_STEPS": "50",
        "GANGWAY_EPOCHS": "5",
        "GANGWAY_EXPECTED_ROLE_ARN": ROLE_ARN,
        "GANGWAY_FRAMEWORK": "pytorch",
        "GANGWAY_MAX_RETRY": "3",
        "GANGWAY_MIXED_PRECISION": "false",
        "GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS": "5",
        "GANGWAY_RESULTS_BUCKET": "results",
        "GANGWAY_RESULTS_PREFIX": "logs/",
        "GANGWAY_SEED": "1",
        "JOB_NAME": "gang-train",
        "JOB_VERSION": "0",
        "LIMIT_CPU_MILLICORES": "2000",
        "LIMIT_GPUS": "1",
        "LIMIT_MEMORY_BYTES": "4294967296",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "23456",
        "NODE_NAME": "ip-10-0-0-1.ec2.internal",
        "POD_GROUP_NAME": "gang-train-7a1c0d5e-uid",
        "POD_IP": "10.0.0.7",
        "POD_NAME": "gang-train-master-0",
        "POD_NAMESPACE": "training",
        "POD_UID": "pod-uid",
        "QUEUE_NAME": "ml-queue",
        "RANK": "0",
        "SERVICE_ACCOUNT_NAME": "trainer",
        "TASK_NAME": "master",
        "TF_CONFIG": json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}}),
        "WORLD_SIZE": "2",
        **changes,
    }
    return {name: value for name, value in values.items() if value is not None}


def environment(**changes: str | None) -> Environment:
    """The typed environment of `variables`."""
    return read_environment(variables(**changes))
