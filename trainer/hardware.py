"""What the pod runs on: GPUs, cgroup limits, its node. What is not known is absent, not faked."""

import contextlib
import importlib.metadata
import json
import os
import platform
import shutil
import ssl
import subprocess
import urllib.request
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from trainer.environment import Kubernetes, Pod

Facts = dict[str, Any]

GPU_FIELDS: Final = {
    "index": "index",
    "name": "name",
    "compute_cap": "compute_capability",
    "driver_version": "driver_version",
    "memory.total": "memory_total_mb",
    "memory.used": "memory_used_mb",
    "utilization.gpu": "utilization_percent",
    "temperature.gpu": "temperature_celsius",
}
"""nvidia-smi's query field -> the report's name."""
GPU_TEXTS: Final = frozenset({"name", "compute_capability", "driver_version"})
ASK_SECONDS: Final = 5.0
CGROUP_ROOT: Final = Path("/sys/fs/cgroup")
UNLIMITED_V1: Final = 1 << 60
"""cgroup v1 writes a number near 2**63 for no limit."""
IMDS: Final = "http://169.254.169.254/latest"

INSTANCE_TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
REGION_LABEL: Final = "topology.kubernetes.io/region"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
CAPACITY_LABEL: Final = "eks.amazonaws.com/capacityType"


def read_gpus() -> list[Facts]:
    """Ask nvidia-smi for every GPU that the pod sees; an empty list when there is none."""
    program = shutil.which("nvidia-smi")
    if program is None:
        return []
    command = [program, f"--query-gpu={','.join(GPU_FIELDS)}", "--format=csv,noheader,nounits"]
    try:
        answer = subprocess.run(  # noqa: S603 - a fixed command
            command, capture_output=True, text=True, timeout=ASK_SECONDS, check=True
        )
    except (OSError, subprocess.SubprocessError):
        return []
    return [parse_gpu(line) for line in answer.stdout.splitlines() if line.strip()]


def parse_gpu(line: str) -> Facts:
    """Read one line of nvidia-smi; a field that it does not know is absent."""
    facts: Facts = {}
    for name, text in zip(GPU_FIELDS.values(), line.split(","), strict=False):
        value = text.strip()
        if name in GPU_TEXTS:
            if value and not value.startswith("["):
                facts[name] = value
        else:
            try:
                facts[name] = float(value) if "." in value else int(value)
            except ValueError:
                continue
    return facts


def read_cgroup(root: Path = CGROUP_ROOT) -> Facts:
    """Read the limits that the kernel enforces, from cgroup v2 or v1."""
    if (root / "cgroup.controllers").exists() or (root / "memory.max").exists():
        return _cgroup_v2(root)
    if (root / "memory" / "memory.limit_in_bytes").exists():
        return _cgroup_v1(root)
    return {}


def _cgroup_v2(root: Path) -> Facts:
    quota, _, period = (_text(root / "cpu.max") or "max").partition(" ")
    limit = _number(root / "memory.max")
    return _known(
        version=2,
        memory_limit_bytes=limit,
        memory_peak_bytes=_peak(limit, root / "memory.peak"),
        cpu_cores=_cores(quota, period),
    )


def _cgroup_v1(root: Path) -> Facts:
    memory = root / "memory"
    limit = _number(memory / "memory.limit_in_bytes")
    limit = limit if limit is not None and limit < UNLIMITED_V1 else None
    return _known(
        version=1,
        memory_limit_bytes=limit,
        memory_peak_bytes=_peak(limit, memory / "memory.max_usage_in_bytes"),
        cpu_cores=_cores(
            _text(root / "cpu" / "cpu.cfs_quota_us") or "-1",
            _text(root / "cpu" / "cpu.cfs_period_us") or "",
        ),
    )


def _peak(limit: int | None, path: Path) -> int | None:
    """Without a limit the group is not the pod's own, so its peak says nothing about the pod."""
    return _number(path) if limit is not None else None


def _cores(quota: str, period: str) -> float | None:
    if not quota.isdigit() or not period.isdigit() or int(period) == 0:
        return None
    return int(quota) / int(period)


def _text(path: Path) -> str | None:
    try:
        return path.read_text(encoding="utf-8").strip()
    except OSError:
        return None


def _number(path: Path) -> int | None:
    text = _text(path)
    return int(text) if text and text.isdigit() else None


def _known(**facts: Any) -> Facts:
    return {name: value for name, value in facts.items() if value is not None}


