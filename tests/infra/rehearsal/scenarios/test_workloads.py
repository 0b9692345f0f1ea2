import pytest

from components.gpu import GPU_RESOURCE
from infra.rehearsal.scenarios import workloads
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.observer import GANG_LABEL
from infra.rehearsal.scenarios.scenario import DEFAULT_SCHEDULER, VOLCANO
from infra.rehearsal.scenarios.workloads import Half

PLAIN = Half(gpus=2, scheduler=DEFAULT_SCHEDULER)
GANGS = Half(gpus=2, scheduler=VOLCANO)
A, B = Gang(name="a", size=2), Gang(name="b", size=2)
BLOCKER = Gang(name="blocker", size=1, blocker=True)


def names(half, *gangs):
    return [(o["kind"], o["metadata"]["name"]) for o in workloads.arrivals(half, gangs)]


def test_gangs_that_come_together_reach_a_plain_scheduler_in_turn():
    assert [name for _, name in names(PLAIN, A, B)] == [
        "a-worker-0", "b-worker-0", "a-worker-1", "b-worker-1"
    ]  # fmt: skip


def test_a_gang_scheduler_gets_whole_jobs():
    assert names(GANGS, A, B) == [("Job", "a"), ("Job", "b")]


@pytest.mark.parametrize("half", [PLAIN, GANGS], ids=["plain", "gangs"])
def test_a_blocker_is_the_same_pod_for_both(half):
    assert names(half, BLOCKER) == [("Pod", "blocker-worker-0")]


def test_a_gang_job_starts_whole_or_not_at_all():
    spec = workloads.gang_job(GANGS, A)["spec"]
    assert spec["minAvailable"] == sum(task["replicas"] for task in spec["tasks"]) == 2
    assert spec["queue"] == GANGS.queue


def test_workers_differ_in_nothing_but_the_scheduler_they_ask_for():
    one = workloads.pod(PLAIN, A, 0)["spec"]
    other = workloads.gang_job(GANGS, A)["spec"]["tasks"][0]["template"]["spec"]
    differing = {key for key in one if one[key] != other[key]}
    assert differing == {"schedulerName", "nodeSelector"}


@pytest.mark.parametrize("half", [PLAIN, GANGS], ids=["plain", "gangs"])
def test_workers_land_on_their_halfs_nodes_and_nowhere_else(half):
    spec = workloads.pod(half, A, 0)["spec"]
    node = workloads.node(half, half.nodes[0])
    assert spec["nodeSelector"].items() <= node["metadata"]["labels"].items()
    tolerated = {toleration["key"] for toleration in spec["tolerations"]}
    assert {taint["key"] for taint in node["spec"]["taints"]} <= tolerated
    assert not set(PLAIN.nodes) & set(GANGS.nodes)


def test_a_node_has_one_gpu_and_room_for_a_worker():
    allocatable = workloads.node(PLAIN, "n")["status"]["allocatable"]
    [container] = workloads.pod(PLAIN, A, 0)["spec"]["containers"]
    assert allocatable[GPU_RESOURCE] == container["resources"]["limits"][GPU_RESOURCE] == "1"
    assert int(container["resources"]["limits"]["cpu"]) <= int(allocatable["cpu"])


def test_the_queue_names_every_resource_that_workers_ask_for():
    spec = workloads.queue(GANGS)["spec"]
    [container] = workloads.pod(GANGS, A, 0)["spec"]["containers"]
    asked = set(container["resources"]["limits"])
    for share in (spec["capability"], spec["deserved"], spec["guarantee"]["resource"]):
        assert set(share) == asked
    assert spec["capability"][GPU_RESOURCE] == "2"


def test_pods_say_which_gang_they_belong_to():
    job = workloads.gang_job(GANGS, A)["spec"]["tasks"][0]["template"]["metadata"]
    assert job["labels"][GANG_LABEL] == workloads.pod(PLAIN, A, 0)["metadata"]["labels"][GANG_LABEL]


@pytest.mark.parametrize(("fails", "phase", "code"), [(False, "Succeeded", 0), (True, "Failed", 1)])
def test_a_worker_ends_with_phase_and_exit_code(fails, phase, code):
    status = workloads.end_patch(fails=fails)["status"]
    assert status["phase"] == phase
    assert status["containerStatuses"][0]["state"]["terminated"]["exitCode"] == code
