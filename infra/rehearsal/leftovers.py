"""Proof that a destroyed stack left nothing: in its state, in AWS, in Kubernetes."""

from collections.abc import Mapping
from typing import Any, Final

from infra.errors import GangwayError
from infra.rehearsal.aws.world import World
from infra.rehearsal.checkpoint import Checkpoint
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.state import StateFolder
from infra.waiting import DeadlineExceededError, wait_until

SETTLE_SECONDS: Final = 60
"""Nodes go with their instances and pods with their nodes, a moment after the stack is gone."""

BUILT_IN_NAMESPACES: Final = frozenset({"default", "kube-node-lease", "kube-public", "kube-system"})
CLUSTER_KINDS: Final = {
    "CRD": "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    "mutating webhook": "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations",
    "validating webhook": "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations",
    "admission policy": "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies",
    "admission policy binding": (
        "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings"
    ),
    "node": "/api/v1/nodes",
}
"""Kinds of which a control plane has none of its own."""


def prove_none(
    api: KubernetesApi, state: StateFolder, checkpoint: Checkpoint, arguments: str
) -> None:
    """Wait until nothing of a destroyed stack is left anywhere.

    Raises GangwayError naming what stays, and the command that removes the rehearsal.
    """
    found: dict[str, Mapping[str, list[str]]] = {}

    def nothing() -> bool:
        found["Kubernetes"] = in_kubernetes(api)
        found["AWS"] = in_aws(state)
        found["state"] = in_checkpoint(checkpoint)
        return not any(found.values())

    try:
        wait_until(nothing, what="an empty world", deadline_seconds=SETTLE_SECONDS)
    except DeadlineExceededError as error:
        message = (
            f"the destroyed stack left something: {sentences(found)}. The rehearsal stays; "
            f"`gangway rehearse down --force {arguments}` removes it"
        )
        raise GangwayError(message) from error


def in_kubernetes(api: KubernetesApi) -> dict[str, list[str]]:
    """Kind -> names of what is left in the cluster beyond what every control plane has."""
    left = {kind: _names(api.items(path)) for kind, path in CLUSTER_KINDS.items()}
    left["namespace"] = [
        name for name in _names(api.items("/api/v1/namespaces")) if name not in BUILT_IN_NAMESPACES
    ]
    left["pod"] = _names(api.items("/api/v1/pods"))
    return {kind: names for kind, names in left.items() if names}


def _names(items: list[dict[str, Any]]) -> list[str]:
    return sorted(item["metadata"]["name"] for item in items)


def in_aws(state: StateFolder) -> dict[str, list[str]]:
    """Kind -> names of what is left in the emulated account."""
    return World.open(state.path).leftovers()


def in_checkpoint(checkpoint: Checkpoint) -> dict[str, list[str]]:
    """`resource` -> URNs that the stack's state still holds."""
    resources = checkpoint.resources()
    return {"resource": resources} if resources else {}


def sentences(found: Mapping[str, Mapping[str, list[str]]]) -> str:
    """One sentence for each place where something is left."""
    return ". ".join(sentence(where, left) for where, left in found.items() if left)


def sentence(where: str, left: Mapping[str, list[str]]) -> str:
    """`AWS: 2 role (a, b)`, for people."""
    parts = [f"{len(names)} {kind} ({', '.join(names)})" for kind, names in sorted(left.items())]
    return f"{where}: {'; '.join(parts)}"
