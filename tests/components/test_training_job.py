"""The job: all or nothing, immutable, with what its pods need beside it."""

from dataclasses import fields
from typing import Any

import pulumi
import pulumi_kubernetes as k8s
import pytest

from components.training_job import (
    MOST_SCRIPT_BYTES,
    TrainingJob,
    TrainingJobArgs,
    config_map_name,
    job_spec,
)
from components.versions import VOLCANO_CHART
from infra.preview import schemas
from tests.support import helm_charts
from tests.support.recorder import RecordedResource, Recording, record
from tests.support.training import environment, job, worker

JOB = "kubernetes:batch.volcano.sh/v1alpha1:Job"
RBAC = "kubernetes:rbac.authorization.k8s.io/v1"


def recorded(**changes: Any) -> Recording:
    def program() -> None:
        gang = TrainingJob("gang-train", job(**changes))
        pulumi.export("job", gang.job_name)
        pulumi.export("namespace", gang.namespace)

    return record(program)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return recorded()


def digest(resource: RecordedResource) -> str:
    found: str = resource.inputs["metadata"]["annotations"]["gangway.dev/immutable-spec"]
    return found


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
@pytest.mark.parametrize("workers", [1, 2, 8])
def test_the_gang_is_all_of_its_pods(framework: str, workers: int) -> None:
    spec = job_spec(job(environment=environment(framework=framework), workers=workers))
    assert spec["minAvailable"] == sum(task["replicas"] for task in spec["tasks"]) == workers
    assert all(task["minAvailable"] == task["replicas"] for task in spec["tasks"])


def test_tasks_leave_nothing_for_volcano_to_fill_in() -> None:
    for task in job_spec(job())["tasks"]:
        assert set(task) == {"maxRetry", "minAvailable", "name", "replicas", "template"}
        assert task["maxRetry"] == 3


def test_every_task_has_the_same_template() -> None:
    first, second = job_spec(job())["tasks"]
    assert first["template"] == second["template"]


@pytest.mark.parametrize(
    ("key", "value"), [("maxRetry", 10), ("queue", "ml-queue"), ("schedulerName", "volcano")]
)
def test_spec(key: str, value: object) -> None:
    assert job_spec(job())[key] == value


def test_pending_deadline_reaches_the_policies() -> None:
    assert job_spec(job(pending_deadline_minutes=30))["policies"][-1]["timeout"] == "30m0s"


def test_a_finished_job_is_not_deleted_behind_pulumis_back() -> None:
    assert "ttlSecondsAfterFinished" not in job_spec(job())
    assert not [field.name for field in fields(TrainingJobArgs) if "ttl" in field.name]


def test_job_stands_in_its_namespace_under_its_name(recording: Recording) -> None:
    metadata = recording.one(JOB).inputs["metadata"]
    assert (metadata["name"], metadata["namespace"]) == ("gang-train", "training")
    assert recording.exports == {"job": "gang-train", "namespace": "training"}


@pytest.mark.parametrize(
    "changes",
    [
        {"worker": worker(image="example/pytorch:2.13")},
        {"scripts": {"__main__.py": "print(2)"}},
        {"max_retry": 20},
        {"environment": environment(epochs=6)},
    ],
    ids=["image", "trainer", "maxRetry", "epochs"],
)
def test_another_run_replaces_the_job(recording: Recording, changes: dict[str, Any]) -> None:
    assert digest(recorded(**changes).one(JOB)) != digest(recording.one(JOB))
    assert "metadata.annotations" in recording.one(JOB).replace_on_changes


def test_another_number_of_workers_is_updated_in_place(recording: Recording) -> None:
    assert digest(recorded(workers=3).one(JOB)) == digest(recording.one(JOB))


def test_the_old_job_goes_before_the_new_one_comes(recording: Recording) -> None:
    assert recording.one(JOB).delete_before_replace is True


def test_only_the_job_waits_for_what_it_is_told_to() -> None:
    def program() -> None:
        scheduler = k8s.helm.v3.Release("volcano", chart="volcano")
        TrainingJob("gang-train", job(job_after=[scheduler]))

    made = record(program)
    scheduler = made.one("kubernetes:helm.sh/v3:Release").urn
    assert scheduler in made.one(JOB).depends_on
    assert scheduler not in made.one("kubernetes:core/v1:Namespace").depends_on


def test_namespace_enforces_restricted(recording: Recording) -> None:
    assert recording.one("kubernetes:core/v1:Namespace").inputs["metadata"] == {
        "labels": {"pod-security.kubernetes.io/enforce": "restricted"},
        "name": "training",
    }


def test_files_lie_in_an_immutable_config_map(recording: Recording) -> None:
    files = recording.one("kubernetes:core/v1:ConfigMap").inputs
    assert files["data"] == {"__main__.py": "print(1)", "model.py": "width = 8"}
    assert files["immutable"] is True
    assert files["metadata"]["name"] == config_map_name("/opt/gangway/trainer", files["data"])


