"""What a node group must be."""

import re
from typing import Any

import pytest

from components import gpu, node_group_rules
from components.node_group import SYSTEM_NODE_LABELS, gpu_node_taints
from components.node_group_rules import gpu_node_labels

SYSTEM: dict[str, Any] = {
    "ami_type": "AL2023_x86_64_STANDARD",
    "capacity_type": "ON_DEMAND",
    "instance_types": ("t3.medium",),
    "labels": SYSTEM_NODE_LABELS,
    "max_size": 3,
    "min_size": 2,
    "taints": (),
    "version": None,
}
GPU: dict[str, Any] = {
    "ami_type": "AL2023_x86_64_NVIDIA",
    "capacity_type": "SPOT",
    "instance_types": ("g4dn.xlarge", "g4dn.2xlarge"),
    "labels": gpu_node_labels(("g4dn.xlarge",), {}),
    "max_size": 4,
    "min_size": 0,
    "taints": gpu_node_taints(()),
    "version": "1.35",
}
TEAM = gpu.Taint(key="team", value="a", effect="NoSchedule")
ACCEPTED = {
    "system": SYSTEM,
    "system-bottlerocket": SYSTEM | {"ami_type": "BOTTLEROCKET_x86_64"},
    "system-of-two-types": SYSTEM | {"instance_types": ("t3.medium", "m6i.large")},
    "gpu": GPU,
    "gpu-on-demand": GPU | {"capacity_type": "ON_DEMAND"},
    "gpu-never-empty": GPU | {"min_size": 4},
    "gpu-with-another-taint": GPU | {"taints": gpu_node_taints([TEAM])},
}
REFUSED = {
    "capacity": (GPU | {"capacity_type": "spot"}, "capacity_type is 'spot'; allowed: ON_DEMAND"),
    "version-with-v": (GPU | {"version": "v1.35"}, "version is 'v1.35'; write major.minor"),
    "version-with-patch": (GPU | {"version": "1.35.1"}, "version is '1.35.1'; write"),
    "version-cut-by-yaml": (GPU | {"version": "1.3"}, "version is '1.3'; write"),
    "min-negative": (GPU | {"min_size": -1}, "min_size is -1 and max_size 4; allowed: 0 <="),
    "max-zero": (GPU | {"max_size": 0}, "min_size is 0 and max_size 0; allowed"),
    "min-over-max": (GPU | {"min_size": 5}, "min_size is 5 and max_size 4; allowed"),
    "no-type": (GPU | {"instance_types": ()}, "instance_types has nothing; choose from"),
    "unknown-type": (
        GPU | {"instance_types": ("p9.large",)},
        "instance_types has p9.large; choose from g4dn.xlarge",
    ),
    "gpu-counts-differ": (
        GPU | {"instance_types": ("g4dn.xlarge", "g4dn.12xlarge")},
        "instance_types g4dn.xlarge, g4dn.12xlarge differ in GPUs",
    ),
    "gpu-models-differ": (
        GPU | {"instance_types": ("g4dn.xlarge", "g5.xlarge")},
        "instance_types g4dn.xlarge, g5.xlarge differ in GPUs",
    ),
    "al2-gpu": (
        GPU | {"ami_type": "AL2_x86_64_GPU"},
        "whose images ended on 2025-11-26; use AL2023_x86_64_NVIDIA",
    ),
    "al2-cpu": (
        SYSTEM | {"ami_type": "AL2_x86_64"},
        "whose images ended on 2025-11-26; use AL2023_x86_64_STANDARD, BOTTLEROCKET_x86_64",
    ),
    "gpu-without-driver": (
        GPU | {"ami_type": "AL2023_x86_64_STANDARD"},
        "g4dn.xlarge needs the NVIDIA driver; use AL2023_x86_64_NVIDIA",
    ),
    "driver-without-gpu": (
        SYSTEM | {"ami_type": "AL2023_x86_64_NVIDIA"},
        "t3.medium has no GPU; use AL2023_x86_64_STANDARD",
    ),
    "bottlerocket-gpu": (
        GPU | {"ami_type": "BOTTLEROCKET_x86_64_NVIDIA"},
        "which brings its own device plugin; use AL2023_x86_64_NVIDIA",
    ),
    "arm": (GPU | {"ami_type": "AL2023_ARM_64_NVIDIA"}, "ami_type is AL2023_ARM_64_NVIDIA, but"),
    "taint-twice": (
        GPU | {"taints": (gpu.GPU_TAINT, gpu.GPU_TAINT)},
        "taints have nvidia.com/gpu with NoSchedule twice",
    ),
    "no-role": (GPU | {"labels": {}}, "labels have gangway.dev/node-role=None; allowed: system"),
    "system-empty": (SYSTEM | {"min_size": 0}, "min_size is 0 for system nodes; allowed: 1 or"),
    "system-tainted": (
        SYSTEM | {"taints": (TEAM,)},
        "taints has team for system nodes; allowed: none",
    ),
    "system-spot": (SYSTEM | {"capacity_type": "SPOT"}, "capacity_type is SPOT for system nodes"),
    "system-with-gpu": (
        GPU
        | {"labels": SYSTEM_NODE_LABELS, "taints": (), "min_size": 1}
        | {"capacity_type": "ON_DEMAND"},
        "instance_types has GPU types for system nodes; list CPU types",
    ),
    "gpu-without-gpu": (
        SYSTEM | {"labels": GPU["labels"]},
        "instance_types has no GPU for GPU nodes; list types such as g4dn.xlarge",
    ),
    "gpu-untainted": (
        GPU | {"taints": (TEAM,)},
        "taints of GPU nodes lack nvidia.com/gpu=present:NoSchedule",
    ),
    "gpu-unlabelled": (
        GPU | {"labels": {gpu.NODE_ROLE_LABEL: gpu.GPU_NODE_ROLE}},
        "labels of GPU nodes lack nvidia.com/gpu.present=true",
    ),
}
OURS = GPU["labels"]
REFUSED_LABELS = {
    "ours": ({"nvidia.com/gpu.count": "8"}, "extra labels set nvidia.com/gpu.count, which follow"),
    "kubernetes": ({"node.kubernetes.io/x": "1"}, "a kubelet may not set labels under node.kube"),
    "bare-kubernetes": ({"kubernetes.io/x": "1"}, "may not set labels under kubernetes.io"),
    "k8s": ({"cluster.k8s.io/x": "1"}, "may not set labels under cluster.k8s.io"),
    "long": ({"team": "a" * 64}, "extra label team has 64 characters; allowed: 63"),
}


@pytest.mark.parametrize("fields", ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(fields: dict[str, Any]) -> None:
    assert node_group_rules.check(**fields) is None


@pytest.mark.parametrize(("fields", "message"), REFUSED.values(), ids=REFUSED)
def test_rejects(fields: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        node_group_rules.check(**fields)


@pytest.mark.parametrize(("extra", "message"), REFUSED_LABELS.values(), ids=REFUSED_LABELS)
def test_rejects_an_extra_label(extra: dict[str, str], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        node_group_rules.check_extra_labels(extra, OURS)


@pytest.mark.parametrize("key", ["team", "example.com/team", "notkubernetes.io/team"])
def test_accepts_a_label_of_ones_own(key: str) -> None:
    assert node_group_rules.check_extra_labels({key: "a" * 63}, OURS) is None
