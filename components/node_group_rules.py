"""What a node group must be, so that it can be created and its pods find a place."""

import re
from collections.abc import Mapping, Sequence
from typing import Final

from components import gpu
from components.instance_types import INSTANCE_TYPES

CPU_AMI_TYPES: Final = ("AL2023_x86_64_STANDARD", "BOTTLEROCKET_x86_64")
GPU_AMI_TYPES: Final = ("AL2023_x86_64_NVIDIA",)
CAPACITY_TYPES: Final = ("ON_DEMAND", "SPOT")
VERSION_PATTERN: Final = re.compile(r"^1\.\d{2}$")
LONGEST_LABEL: Final = 63
LABEL_KEY: Final = re.compile(
    r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?", re.ASCII
)
LABEL_VALUE: Final = re.compile(r"([A-Za-z0-9]([-\w.]*[A-Za-z0-9])?)?", re.ASCII)
"""Syntax of labels (Kubernetes documentation, labels and selectors)."""


def gpu_node_labels(instance_types: Sequence[str], extra: Mapping[str, str]) -> dict[str, str]:
    """Labels of GPU nodes: role, accelerator, and the facts that feature discovery would find.

    Discovery does not run, so its label names are used here; selectors stay the same with it.
    """
    instance = INSTANCE_TYPES[instance_types[0]]
    ours = {
        gpu.NODE_ROLE_LABEL: gpu.GPU_NODE_ROLE,
        gpu.GPU_PRESENT_LABEL: "true",
        gpu.ACCELERATOR_LABEL: instance.accelerator,
        "nvidia.com/gpu.count": str(instance.gpus),
        "nvidia.com/gpu.memory": str(instance.gpu_memory_mib),
        "nvidia.com/gpu.product": instance.gpu_model.replace(" ", "-"),
    }
    check_extra_labels(extra, ours)
    return {**extra, **ours}


def check(
    *,
    ami_type: str,
    capacity_type: str,
    instance_types: Sequence[str],
    labels: Mapping[str, str],
    max_size: int,
    min_size: int,
    taints: Sequence[gpu.Taint],
    version: str | None,
) -> None:
    """Raise ValueError with one sentence for the first rule that is broken."""
    if capacity_type not in CAPACITY_TYPES:
        allowed = ", ".join(CAPACITY_TYPES)
        refuse(f"capacity_type is {capacity_type!r}; allowed: {allowed}")
    if version is not None and not VERSION_PATTERN.match(version):
        refuse(f"version is {version!r}; write major.minor in quotes, for example '1.35'")
    _check_sizes(min_size, max_size)
    _check_instance_types(instance_types)
    gpus = INSTANCE_TYPES[instance_types[0]].gpus
    _check_ami(ami_type, instance_types, gpus)
    _check_taints(taints)
    role = labels.get(gpu.NODE_ROLE_LABEL)
    if role == gpu.SYSTEM_NODE_ROLE:
        _check_system(capacity_type, min_size, taints, gpus)
    elif role == gpu.GPU_NODE_ROLE:
        _check_gpu(labels, taints, gpus)
    else:
        refuse(
            f"labels have {gpu.NODE_ROLE_LABEL}={role!r}; allowed: {gpu.SYSTEM_NODE_ROLE}, "
            f"{gpu.GPU_NODE_ROLE}"
        )


def refuse(problem: str) -> None:
    """Raise the one kind of error that arguments raise."""
    raise ValueError(problem)


def check_extra_labels(extra: Mapping[str, str], ours: Mapping[str, str]) -> None:
    """Refuse labels that would overwrite ours, that a kubelet may not set, or that are too long."""
    taken = sorted(set(extra) & set(ours))
    if taken:
        refuse(f"extra labels set {', '.join(taken)}, which follow from the instance type")
    for key, value in extra.items():
        if not LABEL_KEY.fullmatch(key):
            refuse(
                f"extra label {key!r} is no label key; letters, digits, - _ . with an optional "
                "domain/ before"
            )
        domain = key.rpartition("/")[0]
        if re.search(r"(^|\.)(kubernetes|k8s)\.io$", domain):
            refuse(f"extra label {key}: a kubelet may not set labels under {domain}; choose a name")
        if len(value) > LONGEST_LABEL:
            refuse(f"extra label {key} has {len(value)} characters; allowed: {LONGEST_LABEL}")
        if not LABEL_VALUE.fullmatch(value):
            refuse(f"extra label {key} is {value!r}; allowed: letters, digits, - _ . inside")


