import pytest

from infra.rehearsal.kubernetes_api import ApiUnreachableError
from infra.rehearsal.scenarios.arena import QUEUES, Arena, VolcanoMissingError
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.observer import GANG_LABEL
from infra.rehearsal.scenarios.scenario import DEFAULT_SCHEDULER, VOLCANO
from infra.rehearsal.scenarios.workloads import OWNED_LABEL, Half

PLAIN = Half(gpus=2, scheduler=DEFAULT_SCHEDULER)
GANGS = Half(gpus=1, scheduler=VOLCANO)
NAMESPACES = "/api/v1/namespaces"


class ApiInMemory:
    """Objects by path; nodes and queues are ready at once, a namespace takes its pods along."""

    def __init__(self, has_volcano: bool = True) -> None:
        self.deleted: list[tuple[str, int | None]] = []
        self.fails = 0
        self.has_volcano = has_volcano
        self.objects: dict[str, dict] = {}

    def _answer(self) -> None:
        if self.fails:
            self.fails -= 1
            message = "the API server does not answer"
            raise ApiUnreachableError(message)

    def create(self, path, body):
        self._answer()
        name = body["metadata"]["name"]
        stored = {**body}
        if body["kind"] == "Node":
            condition = {"type": "Ready", "status": "True"}
            stored["status"] = {**body["status"], "conditions": [condition]}
        if body["kind"] == "Queue":
            stored["status"] = {"state": "Open"}
        if body["kind"] == "Namespace":
            self.objects[f"{path}/{name}/serviceaccounts/default"] = {"metadata": {"name": "x"}}
        self.objects[f"{path}/{name}"] = stored
        return stored

    def get(self, path):
        self._answer()
        return self.objects[path]

    def find(self, path):
        self._answer()
        if path == QUEUES:
            return {} if self.has_volcano else None
        return self.objects.get(path)

    def items(self, path, **query):
        self._answer()
        found = [o for key, o in self.objects.items() if key.rpartition("/")[0] == path]
        label, _, value = query.get("labelSelector", "").partition("=")
        return [
            o
            for o in found
            if not label
            or (label in o["metadata"]["labels"] and value in ("", o["metadata"]["labels"][label]))
        ]

    def patch(self, path, body):
        self.objects[path.removesuffix("/status")] |= body

    def delete(self, path, *, grace_seconds=None):
        self._answer()
        self.deleted.append((path, grace_seconds))
        for key in [key for key in self.objects if key == path or key.startswith(f"{path}/")]:
            del self.objects[key]


def test_everything_is_made_and_gone_after_it():
    api = ApiInMemory()
    with Arena(api, [PLAIN, GANGS]).built():
        made = set(api.objects)
        assert f"{NAMESPACES}/{PLAIN.namespace}" in made
        assert {f"/api/v1/nodes/{node}" for node in (*PLAIN.nodes, *GANGS.nodes)} <= made
        assert [key for key in made if key.startswith(QUEUES)] == [f"{QUEUES}/{GANGS.queue}"]
    assert api.objects == {}


def test_an_interruption_leaves_nothing():
    api = ApiInMemory()
    arena = Arena(api, [PLAIN])

    def play() -> None:
        with arena.built():
            arena.submit(PLAIN, [Gang(name="a", size=2)])
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        play()
    assert api.objects == {}


def test_leftovers_of_a_killed_run_go_first():
    api = ApiInMemory()
    old = {"metadata": {"name": "old", "labels": {OWNED_LABEL: "volcano"}}}
    api.objects["/api/v1/nodes/old"] = old
    with Arena(api, [PLAIN]).built():
        assert "/api/v1/nodes/old" not in api.objects


def test_objects_of_others_stay():
    api = ApiInMemory()
    other = {"metadata": {"name": "theirs", "labels": {}}}
    api.objects["/api/v1/nodes/theirs"] = other
    with Arena(api, [PLAIN]).built():
        pass
    assert list(api.objects) == ["/api/v1/nodes/theirs"]


def test_a_slow_api_server_is_asked_again_while_clearing():
    api = ApiInMemory()
    with Arena(api, [PLAIN]).built():
        api.fails = 2
    assert api.objects == {}


def test_rejects_a_cluster_without_volcano_and_leaves_nothing():
    api = ApiInMemory(has_volcano=False)
    with pytest.raises(VolcanoMissingError, match="has no Volcano"), Arena(api, [GANGS]).built():
        pass
    assert api.objects == {}


def test_waiting_workers_are_removed_before_those_that_hold_a_gpu():
    api = ApiInMemory()
    arena = Arena(api, [PLAIN])
    gangs = [Gang(name="a", size=2), Gang(name="b", size=1)]
    with arena.built():
        arena.submit(PLAIN, gangs)
        pods = f"{NAMESPACES}/{PLAIN.namespace}/pods"
        api.objects[f"{pods}/a-worker-0"]["spec"]["nodeName"] = PLAIN.nodes[0]
        arena.remove(PLAIN, gangs[:1])
        assert api.deleted[-2:] == [(f"{pods}/a-worker-1", 0), (f"{pods}/a-worker-0", 0)]
        left = [o["metadata"]["labels"][GANG_LABEL] for o in api.items(pods)]
        assert left == ["b"]


def test_single_pods_tell_when_they_were_sent_and_answered():
    api = ApiInMemory()
    arena = Arena(api, [PLAIN])
    with arena.built():
        told = arena.submit(PLAIN, [Gang(name="a", size=2)])
    assert sorted(pod.name for pod in told) == ["a-worker-0", "a-worker-1"]
    assert all(sent <= answered for sent, answered in told.values())


def test_ended_workers_get_their_phase():
    api = ApiInMemory()
    arena = Arena(api, [PLAIN])
    with arena.built():
        [pod] = arena.submit(PLAIN, [Gang(name="a", size=1)])
        arena.end([pod], fails=True)
        stored = api.objects[f"{NAMESPACES}/{PLAIN.namespace}/pods/a-worker-0"]
        assert stored["status"]["phase"] == "Failed"
