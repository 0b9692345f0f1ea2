"""What a training job's pods do: waiting, bound, running, finished; read from the API server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.waiting import wait_until

JOBS: Final = "/apis/batch.volcano.sh/v1alpha1/namespaces/{namespace}/jobs/{name}"
PODS: Final = "/api/v1/namespaces/{namespace}/pods"
ENDED: Final = frozenset({"Aborted", "Completed", "Failed", "Terminated"})
"""Phases of a Volcano Job from which it does not move by itself."""


@dataclass(frozen=True, kw_only=True, slots=True)
class GangState:
    """One look at a job and its pods."""

    bound: int
    minimum: int
    phase: str
    running: int

    @property
    def is_bound(self) -> bool:
        """Whether the whole gang has its nodes, or had them and is done."""
        return self.phase == "Completed" or 0 < self.minimum <= self.bound

    @property
    def has_ended(self) -> bool:
        """Whether the job is over, well or not."""
        return self.phase in ENDED


def look(api: KubernetesApi, namespace: str, name: str) -> GangState | None:
    """The gang's state now; None while the job does not exist."""
    job = api.find(JOBS.format(namespace=namespace, name=name))
    if job is None:
        return None
    pods = api.items(PODS.format(namespace=namespace), labelSelector=f"volcano.sh/job-name={name}")
    return gang_state(job, pods)


def gang_state(job: Mapping[str, Any], pods: list[dict[str, Any]]) -> GangState:
    """The state that these objects tell."""
    return GangState(
        bound=sum(bool(pod["spec"].get("nodeName")) for pod in pods),
        minimum=job["spec"].get("minAvailable", 0),
        phase=job.get("status", {}).get("state", {}).get("phase", "Pending"),
        running=sum(pod.get("status", {}).get("phase") == "Running" for pod in pods),
    )


def wait_until_bound(
    api: KubernetesApi, namespace: str, name: str, deadline_seconds: float
) -> GangState:
    """Wait until every pod of the gang has a node.

    Raises DeadlineExceededError when it has not within `deadline_seconds`.
    """

    def probe() -> GangState | None:
        state = look(api, namespace, name)
        return state if state is not None and (state.is_bound or state.has_ended) else None

    return wait_until(
        probe,
        what=f"the binding of the gang {namespace}/{name}",
        deadline_seconds=deadline_seconds,
    )


def wait_until_ended(
    api: KubernetesApi, namespace: str, name: str, deadline_seconds: float
) -> GangState:
    """Wait until the job is over, well or not."""

    def probe() -> GangState | None:
        state = look(api, namespace, name)
        return state if state is not None and state.has_ended else None

    return wait_until(
        probe, what=f"the end of the job {namespace}/{name}", deadline_seconds=deadline_seconds
    )
