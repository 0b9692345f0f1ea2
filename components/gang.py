"""How Volcano runs a gang: tasks, plugins, policies, and which changes make it another gang."""

import hashlib
import json
from collections.abc import Mapping
from typing import Any, Final

MASTER_TASK: Final = "master"
WORKER_TASK: Final = "worker"
PYTORCH_PORT: Final = 23456
TENSORFLOW_PORT: Final = 2222

HOPELESS_EXIT_CODE: Final = 78
"""The trainer's answer to wrong configuration or identity: a restart would meet it again."""

TASK_MAX_RETRY: Final = 3
"""Volcano's own default (its job webhook). Without restarts by the kubelet it is never reached."""

IMMUTABLE_ANNOTATION: Final = "gangway.dev/immutable-spec"
MUTABLE_IN_JOB: Final = frozenset({"minAvailable", "priorityClassName"})
MUTABLE_IN_TASK: Final = frozenset({"minAvailable", "replicas"})
"""All that Volcano 1.15 lets an update change (its job webhook)."""


def plugins(framework: str) -> dict[str, list[str]]:
    """`svc` gives the pods names to meet by; the framework's plugin gives each its rank."""
    if framework == "tensorflow":
        flags = [f"--worker={WORKER_TASK}", f"--port={TENSORFLOW_PORT}"]
    else:
        flags = [f"--master={MASTER_TASK}", f"--worker={WORKER_TASK}", f"--port={PYTORCH_PORT}"]
    return {framework: flags, "svc": []}


def policies(pending_deadline_minutes: int) -> list[dict[str, Any]]:
    """When the gang restarts or gives up; the first that matches counts.

    The exit code stands before `PodFailed`, which every failed pod matches. A pod that stays
    Pending (no node, no image) ends the job and frees the GPUs of its peers.
    """
    return [
        {"action": "AbortJob", "exitCode": HOPELESS_EXIT_CODE},
        {"action": "RestartJob", "event": "PodEvicted"},
        {"action": "RestartJob", "event": "PodFailed"},
        {"action": "AbortJob", "event": "PodPending", "timeout": f"{pending_deadline_minutes}m0s"},
    ]


def replicas(framework: str, workers: int) -> dict[str, int]:
    """Task name -> pods. PyTorch's rank 0 is a task of its own, as Volcano's plugin wants it."""
    if framework == "tensorflow":
        return {WORKER_TASK: workers}
    return {MASTER_TASK: 1} | ({WORKER_TASK: workers - 1} if workers > 1 else {})


def digest(content: Any) -> str:
    """Ten hexadecimal digits that are the same for the same content."""
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:10]


def immutable_digest(spec: Mapping[str, Any]) -> str:
    """Changes exactly when the change is one that Volcano refuses to make in place."""
    kept = {key: value for key, value in spec.items() if key not in MUTABLE_IN_JOB}
    tasks = [
        {key: value for key, value in task.items() if key not in MUTABLE_IN_TASK}
        for task in spec["tasks"]
    ]
    return digest(kept | {"tasks": tasks})
