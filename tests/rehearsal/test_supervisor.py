import os
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from infra.errors import GangwayError
from infra.rehearsal import control_plane, processes, supervisor
from infra.rehearsal.control_plane_files import service_proxy_socket
from infra.rehearsal.processes import ProcessRecord
from infra.rehearsal.state import StateFolder
from infra.waiting import wait_until

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def supervised(cluster: StateFolder, cluster_tools: Mapping[str, Path]) -> Iterator[StateFolder]:
    try:
        supervisor.ensure_running(cluster, cluster_tools)
        yield cluster
    finally:
        supervisor.stop(cluster)
    left = {record.pid for record in processes.belonging_to(cluster.path)}
    assert left == {record.pid for record in control_plane.records(cluster).values()}
    assert not service_proxy_socket(cluster).exists()


def _record(state: StateFolder, name: str) -> ProcessRecord:
    (fields,) = [item for item in state.document()["processes"] if item["name"] == name]
    return ProcessRecord.from_json(fields)


def test_it_outlives_a_kill_and_keeps_the_emulated_account(
    supervised: StateFolder, cluster_tools: Mapping[str, Path]
) -> None:
    first, moto = _record(supervised, "supervisor"), _record(supervised, "moto")
    supervisor.ensure_running(supervised, cluster_tools)
    assert _record(supervised, "supervisor") == first
    os.kill(first.pid, signal.SIGKILL)
    wait_until(lambda: not first.is_alive, what="the kill", deadline_seconds=5)
    assert not supervisor.is_running(supervised)
    supervisor.ensure_running(supervised, cluster_tools)
    assert supervisor.is_running(supervised)
    assert _record(supervised, "supervisor") != first
    assert _record(supervised, "moto") == moto
    assert supervised.section("moto")["endpoint"].startswith("http://127.0.0.1:")


def test_it_starts_a_killed_component_again(supervised: StateFolder) -> None:
    record = control_plane.records(supervised)["kube-scheduler"]
    os.kill(record.pid, signal.SIGKILL)
    wait_until(
        lambda: (
            (found := control_plane.records(supervised).get("kube-scheduler"))
            and found.pid != record.pid
        ),
        what="another scheduler",
        deadline_seconds=60,
    )


def test_rejects_a_rehearsal_without_a_control_plane(
    tmp_path: Path, cluster_tools: Mapping[str, Path]
) -> None:
    state = StateFolder.named("none", tmp_path)
    try:
        with pytest.raises(
            GangwayError, match=r"supervisor ended at its start: .*no control plane"
        ):
            supervisor.ensure_running(state, cluster_tools)
    finally:
        supervisor.stop(state)
    assert processes.belonging_to(state.path) == []
