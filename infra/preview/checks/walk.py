"""Ways through recorded data that several checks share."""

import re
from collections.abc import Iterator
from typing import Any

from infra.preview.recording import RecordedResource, Recording

RELEASE = "kubernetes:helm.sh/v3:Release"
VOLCANO_JOB = "kubernetes:batch.volcano.sh/v1alpha1:Job"
VOLCANO_QUEUE = "kubernetes:scheduling.volcano.sh/v1beta1:Queue"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def title(resource: RecordedResource) -> str:
    """How sentences name a resource: `aws.eks.NodeGroup "gpu-use1-az4"`."""
    return f'{short_type(resource.type)} "{resource.name}"'


def short_type(token: str) -> str:
    """`aws:eks/nodeGroup:NodeGroup` -> `aws.eks.NodeGroup`; ours and Kubernetes' keep the kind."""
    package, module, kind = token.split(":", 2)
    if package in ("gangway", "kubernetes"):
        return kind
    if package == "pulumi":
        return f"provider.{kind}"
    return f"{package}.{module.split('/')[0]}.{kind}" if package == "aws" else f"{package}.{kind}"


def strings(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Every string inside plain data with its path, keys in sorted order."""
    if isinstance(value, str):
        yield path, value
    elif isinstance(value, dict):
        for key in sorted(value):
            yield from strings(value[key], f"{path}.{key}" if path else str(key))
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from strings(item, f"{path}[{index}]")


def manifests(recording: Recording) -> Iterator[RecordedResource]:
    """Kubernetes objects, Helm releases left out."""
    for resource in recording:
        if resource.package == "kubernetes" and resource.type != RELEASE:
            yield resource


def task_pods(job: RecordedResource) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each task of a Volcano job with its pod's spec."""
    for task in job.inputs.get("spec", {}).get("tasks") or []:
        yield task, (task.get("template") or {}).get("spec") or {}


def one_line(text: str, limit: int = 160) -> str:
    """`text` on one line, cut when it is longer than `limit`."""
    flat = re.sub(r"\s+", " ", text).strip()
    return flat if len(flat) <= limit else flat[: limit - 1] + "…"
