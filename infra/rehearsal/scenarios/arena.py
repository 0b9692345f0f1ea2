"""A scenario's own corner of the cluster: made, used, and taken away whatever happens."""

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from infra.errors import GangwayError
from infra.rehearsal.kubernetes_api import ApiUnreachableError, KubernetesApi
from infra.rehearsal.scenarios import workloads
from infra.rehearsal.scenarios.events import Micros, PodName
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.observer import GANG_LABEL
from infra.rehearsal.scenarios.workloads import OWNED_LABEL, Half
from infra.waiting import wait_until

JsonObject = dict[str, Any]

QUEUES: Final = "/apis/scheduling.volcano.sh/v1beta1/queues"
_NODES: Final = "/api/v1/nodes"
_NAMESPACES: Final = "/api/v1/namespaces"
_BUILD_SECONDS: Final = 30
_CLEAR_SECONDS: Final = 60


class VolcanoMissingError(GangwayError):
    """The cluster has no Volcano that takes jobs."""


class Arena:
    """The halves' namespaces, nodes and queues, and what runs in them."""

    def __init__(self, api: KubernetesApi, halves: Sequence[Half]) -> None:
        self._api = api
        self._halves = halves

    @contextmanager
    def built(self) -> Iterator[None]:
        """Make everything, and take it away at any end; leftovers of a killed run go first."""
        self.clear()
        try:
            self._build()
            yield
        finally:
            self.clear()

    def submit(self, half: Half, gangs: Sequence[Gang]) -> dict[PodName, tuple[Micros, Micros]]:
        """Let the gangs arrive together; for single pods, when this machine sent and knew it."""
        told: dict[PodName, tuple[Micros, Micros]] = {}
        for body in workloads.arrivals(half, gangs):
            sent = _now()
            self._api.create(_collection(half, body["kind"]), body)
            if body["kind"] == "Pod":
                name = PodName(namespace=half.namespace, name=body["metadata"]["name"])
                told[name] = (sent, _now())
        return told

    def end(self, pods: Sequence[PodName], *, fails: bool) -> None:
        """Let workers come to their end, as their kubelet would report it."""
        for pod in pods:
            path = f"{_NAMESPACES}/{pod.namespace}/pods/{pod.name}/status"
            self._api.patch(path, workloads.end_patch(fails=fails))

    def remove(self, half: Half, gangs: Sequence[Gang]) -> None:
        """Delete what is left of the gangs: waiting workers first, so that none slips in."""
        if half.scheduler.gang_jobs:
            for gang in gangs:
                self._api.delete(f"{_collection(half, 'Job')}/{gang.name}")
        pods_path = _collection(half, "Pod")
        names = {gang.name for gang in gangs}
        pods = [
            pod
            for pod in self._api.items(pods_path, labelSelector=GANG_LABEL)
            if pod["metadata"]["labels"][GANG_LABEL] in names
        ]
        for pod in sorted(pods, key=lambda pod: "nodeName" in pod["spec"]):
            self._api.delete(f"{pods_path}/{pod['metadata']['name']}", grace_seconds=0)

    def clear(self) -> None:
        """Delete every object that carries the scenario's label, until all of it is gone.

        An API server that is slow to answer is asked again: nothing is left to be cleaned by hand.
        """
        wait_until(
            self._is_clear,
            what="the removal of the demo's namespaces, nodes and queues",
            deadline_seconds=_CLEAR_SECONDS,
        )

    def _is_clear(self) -> bool:
        try:
            for half in self._halves:
                self._clear_work(half)
            owned = self._owned()
            for path, name in owned:
                # A queue is refused while it still has pod groups: these go with the namespace.
                if path != QUEUES or all(other == QUEUES for other, _ in owned):
                    self._api.delete(f"{path}/{name}")
        except ApiUnreachableError:
            return False
        return not owned

    def _clear_work(self, half: Half) -> None:
        jobs, pods = _collection(half, "Job"), _collection(half, "Pod")
        for job in self._api.items(jobs):
            self._api.delete(f"{jobs}/{job['metadata']['name']}")
        for pod in self._api.items(pods):
            self._api.delete(f"{pods}/{pod['metadata']['name']}", grace_seconds=0)
        for node in half.nodes:
            for pod in self._api.items("/api/v1/pods", fieldSelector=f"spec.nodeName={node}"):
                metadata = pod["metadata"]
                path = f"{_NAMESPACES}/{metadata['namespace']}/pods/{metadata['name']}"
                self._api.delete(path, grace_seconds=0)

    def _owned(self) -> list[tuple[str, str]]:
        return [
            (path, item["metadata"]["name"])
            for path in (_NAMESPACES, _NODES, QUEUES)
            for item in self._api.items(path, labelSelector=OWNED_LABEL)
        ]

    def _build(self) -> None:
        for half in self._halves:
            self._api.create(_NAMESPACES, workloads.namespace(half))
            for name in half.nodes:
                self._api.create(_NODES, workloads.node(half, name))
            if half.scheduler.gang_jobs:
                self._require_volcano()
                self._api.create(QUEUES, workloads.queue(half))
        wait_until(
            lambda: all(self._is_ready(half) for half in self._halves),
            what="the start of the demo's nodes, namespaces and queues",
            deadline_seconds=_BUILD_SECONDS,
        )

    def _require_volcano(self) -> None:
        if self._api.find(QUEUES) is None:
            message = (
                "the rehearsal has no Volcano (no Queue kind is served): let `gangway rehearse "
                "up` finish, then run the demo again"
            )
            raise VolcanoMissingError(message)

    def _is_ready(self, half: Half) -> bool:
        account = f"{_NAMESPACES}/{half.namespace}/serviceaccounts/default"
        nodes = self._api.items(_NODES, labelSelector=f"{OWNED_LABEL}={half.scheduler.name}")
        ready = [node for node in nodes if _is_node_ready(node)]
        if len(ready) < half.gpus or self._api.find(account) is None:
            return False
        if not half.scheduler.gang_jobs:
            return True
        status = self._api.get(f"{QUEUES}/{half.queue}").get("status") or {}
        return status.get("state") == "Open"


def _is_node_ready(node: JsonObject) -> bool:
    conditions = node["status"].get("conditions") or ()
    is_ready = any(c["type"] == "Ready" and c["status"] == "True" for c in conditions)
    held_back = {"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"}
    taints = {taint["key"] for taint in node["spec"].get("taints") or ()}
    return is_ready and not taints & held_back


def _collection(half: Half, kind: str) -> str:
    if kind == "Job":
        return f"/apis/batch.volcano.sh/v1alpha1/namespaces/{half.namespace}/jobs"
    return f"{_NAMESPACES}/{half.namespace}/pods"


def _now() -> Micros:
    return time.time_ns() // 1000
