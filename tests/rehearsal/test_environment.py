"""The whole dev environment on one rehearsal: up, the same again, changed, repaired, down."""

import contextlib
import io
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import boto3
import pytest
from rich.console import Console

from components.gpu import GPU_RESOURCE
from infra.rehearsal import frameworks, gang_watch, leftovers, processes
from infra.rehearsal.driver import Rehearsal, UpReport
from infra.rehearsal.kubernetes_api import MERGE, ApiError
from infra.rehearsal.ports import is_listening
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.waiting import wait_until
from tests.support.rehearsal import built_tools

pytestmark = pytest.mark.enable_socket

JOBS = "/apis/batch.volcano.sh/v1alpha1/namespaces/training/jobs"
PODS = "/api/v1/namespaces/training/pods"
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/ml-queue"
ANOTHER_IMAGE = "public.ecr.aws/deep-learning-containers/pytorch:2.11-cu130-amzn2023"
REPLACED = {"delete-replaced", "replace", "create-replacement"}


@dataclass
class Environment:
    """A rehearsal, how it came up, and what its console said."""

    rehearsal: Rehearsal
    said: io.StringIO
    first: UpReport

    def changed(self, key: str, **values: Any) -> Mapping[str, Any]:
        """The configuration with some values of one section changed."""
        return {f"gangway:{key}": {**self.rehearsal._raw[f"gangway:{key}"], **values}}

    def up(self, changes: Mapping[str, Any] | None = None) -> Mapping[str, int]:
        return self.rehearsal.up(changes=changes, gang_seconds=0).counts

    def jobs(self) -> list[dict[str, Any]]:
        return self.rehearsal.api.items(JOBS)

    def lines_of(self, call: Any) -> list[str]:
        """What the console says during a call."""
        start = self.said.tell()
        call()
        return self.said.getvalue()[start:].splitlines()


@pytest.fixture(scope="module")
def dev(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Environment]:
    built_tools(CATALOGUE)
    said = io.StringIO()
    console = Console(file=said, width=200)
    root = tmp_path_factory.mktemp("rehearsals")
    rehearsal = Rehearsal("dev", console, name="environment", root=root)
    try:
        yield Environment(rehearsal, said, rehearsal.up())
    finally:
        rehearsal.down(force=True)


def test_it_comes_up_from_nothing_by_creations_alone(dev: Environment) -> None:
    assert set(dev.first.counts) == {"create"}
    assert dev.first.counts["create"] >= 100
    assert all(dev.rehearsal.status().values())


def test_the_whole_gang_is_bound_in_one_zone(dev: Environment) -> None:
    assert dev.first.gang is not None
    assert dev.first.gang.is_bound
    api = dev.rehearsal.api
    nodes = [pod["spec"]["nodeName"] for pod in api.items(PODS)]
    zones = {
        api.get(f"/api/v1/nodes/{node}")["metadata"]["labels"]["topology.kubernetes.io/zone"]
        for node in nodes
    }
    assert len(nodes) == len(set(nodes)) == dev.rehearsal.settings.training_job.workers
    assert len(zones) == 1


def test_the_autoscaler_asked_for_the_gangs_nodes_at_its_first_look(dev: Environment) -> None:
    (log,) = (dev.rehearsal.state.path / "logs" / "pods").glob("*_cluster-autoscaler-*/*.log")
    said = log.read_text(encoding="utf-8")
    assert "Final scale-up plan" in said
    assert "Unschedulable pods are very new" not in said


def test_the_device_plugin_runs_on_exactly_the_gpu_nodes_and_makes_them_so(
    dev: Environment,
) -> None:
    api = dev.rehearsal.api
    nodes = api.items("/api/v1/nodes")
    of_gpu_groups = {
        node["metadata"]["name"]
        for node in nodes
        if node["metadata"]["labels"]["node.kubernetes.io/instance-type"].startswith("g4dn.")
    }
    with_plugin = {
        pod["spec"].get("nodeName")
        for pod in api.items("/api/v1/namespaces/nvidia-device-plugin/pods")
    }
    with_gpu = {
        node["metadata"]["name"] for node in nodes if GPU_RESOURCE in node["status"]["allocatable"]
    }
    assert len(of_gpu_groups) == 2
    assert len(nodes) > len(of_gpu_groups)
    assert with_plugin == with_gpu == of_gpu_groups


