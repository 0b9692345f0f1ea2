"""What a pod may do at most: labels for namespaces, security contexts for pods of ours."""

from typing import Any, Final, Literal

PodSecurityLevel = Literal["baseline", "privileged", "restricted"]

UNPRIVILEGED_USER: Final = 1000
"""User and group of our pods. Images need no such user, only files that others may read."""


def namespace_labels(level: PodSecurityLevel) -> dict[str, str]:
    """The label by which a namespace refuses pods that ask for more than `level`."""
    return {"pod-security.kubernetes.io/enforce": level}


def pod_security_context() -> dict[str, Any]:
    """A pod that the level `restricted` admits: no root, the runtime's seccomp profile."""
    return {
        "fsGroup": UNPRIVILEGED_USER,
        "runAsGroup": UNPRIVILEGED_USER,
        "runAsNonRoot": True,
        "runAsUser": UNPRIVILEGED_USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def container_security_context() -> dict[str, Any]:
    """A container without capabilities and without a way to gain any."""
    return {"allowPrivilegeEscalation": False, "capabilities": {"drop": ["ALL"]}}
