import json
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from infra.errors import GangwayError
from infra.rehearsal import processes
from infra.rehearsal.control_plane_files import service_proxy_socket
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.nodes import NodeReconciler
from infra.rehearsal.pods import launch, probes, stand_in
from infra.rehearsal.pods.launch import Surroundings
from infra.rehearsal.pods.runner import PodRunner
from infra.rehearsal.pods.service_proxy import ServiceProxy
from infra.rehearsal.processes import ProcessRecord
from infra.rehearsal.state import StateFolder, write_atomically
from infra.waiting import wait_until
from tests.support.rehearsal import DEFAULT, FakeInstance, built_tools, pod, wait_for_phase

pytestmark = pytest.mark.enable_socket

NODE = FakeInstance(id="i-kubelet")
KUBECTL = "registry.k8s.io/kubectl:v1.35.4"


@pytest.fixture(scope="module")
def node(api: KubernetesApi) -> Iterator[str]:
    reconciler = NodeReconciler(api)
    reconciler.reconcile([NODE])
    yield NODE.private_dns_name
    reconciler.reconcile([])


@pytest.fixture(scope="module")
def runner(cluster: StateFolder, api: KubernetesApi, node: str) -> Iterator[PodRunner]:
    tools = built_tools(["kubectl", "vc-scheduler", "vc-webhook-manager"])
    kubernetes = cluster.section("kubernetes")
    surroundings = Surroundings(
        rehearsal=cluster.path,
        tools=tools,
        endpoint=kubernetes["endpoint"],
        ca_pem_base64=kubernetes["ca_pem_base64"],
        aws_endpoint=None,
        credentials=lambda _: {},
    )
    runner = PodRunner(cluster, api, surroundings)
    stopping = threading.Event()

    def follow() -> None:
        while not stopping.is_set():
            try:
                runner.follow()
            except GangwayError:
                stopping.wait(0.2)

    threading.Thread(target=follow, daemon=True).start()
    yield runner
    stopping.set()
    runner.stop()
    assert list((cluster.path / "pods").iterdir()) == []


def _kubectl(api: KubernetesApi, name: str, node: str, *words: str, **spec: object) -> None:
    container = {"image": KUBECTL, "args": list(words)}
    api.create(f"{DEFAULT}/pods", pod(name, node=node, container=container, **spec))


def _log(cluster: StateFolder, name: str) -> str:
    (log,) = (cluster.path / "logs" / "pods").glob(f"default_{name}_*/c.log")
    return log.read_text(encoding="utf-8")


def _allow(api: KubernetesApi, account: str, resource: str) -> None:
    rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/default"
    rules = [{"apiGroups": [""], "resources": [resource], "verbs": ["get", "list"]}]
    api.create(f"{DEFAULT}/serviceaccounts", {"metadata": {"name": account}})
    api.create(f"{rbac}/roles", {"metadata": {"name": account}, "rules": rules})
    binding = {
        "metadata": {"name": account},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": account},
        "subjects": [{"kind": "ServiceAccount", "name": account, "namespace": "default"}],
    }
    api.create(f"{rbac}/rolebindings", binding)


def test_a_pod_runs_with_its_own_accounts_rights_only(
    cluster: StateFolder, api: KubernetesApi, node: str, runner: PodRunner
) -> None:
    _allow(api, "reader", "services")
    account = {"serviceAccountName": "reader"}
    _kubectl(api, "may", node, "get", "services", "-o", "name", **account)
    status = wait_for_phase(api, "may", "Succeeded")
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 0
    assert "service/kubernetes" in _log(cluster, "may")
    _kubectl(api, "may-not", node, "get", "nodes", **account)
    wait_for_phase(api, "may-not", "Failed")
    assert 'User "system:serviceaccount:default:reader" cannot list' in _log(cluster, "may-not")


def test_a_pod_waits_for_its_config_map_and_reads_it(
    cluster: StateFolder, api: KubernetesApi, node: str, runner: PodRunner
) -> None:
    mount = {"name": "files", "mountPath": "/gate"}
    container = {
        "image": KUBECTL,
        "args": ["create", "--dry-run=client", "-o", "name", "-f", "/gate/map.json"],
        "volumeMounts": [mount],
    }
    volume = {"name": "files", "configMap": {"name": "late"}}
    api.create(f"{DEFAULT}/pods", pod("reads", node=node, container=container, volumes=[volume]))

    def waits() -> bool:
        states = api.get(f"{DEFAULT}/pods/reads")["status"].get("containerStatuses", [])
        return any("late" in str(item["state"].get("waiting")) for item in states)

    wait_until(waits, what="the pod's complaint", deadline_seconds=10)
    content = '{"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "x"}}'
    data = {"metadata": {"name": "late"}, "data": {"map.json": content}}
    api.create(f"{DEFAULT}/configmaps", data)
    wait_for_phase(api, "reads", "Succeeded")
    assert "configmap/x" in _log(cluster, "reads")