def _check_sizes(min_size: int, max_size: int) -> None:
    if min_size < 0 or max_size < 1 or min_size > max_size:
        refuse(
            f"min_size is {min_size} and max_size {max_size}; allowed: 0 <= min_size <= max_size, "
            "and max_size at least 1"
        )


def _check_instance_types(instance_types: Sequence[str]) -> None:
    unknown = sorted(set(instance_types) - set(INSTANCE_TYPES))
    if unknown or not instance_types:
        given, known = ", ".join(unknown) or "nothing", ", ".join(INSTANCE_TYPES)
        refuse(f"instance_types has {given}; choose from {known}")
    kinds = {(INSTANCE_TYPES[name].gpus, INSTANCE_TYPES[name].gpu_model) for name in instance_types}
    if len(kinds) > 1:
        refuse(
            f"instance_types {', '.join(instance_types)} differ in GPUs; the autoscaler pictures "
            "every node of a group alike, so list types with one GPU model and count"
        )


def _check_ami(ami_type: str, instance_types: Sequence[str], gpus: int) -> None:
    allowed = GPU_AMI_TYPES if gpus else CPU_AMI_TYPES
    if ami_type in allowed:
        return
    choice = ", ".join(allowed)
    if ami_type.startswith("AL2_"):
        refuse(f"ami_type is {ami_type}, whose images ended on 2025-11-26; use {choice}")
    if ami_type.startswith("BOTTLEROCKET") and ami_type.endswith("NVIDIA"):
        refuse(f"ami_type is {ami_type}, which brings its own device plugin; use {choice}")
    what = "needs the NVIDIA driver" if gpus else "has no GPU"
    refuse(f"ami_type is {ami_type}, but {instance_types[0]} {what}; use {choice}")


def _check_taints(taints: Sequence[gpu.Taint]) -> None:
    pairs = [(taint.key, taint.effect) for taint in taints]
    for key, effect in pairs:
        if pairs.count((key, effect)) > 1:
            refuse(f"taints have {key} with {effect} twice; each key and effect once")


def _check_system(
    capacity_type: str, min_size: int, taints: Sequence[gpu.Taint], gpus: int
) -> None:
    if min_size < 1:
        refuse(
            f"min_size is {min_size} for system nodes; allowed: 1 or more, or CoreDNS, Volcano "
            "and the autoscaler have nowhere to run"
        )
    if taints:
        keys = ", ".join(taint.key for taint in taints)
        refuse(f"taints has {keys} for system nodes; allowed: none, or system pods stay Pending")
    if capacity_type != "ON_DEMAND":
        refuse(
            f"capacity_type is {capacity_type} for system nodes; allowed: ON_DEMAND, or the "
            "scheduler goes with the first interruption"
        )
    if gpus:
        refuse("instance_types has GPU types for system nodes; list CPU types such as t3.medium")


def _check_gpu(labels: Mapping[str, str], taints: Sequence[gpu.Taint], gpus: int) -> None:
    if not gpus:
        refuse("instance_types has no GPU for GPU nodes; list types such as g4dn.xlarge")
    if gpu.GPU_TAINT not in taints:
        refuse(
            f"taints of GPU nodes lack {gpu.GPU_RESOURCE}={gpu.GPU_TAINT.value}:"
            f"{gpu.GPU_TAINT.effect}, which keeps other pods off; use gpu_node_taints"
        )
    if labels.get(gpu.GPU_PRESENT_LABEL) != "true":
        refuse(
            f"labels of GPU nodes lack {gpu.GPU_PRESENT_LABEL}=true, by which the device plugin "
            "finds them; use gpu_node_labels"
        )