def test_changed_files_have_another_name() -> None:
    folder = "/opt/gangway/trainer"
    assert config_map_name(folder, {"a.py": "1"}) != config_map_name(folder, {"a.py": "2"})


def test_a_users_files_lie_in_a_config_map_of_their_own() -> None:
    found = recorded(user_scripts={"train.py": "def train(context): ..."})
    files = found.one("kubernetes:core/v1:ConfigMap", "gang-train-user").inputs
    assert files["data"] == {"train.py": "def train(context): ..."}
    assert files["immutable"] is True


def test_rejects_user_files_without_the_script_that_is_run() -> None:
    with pytest.raises(ValueError, match=r"user_scripts has main.py; train.py with a function"):
        job(user_scripts={"main.py": ""})


def test_rejects_user_file_names_that_no_config_map_takes() -> None:
    with pytest.raises(ValueError, match=r"scripts has 'a b.py'; a ConfigMap takes plain"):
        job(user_scripts={"train.py": "", "a b.py": ""})


def test_pods_may_look_at_pods_of_their_own_namespace(recording: Recording) -> None:
    assert recording.one(f"{RBAC}:Role").inputs["rules"] == [
        {"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}
    ]
    binding = recording.one(f"{RBAC}:RoleBinding").inputs
    assert binding["metadata"]["namespace"] == "training"
    assert binding["roleRef"]["name"] == recording.one(f"{RBAC}:Role").inputs["metadata"]["name"]
    assert [subject["name"] for subject in binding["subjects"]] == ["trainer"]


def test_pods_mount_the_files(recording: Recording) -> None:
    pod = recording.one(JOB).inputs["spec"]["tasks"][0]["template"]["spec"]
    name = recording.one("kubernetes:core/v1:ConfigMap").inputs["metadata"]["name"]
    assert {"configMap": {"name": name}, "name": "trainer"} in pod["volumes"]


def test_a_command_needs_no_files() -> None:
    plain = recorded(worker=worker(command=("python", "/app/main.py")), scripts={})
    assert plain.of_type("kubernetes:core/v1:ConfigMap") == ()


def test_service_account_hands_its_token_only_to_who_asks(recording: Recording) -> None:
    account = recording.one("kubernetes:core/v1:ServiceAccount").inputs
    assert account["automountServiceAccountToken"] is False
    assert account["metadata"] == {"name": "trainer", "namespace": "training"}


def test_pods_may_read_nodes_and_nothing_else_everywhere(recording: Recording) -> None:
    assert recording.one(f"{RBAC}:ClusterRole").inputs["rules"] == [
        {"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}
    ]


def test_permission_goes_to_the_jobs_account(recording: Recording) -> None:
    binding = recording.one(f"{RBAC}:ClusterRoleBinding").inputs
    assert binding["subjects"] == [
        {"kind": "ServiceAccount", "name": "trainer", "namespace": "training"}
    ]
    assert (
        binding["roleRef"]["name"]
        == recording.one(f"{RBAC}:ClusterRole").inputs["metadata"]["name"]
    )


@pytest.mark.parametrize(
    "kind",
    [
        "kubernetes:core/v1:ConfigMap",
        "kubernetes:core/v1:Namespace",
        "kubernetes:core/v1:ServiceAccount",
        f"{RBAC}:ClusterRoleBinding",
    ],
)
def test_job_waits_for_what_its_pods_need(recording: Recording, kind: str) -> None:
    assert recording.one(kind).urn in recording.one(JOB).depends_on


@pytest.mark.parametrize("framework", ["pytorch", "tensorflow"])
def test_job_fits_the_crd_of_the_pinned_chart(framework: str) -> None:
    known = schemas.chart_crd_schemas(helm_charts.chart_file(VOLCANO_CHART))
    inputs = recorded(environment=environment(framework=framework)).one(JOB).inputs
    assert schemas.problems(inputs, known["batch.volcano.sh/v1alpha1:Job"]) == []


@pytest.mark.parametrize(
    ("field", "value", "least"),
    [("max_retry", 3, 4), ("pending_deadline_minutes", 4, 5), ("workers", 0, 1)],
)
def test_rejects_numbers_that_make_no_gang(field: str, value: int, least: int) -> None:
    with pytest.raises(ValueError, match=f"{field} is {value}; allowed: {least} or more"):
        job(**{field: value})


def test_rejects_files_without_an_entry_point() -> None:
    with pytest.raises(ValueError, match=r"scripts has model.py; __main__.py must be there"):
        job(scripts={"model.py": ""})


def test_rejects_file_names_that_no_config_map_takes() -> None:
    with pytest.raises(ValueError, match="a ConfigMap takes plain file names"):
        job(scripts={"__main__.py": "", "models/net.py": ""})


def test_rejects_more_than_a_config_map_holds() -> None:
    with pytest.raises(ValueError, match="Put larger code into an image"):
        job(scripts={"__main__.py": "x" * (MOST_SCRIPT_BYTES + 1)})
