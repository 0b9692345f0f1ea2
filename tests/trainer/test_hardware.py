from pathlib import Path
from typing import Any

import pytest

from tests.support.pod_environment import environment
from trainer import hardware


class NodeApi(hardware.Cluster):
    """An API server that holds some objects."""

    def __init__(self, objects: dict[str, Any]) -> None:
        super().__init__(environment().kubernetes)
        self.objects = objects

    def get(self, path: str) -> dict[str, Any] | None:
        return self.objects.get(path)


NODE = {
    "metadata": {
        "labels": {
            "eks.amazonaws.com/capacityType": "SPOT",
            "node.kubernetes.io/instance-type": "g4dn.xlarge",
            "topology.kubernetes.io/region": "us-east-1",
            "topology.kubernetes.io/zone": "us-east-1b",
        }
    },
    "spec": {"providerID": "aws:///us-east-1b/i-0abc"},
}


def test_a_gpu_line_is_read_field_by_field() -> None:
    line = "0, Tesla T4, 7.5, 580.159.03, 15360, 412, 37, 44"
    assert hardware.parse_gpu(line) == {
        "index": 0,
        "name": "Tesla T4",
        "compute_capability": "7.5",
        "driver_version": "580.159.03",
        "memory_total_mb": 15360,
        "memory_used_mb": 412,
        "utilization_percent": 37,
        "temperature_celsius": 44,
    }


def test_a_gpu_field_that_is_not_known_is_absent() -> None:
    line = "0, Tesla T4, [N/A], 580.159.03, 15360, 412, [N/A], 44"
    found = hardware.parse_gpu(line)
    assert not {"utilization_percent", "compute_capability"} & found.keys()


def test_without_nvidia_smi_there_is_no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert hardware.read_gpus() == []


@pytest.mark.parametrize(("code", "count"), [(0, 2), (9, 0)], ids=["works", "has no driver"])
def test_nvidia_smi_is_asked(
    code: int, count: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / "nvidia-smi"
    line = "0, Tesla T4, 7.5, 580, 15360, 412, 37, 44"
    program.write_text(f'#!/bin/sh\necho "{line}"\necho "{line}"\nexit {code}\n')
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert len(hardware.read_gpus()) == count


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
    return root


def test_cgroup_v2_limits(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {"memory.max": "4294967296", "memory.peak": "1000", "cpu.max": "200000 100000"},
    )
    assert hardware.read_cgroup(root) == {
        "version": 2,
        "memory_limit_bytes": 4294967296,
        "memory_peak_bytes": 1000,
        "cpu_cores": 2.0,
    }


def test_cgroup_v1_limits(tmp_path: Path) -> None:
    root = write(
        tmp_path,
        {
            "memory/memory.limit_in_bytes": "4294967296",
            "memory/memory.max_usage_in_bytes": "1000",
            "cpu/cpu.cfs_quota_us": "150000",
            "cpu/cpu.cfs_period_us": "100000",
        },
    )
    assert hardware.read_cgroup(root) == {
        "version": 1,
        "memory_limit_bytes": 4294967296,
        "memory_peak_bytes": 1000,
        "cpu_cores": 1.5,
    }


@pytest.mark.parametrize(
    "files",
    [
        {"memory.max": "max", "memory.peak": "1000", "cpu.max": "max 100000"},
        {
            "memory/memory.limit_in_bytes": "9223372036854771712",
            "memory/memory.max_usage_in_bytes": "1000",
            "cpu/cpu.cfs_quota_us": "-1",
        },
    ],
    ids=["v2", "v1"],
)
def test_no_limit_is_absent_and_so_is_a_peak_that_is_not_the_pods(
    files: dict[str, str], tmp_path: Path
) -> None:
    assert hardware.read_cgroup(write(tmp_path, files)).keys() == {"version"}


def test_without_cgroups_nothing_is_known(tmp_path: Path) -> None:
    assert hardware.read_cgroup(tmp_path) == {}


def test_the_instance_is_read_from_its_node() -> None:
    cluster = NodeApi({"/api/v1/nodes/ip-10-0-0-1.ec2.internal": NODE})
    assert hardware.read_instance(environment().pod, cluster, allow_imds=False) == {
        "capacity_type": "spot",
        "instance_id": "i-0abc",
        "instance_type": "g4dn.xlarge",
        "region": "us-east-1",
        "zone": "us-east-1b",
    }


def test_without_its_node_the_pods_own_zone_is_all_that_is_known() -> None:
    pod = environment(ZONE="us-east-1a").pod
    assert hardware.read_instance(pod, NodeApi({}), allow_imds=False) == {"zone": "us-east-1a"}


def test_the_metadata_service_is_not_asked_unless_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(hardware, "read_imds", lambda: {"instance_id": "i-imds"})
    pod = environment().pod
    assert hardware.read_instance(pod, NodeApi({}), allow_imds=False) == {}
    assert hardware.read_instance(pod, NodeApi({}), allow_imds=True) == {"instance_id": "i-imds"}


def test_a_foreign_provider_id_is_no_instance() -> None:
    node = {**NODE, "spec": {"providerID": "kind://docker/kind/worker"}}
    assert "instance_id" not in hardware.node_facts(node)


def test_when_the_pod_was_bound_is_read_from_the_pod() -> None:
    conditions = [
        {"type": "Ready", "status": "True", "lastTransitionTime": "2026-11-30T10:00:09Z"},
        {"type": "PodScheduled", "status": "True", "lastTransitionTime": "2026-11-30T10:00:00Z"},
    ]
    path = "/api/v1/namespaces/training/pods/gang-train-master-0"
    cluster = NodeApi({path: {"status": {"conditions": conditions}}})
    assert hardware.scheduled_at(environment().pod, cluster) == "2026-11-30T10:00:00Z"
    assert hardware.scheduled_at(environment().pod, NodeApi({})) is None


def test_without_a_service_account_the_api_server_is_not_asked(tmp_path: Path) -> None:
    found = environment(
        KUBERNETES_SERVICE_HOST="10.100.0.1", GANGWAY_SERVICE_ACCOUNT_DIR=str(tmp_path)
    )
    assert hardware.Cluster(found.kubernetes).get("/api/v1/nodes/x") is None


def test_the_libraries_of_the_pod_are_known_by_version() -> None:
    found = hardware.read_versions()
    assert found["boto3"].count(".") == 2


def test_the_system_says_its_python() -> None:
    assert hardware.read_system()["python_version"].startswith("3.")
