"""The gate passes only when the webhooks answer, and may do nothing else."""

import json
from typing import Any

import pulumi
import pytest

from components import readiness_gate
from components.readiness_gate import ReadinessGateArgs
from components.versions import VOLCANO_CHART
from infra.preview import schemas
from tests.support import helm_charts
from tests.support.recorder import Recording, record

NAMESPACE = "volcano-system"


def args(**changes: Any) -> ReadinessGateArgs:
    values: dict[str, Any] = {
        "image": "registry.k8s.io/kubectl:v1.35.4",
        "namespace": NAMESPACE,
        "proof": {"version": "1.15.0"},
        "timeout_seconds": 300,
    }
    return ReadinessGateArgs(**values | changes)


class Parent(pulumi.ComponentResource):
    def __init__(self) -> None:
        super().__init__("gangway:tests:Parent", "parent")


@pytest.fixture(scope="module")
def recording() -> Recording:
    def program() -> None:
        readiness_gate.declare("gate", args(), pulumi.ResourceOptions(parent=Parent()))

    return record(program)


def container() -> dict[str, Any]:
    found: dict[str, Any] = readiness_gate.pod_spec(args())["containers"][0]
    return found


def test_gate_creates_a_queue_as_a_dry_run_on_the_server() -> None:
    assert container()["command"] == [
        "kubectl",
        "create",
        "--dry-run=server",
        "--request-timeout=20s",
        "--filename=/gate/queue.json",
    ]


def test_gate_tries_again_until_its_deadline() -> None:
    spec = readiness_gate.job_spec(args(timeout_seconds=120))
    assert spec["template"]["spec"]["restartPolicy"] == "OnFailure"
    assert spec["activeDeadlineSeconds"] == 120
    assert spec["backoffLimit"] == 30


def test_a_finished_gate_stays() -> None:
    assert "ttlSecondsAfterFinished" not in readiness_gate.job_spec(args())


def test_gate_runs_on_system_nodes() -> None:
    assert readiness_gate.pod_spec(args())["nodeSelector"] == {"gangway.dev/node-role": "system"}


def test_gate_runs_restricted() -> None:
    pod = readiness_gate.pod_spec(args())
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def test_gate_has_resources() -> None:
    assert container()["resources"] == {
        "limits": {"memory": "128Mi"},
        "requests": {"cpu": "10m", "memory": "32Mi"},
    }


def test_gate_reads_its_probe_from_the_config_map(recording: Recording) -> None:
    probe = recording.one("kubernetes:core/v1:ConfigMap").inputs
    assert json.loads(probe["data"]["queue.json"])["kind"] == "Queue"
    assert readiness_gate.pod_spec(args())["volumes"] == [
        {"configMap": {"name": probe["metadata"]["name"]}, "name": "gate"}
    ]
    assert container()["volumeMounts"][0]["readOnly"] is True


def test_gate_may_create_queues_and_nothing_else(recording: Recording) -> None:
    role = recording.one("kubernetes:rbac.authorization.k8s.io/v1:ClusterRole").inputs
    assert role["rules"] == [
        {"apiGroups": ["scheduling.volcano.sh"], "resources": ["queues"], "verbs": ["create"]}
    ]


def test_gates_permission_goes_to_its_own_account(recording: Recording) -> None:
    binding = recording.one("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding").inputs
    account = recording.one("kubernetes:core/v1:ServiceAccount").inputs["metadata"]
    assert binding["subjects"] == [{"kind": "ServiceAccount", **account}]
    assert readiness_gate.pod_spec(args())["serviceAccountName"] == account["name"]


@pytest.mark.parametrize("kind", ["core/v1:ServiceAccount", "core/v1:ConfigMap"])
def test_gate_waits_for_what_its_pod_needs(recording: Recording, kind: str) -> None:
    job = recording.one("kubernetes:batch/v1:Job")
    assert recording.one(f"kubernetes:{kind}").urn in job.depends_on


def test_gate_waits_for_its_permission(recording: Recording) -> None:
    job = recording.one("kubernetes:batch/v1:Job")
    binding = recording.one("kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding")
    assert binding.urn in job.depends_on


def test_engine_waits_longer_than_the_gate(recording: Recording) -> None:
    assert recording.one("kubernetes:batch/v1:Job").custom_timeouts["create"] == "360s"


@pytest.mark.parametrize(
    "changes",
    [{"proof": {"version": "1.15.1"}}, {"image": "registry.k8s.io/kubectl:v1.36.0"}],
    ids=["proof", "image"],
)
def test_a_changed_volcano_or_gate_is_proven_again(changes: dict[str, Any]) -> None:
    assert readiness_gate.job_name(args(**changes)) != readiness_gate.job_name(args())


def test_the_same_volcano_is_not_proven_again() -> None:
    assert readiness_gate.job_name(args()) == readiness_gate.job_name(args())


def test_probe_fits_the_crd_of_the_pinned_chart() -> None:
    known = schemas.chart_crd_schemas(helm_charts.chart_file(VOLCANO_CHART))
    schema = known["scheduling.volcano.sh/v1beta1:Queue"]
    assert schemas.problems(json.loads(readiness_gate.probe_text()), schema) == []