def test_the_job_completes_and_its_report_is_in_the_bucket(dev: Environment) -> None:
    job = dev.rehearsal.settings.training_job
    state = gang_watch.wait_until_ended(dev.rehearsal.api, job.namespace, job.name, 180)
    assert state.phase == "Completed"
    if frameworks.interpreter("pytorch") is None:
        pytest.skip(frameworks.missing("pytorch"))
    bucket = boto3.resource(
        "s3",
        endpoint_url=dev.rehearsal.state.section("moto")["endpoint"],
        aws_access_key_id="any",
        aws_secret_access_key="any",  # noqa: S106 - moto takes any
    ).Bucket(dev.rehearsal.outputs()["resultsBucket"])
    reports = [item.key for item in bucket.objects.filter(Prefix="logs/volcano_training_")]
    (uid,) = [job["metadata"]["uid"] for job in dev.jobs()]
    assert [key for key in reports if uid in key and "_success_" in key] == reports != []


def test_a_second_up_changes_nothing(dev: Environment) -> None:
    assert dev.up() == {}


def test_a_preview_shows_no_difference_to_what_is_up(dev: Environment) -> None:
    assert dev.rehearsal.preview() == {}


def test_a_queues_weight_changes_in_place(dev: Environment) -> None:
    queues = [{"name": "ml-queue", "weight": 5}]
    assert dev.up({"gangway:queues": queues}) == {"update": 1}
    assert dev.rehearsal.api.get(QUEUE)["spec"]["weight"] == 5


def test_a_queue_edited_by_hand_is_seen_by_refresh_and_set_back_by_up(dev: Environment) -> None:
    dev.up()
    dev.rehearsal.api.patch(QUEUE, {"spec": {"weight": 9}}, content_type=MERGE)
    dev.rehearsal.refresh()
    assert dev.rehearsal.preview() == {"update": 1}
    assert dev.up() == {"update": 1}
    assert dev.rehearsal.api.get(QUEUE)["spec"]["weight"] == 1


def test_another_number_of_workers_is_no_other_run(dev: Environment) -> None:
    (before,) = dev.jobs()
    more = dev.changed("trainingJob", workers=3)
    assert dev.rehearsal.preview(changes=more) == {"update": 1}
    assert dev.up(more) == {"update": 1}
    (job,) = dev.jobs()
    assert job["metadata"]["uid"] == before["metadata"]["uid"]
    assert job["spec"]["minAvailable"] == 3
    assert job["status"]["state"]["phase"] == "Completed"


def test_another_image_is_another_run_and_the_only_one(dev: Environment) -> None:
    dev.up()
    (before,) = dev.jobs()
    other = dev.changed("training", image=ANOTHER_IMAGE)
    assert set(dev.rehearsal.preview(changes=other)) == REPLACED
    assert dev.up(other) == dict.fromkeys(REPLACED, 1)
    (job,) = dev.jobs()
    assert job["metadata"]["uid"] != before["metadata"]["uid"]
    images = {
        container["image"]
        for task in job["spec"]["tasks"]
        for container in task["template"]["spec"]["containers"]
    }
    assert images == {ANOTHER_IMAGE}

    def bound() -> bool:
        pods = dev.rehearsal.api.items(PODS)
        owners = {pod["metadata"]["ownerReferences"][0]["uid"] for pod in pods}
        return owners == {job["metadata"]["uid"]} and all("nodeName" in p["spec"] for p in pods)

    wait_until(bound, what="the binding of the new run's pods alone", deadline_seconds=120)


