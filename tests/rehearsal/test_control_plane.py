import base64
import json
import signal
import socket
import ssl
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from infra.errors import GangwayError
from infra.rehearsal import control_plane, processes
from infra.rehearsal.control_plane_files import PORT_OPTIONS
from infra.rehearsal.kubernetes_api import MERGE, ApiError, KubernetesApi
from infra.rehearsal.ports import LOOPBACK, is_listening
from infra.rehearsal.state import StateFolder
from infra.waiting import wait_until
from tests.support.rehearsal import DEFAULT, pod, wait_for_phase

pytestmark = pytest.mark.enable_socket


@pytest.fixture
def own(tmp_path: Path, cluster_tools: Mapping[str, Path]) -> Iterator[StateFolder]:
    """A control plane of this test alone."""
    state = StateFolder.named("own", tmp_path)
    try:
        control_plane.up(state, cluster_tools)
        yield state
    finally:
        control_plane.down(state)


def test_the_state_says_how_to_reach_it(cluster: StateFolder) -> None:
    kubernetes = cluster.section("kubernetes")
    assert set(kubernetes) == {"endpoint", "ca_pem_base64", "token", "kubeconfig"}
    ssl.create_default_context(cadata=base64.b64decode(kubernetes["ca_pem_base64"]).decode())
    assert Path(kubernetes["kubeconfig"]).stat().st_mode & 0o077 == 0


def test_rejects_a_token_of_another_rehearsal(cluster: StateFolder) -> None:
    kubernetes = cluster.section("kubernetes")
    ca_pem = base64.b64decode(kubernetes["ca_pem_base64"]).decode()
    stranger = KubernetesApi(kubernetes["endpoint"], ca_pem, "another-token")
    with pytest.raises(ApiError, match="Unauthorized"):
        stranger.get("/api/v1/nodes")


def test_it_listens_on_loopback_only(cluster: StateFolder) -> None:
    port = cluster.section("ports")["kubeApiserverPort"]
    own_address = socket.gethostbyname(socket.gethostname())
    assert is_listening(port)
    if not own_address.startswith("127."):
        assert not is_listening(port, own_address)


def test_a_second_up_changes_nothing(
    cluster: StateFolder, cluster_tools: Mapping[str, Path]
) -> None:
    before = (cluster.document(), control_plane.records(cluster))
    control_plane.up(cluster, cluster_tools)
    assert (cluster.document(), control_plane.records(cluster)) == before


def test_bindings_are_in_the_audit_log_to_the_microsecond(
    cluster: StateFolder, api: KubernetesApi
) -> None:
    api.create(f"{DEFAULT}/pods", pod("audited"))
    binding = {"metadata": {"name": "audited"}, "target": {"kind": "Node", "name": "nowhere"}}
    api.create(f"{DEFAULT}/pods/audited/binding", binding)

    def event() -> dict | None:
        lines = control_plane.audit_log(cluster).read_text(encoding="utf-8").splitlines()
        events = [json.loads(line) for line in lines if '"binding"' in line and "audited" in line]
        return events[0] if events else None

    found = wait_until(event, what="the audit event", deadline_seconds=5)
    assert found["requestObject"]["target"]["name"] == "nowhere"
    assert len(found["stageTimestamp"].split(".")[1]) == len("123456Z")
    api.delete(f"{DEFAULT}/pods/audited", grace_seconds=0)


def _node(api: KubernetesApi, name: str) -> None:
    capacity = {"cpu": "4", "memory": "8Gi", "pods": "20"}
    api.create(
        "/api/v1/nodes",
        {
            "metadata": {"name": name},
            "status": {"capacity": capacity, "allocatable": capacity},
        },
    )


@pytest.fixture(scope="module")
def node(api: KubernetesApi) -> Iterator[str]:
    _node(api, "played")
    yield "played"
    api.delete("/api/v1/nodes/played")


@pytest.mark.parametrize(("code", "phase"), [("0", "Succeeded"), ("3", "Failed")])
def test_a_played_pod_ends_when_and_how_its_annotations_say(
    api: KubernetesApi, node: str, code: str, phase: str
) -> None:
    annotations = {"gangway.dev/run-seconds": "1", "gangway.dev/exit-code": code}
    name = f"ends-{code}"
    api.create(f"{DEFAULT}/pods", pod(name, node=node, annotations=annotations))
    wait_for_phase(api, name, "Running")
    status = wait_for_phase(api, name, phase)
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == int(code)