def test_a_container_that_fails_is_started_again_until_it_succeeds(
    api: KubernetesApi, node: str, runner: PodRunner
) -> None:
    _kubectl(
        api,
        "again",
        node,
        "get",
        "--raw",
        "/api/v1/namespaces/default/secrets/none",
        restartPolicy="OnFailure",
    )

    def restarts() -> int:
        states = api.get(f"{DEFAULT}/pods/again")["status"].get("containerStatuses", [])
        return sum(item["restartCount"] for item in states)

    wait_until(lambda: restarts() >= 2, what="two restarts", deadline_seconds=30)
    (state,) = api.get(f"{DEFAULT}/pods/again")["status"]["containerStatuses"]
    assert state["lastState"]["terminated"]["exitCode"] == 1
    api.delete(f"{DEFAULT}/pods/again")
    wait_until(
        lambda: api.find(f"{DEFAULT}/pods/again") is None, what="its end", deadline_seconds=10
    )


def test_a_deleted_pods_process_ends_before_the_pod(
    cluster: StateFolder, api: KubernetesApi, node: str, runner: PodRunner
) -> None:
    _kubectl(api, "watches", node, "proxy", "--port=0")
    wait_for_phase(api, "watches", "Running")
    before = {record.pid for record in processes.belonging_to(cluster.path)}
    api.delete(f"{DEFAULT}/pods/watches")
    wait_until(
        lambda: api.find(f"{DEFAULT}/pods/watches") is None, what="its end", deadline_seconds=20
    )
    after = {record.pid for record in processes.belonging_to(cluster.path)}
    assert len(before - after) == 1


def test_a_training_pod_without_its_framework_is_stood_in_for(
    cluster: StateFolder,
    api: KubernetesApi,
    node: str,
    runner: PodRunner,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(launch, "_interpreter", lambda framework: None)
    container = {
        "image": "pytorch:1",
        "command": ["python", "-m", "trainer"],
        "env": [{"name": "GANGWAY_FRAMEWORK", "value": "pytorch"}],
    }
    api.create(f"{DEFAULT}/pods", pod("trains", node=node, container=container))
    wait_for_phase(api, "trains", "Succeeded", stand_in.SECONDS + 30)
    assert "pytorch is not on this machine" in _log(cluster, "trains")


def test_a_service_without_ready_pods_leads_nowhere(
    cluster: StateFolder, api: KubernetesApi, node: str, runner: PodRunner
) -> None:
    proxy = ServiceProxy(api, runner.backend, service_proxy_socket(cluster))
    proxy.start()
    try:
        assert proxy.resolve("10.255.255.255", 443) is None
        service = {
            "metadata": {"name": "hooks"},
            "spec": {"selector": {"app": "hooks"}, "ports": [{"port": 443, "targetPort": 8443}]},
        }
        address = api.create(f"{DEFAULT}/services", service)["spec"]["clusterIP"]
        assert proxy.resolve(address, 443) is None
    finally:
        proxy.stop()
    assert not service_proxy_socket(cluster).exists()


def test_a_killed_supervisors_processes_are_ended_by_the_next(
    tmp_path: Path, api: KubernetesApi
) -> None:
    state = StateFolder(tmp_path)
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    left = processes.start("left", command, log=tmp_path / "log")
    record = ProcessRecord.of("left", left.pid)
    assert record is not None
    write_atomically(state.path / "pods/u/processes.json", json.dumps([record.to_json()]))
    surroundings = Surroundings(
        rehearsal=tmp_path,
        tools={},
        endpoint="https://127.0.0.1:1",
        ca_pem_base64="",
        aws_endpoint=None,
        credentials=lambda _: {},
    )
    PodRunner(state, api, surroundings).clear_leftovers()
    assert not record.is_alive
    assert list((tmp_path / "pods").iterdir()) == []


def test_a_probe_asks_the_local_port(tmp_path: Path) -> None:
    assert not probes.holds({"tcpSocket": {"port": 1}}, {1: 1}, {})
    assert not probes.holds({"httpGet": {"port": 1, "path": "/"}}, {1: 1}, {})
    assert probes.holds({"exec": {"command": ["true"]}}, {}, {"PATH": "/usr/bin:/bin"})
    assert not probes.holds({"exec": {"command": ["false"]}}, {}, {"PATH": "/usr/bin:/bin"})
    assert not probes.holds({"exec": {"command": [str(tmp_path / "none")]}}, {}, {})
