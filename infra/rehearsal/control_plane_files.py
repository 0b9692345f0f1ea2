"""The files that lay out a rehearsal's control plane: kwokctl's, audit, egress, kubeconfig."""

import hashlib
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from infra.rehearsal import stages
from infra.rehearsal.ports import LOOPBACK, free_port
from infra.rehearsal.state import StateFolder

PORT_OPTIONS: Final = (
    "etcdPeerPort",
    "etcdPort",
    "kubeApiserverPort",
    "kubeControllerManagerPort",
    "kubeSchedulerPort",
    "kwokControllerPort",
)
"""Options of kwokctl that name a port; the order after the first is that of the components."""

_LONGEST_SOCKET_PATH: Final = 100
"""Linux refuses socket paths of 108 bytes and more."""

AUDIT_POLICY: Final[dict[str, Any]] = {
    "apiVersion": "audit.k8s.io/v1",
    "kind": "Policy",
    "omitStages": ["RequestReceived"],
    "rules": [
        {
            # What was asked for: labels, nodes, phases, refusals. The scenarios judge by these.
            "level": "Request",
            "verbs": ["create", "delete", "update", "patch"],
            "resources": [
                {"group": "", "resources": ["pods", "pods/binding", "pods/status"]},
                {"group": "scheduling.volcano.sh", "resources": ["podgroups", "podgroups/status"]},
            ],
        },
        {
            "level": "Metadata",
            "verbs": ["create", "delete", "update", "patch"],
            "resources": [
                {"group": "", "resources": ["pods/eviction", "nodes"]},
                {"group": "batch.volcano.sh", "resources": ["jobs"]},
                {"group": "scheduling.volcano.sh", "resources": ["queues"]},
            ],
        },
        {"level": "None"},
    ],
}
"""Who was bound where and when: bindings with their target, and the lives of what is bound."""


def configuration(state: StateFolder, tools: Mapping[str, Path]) -> list[dict[str, Any]]:
    """What kwokctl reads: options with free ports, extra arguments, the rehearsal's Stages."""
    options = {
        "runtime": "binary",
        "bindAddress": LOOPBACK,
        "cacheDir": str(state.folder("kwok") / "cache"),
        "kubeAuditPolicy": str(state.path / "kwok" / "audit-policy.yaml"),
        "etcdBinary": str(tools["etcd"]),
        "kubeApiserverBinary": str(tools["kube-apiserver"]),
        "kubeControllerManagerBinary": str(tools["kube-controller-manager"]),
        "kubeSchedulerBinary": str(tools["kube-scheduler"]),
        "kwokControllerBinary": str(tools["kwok"]),
        "kubectlBinary": str(tools["kubectl"]),
        "nodeLeaseDurationSeconds": 40,
        "disableQPSLimits": True,
    } | {option: free_port() for option in PORT_OPTIONS}
    api_server = {
        "token-auth-file": str(state.path / "kwok" / "tokens.csv"),
        # A laptop without a network has no address to advertise; nothing here uses one.
        "advertise-address": "192.0.2.1",
        "endpoint-reconciler-type": "none",
        "egress-selector-config-file": str(state.path / "kwok" / "egress.yaml"),
    }
    patches = [
        {"name": "kube-apiserver", "extraArgs": _extra_arguments(api_server)},
        # The data is thrown away with the rehearsal, so it need not survive a power cut.
        {"name": "etcd", "extraArgs": _extra_arguments({"unsafe-no-fsync": "true"})},
        # One of each runs; on a busy machine an election only loses the lease and ends them.
        *(
            {"name": name, "extraArgs": _extra_arguments({"leader-elect": "false"})}
            for name in ("kube-controller-manager", "kube-scheduler")
        ),
    ]
    own = {
        "apiVersion": "config.kwok.x-k8s.io/v1alpha1",
        "kind": "KwokctlConfiguration",
        "options": options,
        "componentsPatches": patches,
    }
    return [own, *stages.pod_stages(), *stages.node_stages()]


def egress_configuration(socket: Path) -> dict[str, Any]:
    """Sends the API server's calls of in-cluster services through the rehearsal's service proxy.

    So webhook configurations stay as their chart wrote them. A socket, because the API server
    ends with a nil pointer for a plain TCP proxy (apiserver 0.35, egressselector getTLSConfig).
    """
    transport = {"uds": {"udsName": str(socket)}}
    connection = {"proxyProtocol": "HTTPConnect", "transport": transport}
    return {
        "apiVersion": "apiserver.k8s.io/v1beta1",
        "kind": "EgressSelectorConfiguration",
        "egressSelections": [{"name": "cluster", "connection": connection}],
    }


def service_proxy_socket(state: StateFolder) -> Path:
    """Where the service proxy listens; a short path, as sockets want, when the folder's is long."""
    socket = state.path / "service-proxy.sock"
    if len(str(socket)) < _LONGEST_SOCKET_PATH:
        return socket
    digest = hashlib.sha256(str(state.path).encode()).hexdigest()[:16]
    return Path(tempfile.gettempdir()) / f"gangway-{digest}.sock"


def _extra_arguments(arguments: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"key": key, "value": value} for key, value in sorted(arguments.items())]


def kubeconfig_content(
    endpoint: str, ca_pem_base64: str, user: Mapping[str, str]
) -> dict[str, Any]:
    """A kubeconfig with one cluster and one user."""
    name = "rehearsal"
    cluster = {"server": endpoint, "certificate-authority-data": ca_pem_base64}
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": name,
        "clusters": [{"name": name, "cluster": cluster}],
        "users": [{"name": name, "user": dict(user)}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
    }