def read_system() -> Facts:
    """The machine and interpreter as the pod sees them."""
    return _known(
        architecture=platform.machine(),
        cpu_count=os.cpu_count(),
        kernel=platform.release(),
        operating_system=platform.system(),
        python_version=platform.python_version(),
    )


def read_versions() -> dict[str, str]:
    """The libraries that every pod uses; the training process adds its framework's."""
    found = {}
    for package in ("boto3", "numpy"):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            found[package] = importlib.metadata.version(package)
    return found


class Cluster:
    """The API server, asked only about the pod itself and its own node."""

    def __init__(self, kubernetes: Kubernetes) -> None:
        self.kubernetes = kubernetes

    def get(self, path: str) -> Facts | None:
        """Return the object at `path`, or None when it cannot be had."""
        folder = Path(self.kubernetes.service_account_dir)
        token = _text(folder / "token")
        if not self.kubernetes.host or not token:
            return None
        host = self.kubernetes.host
        host = f"[{host}]" if ":" in host else host
        request = urllib.request.Request(
            f"https://{host}:{self.kubernetes.port}{path}",
            headers={"Authorization": f"Bearer {token}", "Accept": "application/json"},
        )
        try:
            context = ssl.create_default_context(cafile=str(folder / "ca.crt"))
            with urllib.request.urlopen(  # noqa: S310 - always https
                request, timeout=ASK_SECONDS, context=context
            ) as answer:
                document = json.load(answer)
        except (OSError, ValueError):
            return None
        return document if isinstance(document, dict) else None


def read_instance(pod: Pod, cluster: Cluster, *, allow_imds: bool) -> Facts:
    """The instance under the pod: from its node object first, IMDSv2 only if allowed."""
    node = cluster.get(f"/api/v1/nodes/{pod.node}") or {}
    facts = node_facts(node)
    if pod.zone and "zone" not in facts:
        facts["zone"] = pod.zone
    if allow_imds and "instance_id" not in facts:
        facts = {**read_imds(), **facts}
    return facts


def node_facts(node: Mapping[str, Any]) -> Facts:
    """Read what EKS puts on a node: labels, and the instance in spec.providerID."""
    labels = node.get("metadata", {}).get("labels", {})
    provider = str(node.get("spec", {}).get("providerID", ""))
    instance = provider.rpartition("/")[2] if provider.startswith("aws:///") else ""
    return _known(
        capacity_type=capacity_type(labels.get(CAPACITY_LABEL)),
        instance_id=instance or None,
        instance_type=labels.get(INSTANCE_TYPE_LABEL),
        region=labels.get(REGION_LABEL),
        zone=labels.get(ZONE_LABEL),
    )


def capacity_type(label: str | None) -> str | None:
    """EKS's label value in the report's words."""
    return {"SPOT": "spot", "ON_DEMAND": "on-demand"}.get(label or "")


def scheduled_at(pod: Pod, cluster: Cluster) -> str | None:
    """When the pod was bound to its node, if the service account may read its own pod."""
    document = cluster.get(f"/api/v1/namespaces/{pod.namespace}/pods/{pod.name}") or {}
    for condition in document.get("status", {}).get("conditions", ()):
        if condition.get("type") == "PodScheduled" and condition.get("status") == "True":
            moment = condition.get("lastTransitionTime")
            return str(moment) if moment else None
    return None


def read_imds(base: str = IMDS) -> Facts:
    """Ask the instance metadata service, version 2 only; empty when it does not answer."""
    try:
        token = _http(f"{base}/api/token", "PUT", {"X-aws-ec2-metadata-token-ttl-seconds": "60"})
        identity = json.loads(
            _http(
                f"{base}/dynamic/instance-identity/document",
                "GET",
                {"X-aws-ec2-metadata-token": token},
            )
        )
    except (OSError, ValueError):
        return {}
    return _known(
        instance_id=identity.get("instanceId"),
        instance_type=identity.get("instanceType"),
        region=identity.get("region"),
        zone=identity.get("availabilityZone"),
    )


def _http(url: str, method: str, headers: Mapping[str, str]) -> str:
    request = urllib.request.Request(url, method=method, headers=dict(headers))  # noqa: S310
    with urllib.request.urlopen(request, timeout=ASK_SECONDS) as answer:  # noqa: S310 - IMDS
        text: str = answer.read().decode()
    return text