def test_a_gang_larger_than_the_free_nodes_gets_the_missing_one(dev: Environment) -> None:
    job = dev.rehearsal.settings.training_job
    gang_watch.wait_until_ended(dev.rehearsal.api, job.namespace, job.name, 180)
    larger = dev.changed("trainingJob", workers=job.workers + 1, maxRetry=job.max_retry + 1)
    assert dev.up(larger) == dict.fromkeys(REPLACED, 1)
    gang = gang_watch.wait_until_bound(dev.rehearsal.api, job.namespace, job.name, 120)
    assert gang.bound == job.workers + 1
    gang_watch.wait_until_ended(dev.rehearsal.api, job.namespace, job.name, 180)


def test_other_instance_types_make_new_groups_before_the_old_ones_go(dev: Environment) -> None:
    types = {**dev.changed("gpuNodes", instanceTypes=["g4dn.xlarge"])}
    lines = dev.lines_of(lambda: dev.up(types))
    groups = [line.split() for line in lines if "aws eks/nodeGroup gpu-" in line]
    made = [words[-3] for words in groups if words[0] == "replaced"]
    gone = [words[-3] for words in groups if words[:2] == ["deleted", "(replaced)"]]
    assert set(made) == set(gone) == {"gpu-use1-az4", "gpu-use1-az6"}
    last_made = max(i for i, words in enumerate(groups) if words[0] == "replaced")
    first_gone = min(i for i, words in enumerate(groups) if words[0] == "deleted")
    assert last_made < first_gone
    assert len(dev.jobs()) == 1


@pytest.mark.parametrize(
    ("spec", "reason"),
    [
        ({"minAvailable": 3}, "job 'minAvailable' should not be greater than total replicas"),
        ({"queue": "no-such-queue"}, "no-such-queue"),
    ],
    ids=["more than there are", "unknown queue"],
)
def test_rejects_a_bad_job_by_volcanos_own_webhook(
    dev: Environment, spec: dict[str, Any], reason: str
) -> None:
    (live,) = dev.jobs()
    body = {
        "apiVersion": live["apiVersion"],
        "kind": "Job",
        "metadata": {"name": "bad"},
        "spec": {**live["spec"], **spec},
    }
    with pytest.raises(ApiError, match="admission webhook") as refusal:
        dev.rehearsal.api.create(JOBS, body)
    assert reason in str(refusal.value)


def test_another_environments_command_is_refused(dev: Environment) -> None:
    state = dev.rehearsal.state
    other = Rehearsal("prod", Console(quiet=True), name=state.name, root=state.path.parent)
    with pytest.raises(Exception, match=r"one of dev: give --env dev"):
        other.up()


def test_down_leaves_nothing(dev: Environment, monkeypatch: pytest.MonkeyPatch) -> None:
    state = dev.rehearsal.state
    ports = list(state.section("ports").values())
    found: dict[str, Any] = {}
    in_kubernetes, in_aws = leftovers.in_kubernetes, leftovers.in_aws

    def note(where: str, left: dict[str, list[str]]) -> dict[str, list[str]]:
        found[where] = left
        return left

    monkeypatch.setattr(
        leftovers, "in_kubernetes", lambda api: note("Kubernetes", in_kubernetes(api))
    )
    monkeypatch.setattr(leftovers, "in_aws", lambda folder: note("AWS", in_aws(folder)))
    dev.rehearsal.down()
    assert found == {"Kubernetes": {}, "AWS": {}}
    assert processes.belonging_to(state.path) == []
    assert [port for port in ports if is_listening(port)] == []
    assert not state.path.exists()


def test_prod_comes_up_and_goes(tmp_path_factory: pytest.TempPathFactory) -> None:
    built_tools(CATALOGUE)
    root = tmp_path_factory.mktemp("prod")
    prod = Rehearsal("prod", Console(quiet=True), root=root)
    with contextlib.ExitStack() as at_the_end:
        at_the_end.callback(lambda: prod.down(force=True))
        report = prod.up()
        assert set(report.counts) == {"create"}
        assert report.gang is not None
        assert report.gang.is_bound
        prod.down()
    assert list(root.iterdir()) == []