def test_a_played_pod_of_a_volcano_job_runs_until_it_is_told_otherwise(
    api: KubernetesApi, node: str
) -> None:
    owned = pod("gang-member", node=node)
    owner = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job", "name": "j", "uid": "u"}
    owned["metadata"]["ownerReferences"] = [owner]
    api.create(f"{DEFAULT}/pods", owned)
    wait_for_phase(api, "gang-member", "Running")
    api.create(
        f"{DEFAULT}/pods", pod("later", node=node, annotations={"gangway.dev/run-seconds": "1"})
    )
    wait_for_phase(api, "later", "Succeeded")
    assert api.get(f"{DEFAULT}/pods/gang-member")["status"]["phase"] == "Running"


def test_an_image_that_cannot_be_pulled_keeps_its_pod_pending(
    api: KubernetesApi, node: str
) -> None:
    annotations = {"gangway.dev/image-pull-backoff": "true"}
    api.create(f"{DEFAULT}/pods", pod("pull", node=node, annotations=annotations))

    def reason() -> bool:
        status = api.get(f"{DEFAULT}/pods/pull")["status"]
        states = [item["state"] for item in status.get("containerStatuses", [])]
        return [state.get("waiting", {}).get("reason") for state in states] == ["ImagePullBackOff"]

    wait_until(reason, what="ImagePullBackOff", deadline_seconds=20)


def test_a_node_goes_not_ready_by_annotation_and_back(api: KubernetesApi, node: str) -> None:
    def ready() -> str:
        conditions = api.get(f"/api/v1/nodes/{node}")["status"]["conditions"]
        return str(next(item["status"] for item in conditions if item["type"] == "Ready"))

    for value, wanted in (("true", "False"), (None, "True")):
        annotations = {"gangway.dev/not-ready": value}
        patch = {"metadata": {"annotations": annotations}}
        api.patch(f"/api/v1/nodes/{node}", patch, content_type=MERGE)
        wait_until(
            lambda wanted=wanted: ready() == wanted, what=f"Ready={wanted}", deadline_seconds=20
        )


def test_two_rehearsals_stand_side_by_side(cluster: StateFolder, own: StateFolder) -> None:
    here, there = (state.section("kubernetes") for state in (cluster, own))
    assert here["endpoint"] != there["endpoint"]
    assert here["token"] != there["token"]
    assert KubernetesApi.of(own).find("/api/v1/nodes/played") is None


def test_a_killed_component_is_started_again(
    own: StateFolder, cluster_tools: Mapping[str, Path]
) -> None:
    record = control_plane.records(own)["kube-scheduler"]
    processes.signal_group(record, signal.SIGKILL)
    wait_until(lambda: not record.is_alive, what="the kill", deadline_seconds=5)
    assert control_plane.heal(own, cluster_tools) == ["kube-scheduler"]
    assert all(control_plane.status(own).values())
    assert control_plane.heal(own, cluster_tools) == []


def test_rejects_a_port_that_another_program_took(
    own: StateFolder, cluster_tools: Mapping[str, Path]
) -> None:
    record = control_plane.records(own)["kube-scheduler"]
    processes.stop([record], grace_seconds=2)
    port = own.section("ports")["kubeSchedulerPort"]
    with socket.socket() as thief:
        thief.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        thief.bind((LOOPBACK, port))
        thief.listen()
        with pytest.raises(GangwayError, match=f"port {port} of kube-scheduler is taken"):
            control_plane.up(own, cluster_tools)


def test_down_leaves_no_process_port_or_file(
    tmp_path: Path, cluster_tools: Mapping[str, Path]
) -> None:
    state = StateFolder.named("gone", tmp_path)
    control_plane.up(state, cluster_tools)
    ports = [state.section("ports")[option] for option in PORT_OPTIONS]
    control_plane.down(state)
    assert processes.belonging_to(state.path) == []
    assert not any(is_listening(port) for port in ports)
    assert not (state.path / "kwok").exists()
