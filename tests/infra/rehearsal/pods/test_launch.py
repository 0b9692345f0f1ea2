import dataclasses
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from infra.errors import MissingToolError
from infra.rehearsal import ports
from infra.rehearsal.pods import launch
from infra.rehearsal.pods.launch import Surroundings, autoscaler_cloud_configuration, prepare
from infra.rehearsal.pods.volumes import PodVolumes
from infra.rehearsal.processes import MARK
from tests.infra.rehearsal.pods.test_variables import POD, SOURCES

TOOLS = ("vc-scheduler", "kubectl", "cluster-autoscaler")
SURROUNDINGS = Surroundings(
    rehearsal=Path("/state"),
    tools={
        name: Path("/tools") / name for name in ("vc-scheduler", "kubectl", "cluster-autoscaler")
    },
    endpoint="https://127.0.0.1:6443",
    ca_pem_base64="Q0E=",
    aws_endpoint="http://127.0.0.1:5000",
    credentials=lambda pod: {"AWS_CONTAINER_CREDENTIALS_FULL_URI": "http://127.0.0.1:1"},
)


def _prepare(
    tmp_path: Path, container: dict[str, Any], surroundings: Surroundings = SURROUNDINGS
) -> launch.Launch:
    container = {"name": "c", "image": "busybox", **container}
    pod = {**POD, "spec": {**POD["spec"], "containers": [container]}}
    volumes = PodVolumes(folder=tmp_path, pod=pod, sources=SOURCES, request_token=lambda _: "t")
    return prepare(container, pod, volumes, surroundings)


@pytest.fixture(autouse=True)
def _ports_are_free(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ports are numbers here: nothing listens, so none has to be tried."""
    monkeypatch.setattr(ports, "is_free", lambda port: True)


def test_a_program_gets_its_arguments_and_the_pods_own_kubeconfig(tmp_path: Path) -> None:
    container = {"image": "x/vc-scheduler:1", "args": ["--leader-elect=false"]}
    started = _prepare(tmp_path, container)
    assert started.command[:2] == ["/tools/vc-scheduler", "--leader-elect=false"]
    kubeconfig = Path(started.command[-1].removeprefix("--kubeconfig="))
    user = yaml.safe_load(kubeconfig.read_text())["users"][0]["user"]
    assert user["tokenFile"].endswith("root/var/run/secrets/kubernetes.io/serviceaccount/token")
    assert started.serving_port == started.ports[8080]


def test_a_command_names_the_program_itself(tmp_path: Path) -> None:
    container = {"image": "kubectl:1", "command": ["kubectl", "get", "$(NAME)"], "env": []}
    container["env"] = [{"name": "NAME", "value": "queues"}]
    assert _prepare(tmp_path, container).command == ["/tools/kubectl", "get", "queues"]


def test_a_process_carries_the_mark_and_its_roles_credentials(tmp_path: Path) -> None:
    environment = _prepare(tmp_path, {"image": "kubectl:1"}).environment
    assert environment[MARK] == "/state"
    assert environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] == "http://127.0.0.1:1"
    assert environment["KUBERNETES_SERVICE_HOST"] == "127.0.0.1"
    assert environment["KUBERNETES_SERVICE_PORT"] == "6443"


def test_this_machines_credentials_do_not_reach_a_pod(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "a-real-one")
    assert "AWS_ACCESS_KEY_ID" not in _prepare(tmp_path, {"image": "kubectl:1"}).environment


def test_the_autoscaler_calls_the_emulated_aws(tmp_path: Path) -> None:
    container = {
        "image": "cluster-autoscaler:1",
        "command": ["./cluster-autoscaler", "--v=4"],
        "env": [{"name": "AWS_REGION", "value": "eu-west-1"}],
    }
    command = _prepare(tmp_path, container).command
    assert command[:2] == ["/tools/cluster-autoscaler", "--v=4"]
    (flag,) = [word for word in command if word.startswith("--cloud-config=")]
    text = Path(flag.removeprefix("--cloud-config=")).read_text()
    assert text == autoscaler_cloud_configuration("http://127.0.0.1:5000", "eu-west-1")
    assert text.count("[ServiceOverride") == 4
    assert "SigningRegion=eu-west-1" in text


def test_the_certificate_hook_runs_in_the_scripts_place(tmp_path: Path) -> None:
    container = {
        "image": "vc-webhook-manager:1",
        "command": ["./gen-admission-secret.sh", "--service", "s"],
    }
    command = _prepare(tmp_path, container).command
    assert command[0] == sys.executable
    assert command[2:] == ["infra.rehearsal.pods.certificate_hook", "--service", "s"]


@pytest.mark.parametrize(
    ("interpreter", "command"),
    [
        (Path("/torch/python"), ["/torch/python", "-m", "trainer"]),
        (None, [sys.executable, "-m", "infra.rehearsal.pods.stand_in", "pytorch"]),
    ],
    ids=["with its framework", "without"],
)
def test_a_training_pod_runs_in_its_frameworks_interpreter(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    interpreter: Path | None,
    command: list[str],
) -> None:
    monkeypatch.setattr(launch, "_interpreter", lambda framework: interpreter)
    started = _prepare(tmp_path, {"command": ["python", "-m", "trainer"]})
    assert started.command == command
    assert started.environment["AWS_ENDPOINT_URL"] == "http://127.0.0.1:5000"


@pytest.mark.parametrize(
    ("container", "patient"),
    [
        ({"command": ["python", "-m", "trainer"]}, True),
        ({"image": "x/vc-scheduler:1"}, False),
        ({"image": "x/cluster-autoscaler:1"}, False),
    ],
    ids=["trainer", "scheduler", "autoscaler"],
)
def test_only_training_leaves_the_machine_to_the_rest(
    tmp_path: Path, container: dict[str, Any], patient: bool
) -> None:
    assert _prepare(tmp_path, container).is_patient is patient


def test_rejects_a_program_that_was_not_resolved(tmp_path: Path) -> None:
    with pytest.raises(MissingToolError, match="kubectl is missing"):
        _prepare(tmp_path, {"image": "kubectl:1"}, dataclasses.replace(SURROUNDINGS, tools={}))
