"""The recorded gang fits its queue, its nodes and its fleet, and is all or nothing."""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any

from components import gpu, quantities
from infra.preview.checks.verdict import Check, Finding, fine, refused
from infra.preview.checks.walk import (
    NODE_GROUP,
    VOLCANO_JOB,
    VOLCANO_QUEUE,
    task_pods,
    title,
)
from infra.preview.recording import RecordedResource, Recording
from stacks import capacity
from stacks.settings import Settings

Amounts = dict[str, Decimal]


def find(recording: Recording, settings: Settings | None) -> Iterator[Finding]:
    """Refusals about each recorded job; the arithmetic when it fits."""
    queues = {
        str(queue.inputs.get("metadata", {}).get("name")): queue
        for queue in recording.of_type(VOLCANO_QUEUE)
    }
    for job in recording.of_type(VOLCANO_JOB):
        found = [
            *_gang_size(job),
            *_queue(job, queues),
            *_taints(job, recording),
        ]
        yield from found
        if not found:
            yield fine(_sum(job, settings))


def wanted(job: RecordedResource) -> Amounts:
    """What all replicas of all tasks ask for together."""
    total: Amounts = defaultdict(Decimal)
    for task, pod in task_pods(job):
        for container in pod.get("containers") or []:
            resources: Mapping[str, Any] = container.get("resources") or {}
            asked = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
            for name, amount in asked.items():
                total[name] += quantities.amount(str(amount)) * int(task.get("replicas", 1))
    return dict(total)


def _replicas(job: RecordedResource) -> int:
    return sum(int(task.get("replicas", 1)) for task, _ in task_pods(job))


def _gang_size(job: RecordedResource) -> Iterator[Finding]:
    least, replicas = job.inputs.get("spec", {}).get("minAvailable"), _replicas(job)
    if least != replicas:
        yield refused(
            f"{title(job)}: minAvailable is {least}, but its tasks have {replicas} replicas; "
            "they must be equal, or part of the gang starts alone or none of it ever"
        )
    if job.inputs.get("spec", {}).get("schedulerName") != "volcano":
        yield refused(
            f"{title(job)}: schedulerName is not volcano, so the pods are placed one by one"
        )


def _queue(job: RecordedResource, queues: Mapping[str, RecordedResource]) -> Iterator[Finding]:
    name = str(job.inputs.get("spec", {}).get("queue"))
    if name not in queues:
        known = ", ".join(sorted(queues)) or "none"
        yield refused(f"{title(job)}: queue is {name!r}; declared queues: {known}")
        return
    capability = queues[name].inputs.get("spec", {}).get("capability") or {}
    asked = wanted(job)
    unnamed = sorted(set(asked) - set(capability))
    if capability and unnamed:
        yield refused(
            f"{title(job)} asks for {', '.join(unnamed)}, which the capability of queue {name!r} "
            "does not name; a resource left out counts as 0 there"
        )
    for resource in sorted(set(asked) & set(capability)):
        limit = quantities.amount(str(capability[resource]))
        if asked[resource] > limit:
            yield refused(
                f"{title(job)} asks for {_number(asked[resource], resource)} {resource} in all, "
                f"but queue {name!r} has {_number(limit, resource)}"
            )


def _taints(job: RecordedResource, recording: Recording) -> Iterator[Finding]:
    """Every taint of every GPU node group is tolerated by every task."""
    by_eks = {eks: kubernetes for kubernetes, eks in gpu.EKS_TAINT_EFFECTS.items()}
    taints = {
        (str(taint.get("key")), by_eks.get(taint.get("effect"), str(taint.get("effect"))))
        for group in recording.of_type(NODE_GROUP)
        for taint in group.inputs.get("taints") or []
    }
    for task, pod in task_pods(job):
        for key, effect in sorted(taints):
            if not any(
                item.get("key") in (key, None) and item.get("effect") in (effect, None)
                for item in pod.get("tolerations") or []
            ):
                yield refused(
                    f"{title(job)}, task {task.get('name')}: does not tolerate the taint "
                    f"{key}:{effect} of the GPU nodes, so it would wait for ever"
                )


def _sum(job: RecordedResource, settings: Settings | None) -> str:
    amounts = wanted(job)
    asks = ", ".join(f"{_number(amounts[name], name)} {name}" for name in sorted(amounts))
    sentence = f"{title(job)} starts {_replicas(job)} pods or none; together {asks}"
    if settings is None:
        return sentence
    zones = len(capacity.gpu_zone_ids(settings))
    nodes = settings.gpu_nodes.max_size_per_zone
    return (
        f"{sentence}; a zone reaches {nodes * capacity.gpus_per_node(settings)} GPUs "
        f"({nodes} nodes), the fleet {zones * nodes * capacity.gpus_per_node(settings)}"
    )


def _number(amount: Decimal, resource: str) -> str:
    if resource == "memory":
        return f"{(amount / 2**30).normalize():f}Gi"
    return f"{amount.normalize():f}"


CHECK = Check(
    name="gang",
    claim="no gang is declared",
    find=find,
)
