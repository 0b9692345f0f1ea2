"""A Job that ends well only when Volcano's admission webhooks answer.

A finished Helm release means that the Deployments are available, not that the API server gets an
answer from the webhook: certificates and endpoints come later, and every Queue created in between
fails. The gate creates a Queue as a dry run, which passes through the webhooks and leaves nothing.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_kubernetes as k8s

from components import gpu, pod_security

NAME: Final = "volcano-readiness"
MANIFEST_FOLDER: Final = "/gate"
MANIFEST_FILE: Final = "queue.json"
ATTEMPTS: Final = 30
"""More restarts than the kubelet's back-off allows within any deadline: the deadline decides."""

PROBE: Final[Mapping[str, Any]] = {
    "apiVersion": "scheduling.volcano.sh/v1beta1",
    "kind": "Queue",
    "metadata": {"name": NAME},
    "spec": {"reclaimable": True, "weight": 1},
}
"""The Queue of the dry run: valid, so that only a missing answer can refuse it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ReadinessGateArgs:
    """What the gate proves (`proof`, any data), where it runs, and how long it tries."""

    image: str
    namespace: pulumi.Input[str]
    proof: Mapping[str, Any]
    timeout_seconds: int


def probe_text() -> str:
    """The probe as kubectl reads it."""
    return json.dumps(PROBE, sort_keys=True)


def pod_spec(args: ReadinessGateArgs) -> dict[str, Any]:
    """One container that runs kubectl until it succeeds, on a system node."""
    command = ["kubectl", "create", "--dry-run=server", "--request-timeout=20s"]
    return {
        "containers": [
            {
                "command": [*command, f"--filename={MANIFEST_FOLDER}/{MANIFEST_FILE}"],
                "image": args.image,
                "imagePullPolicy": "IfNotPresent",
                "name": "kubectl",
                "resources": {
                    "limits": {"memory": "128Mi"},
                    "requests": {"cpu": "10m", "memory": "32Mi"},
                },
                "securityContext": pod_security.container_security_context()
                | {"readOnlyRootFilesystem": True},
                "volumeMounts": [{"mountPath": MANIFEST_FOLDER, "name": "gate", "readOnly": True}],
            }
        ],
        "nodeSelector": {gpu.NODE_ROLE_LABEL: gpu.SYSTEM_NODE_ROLE},
        # The same pod tries again, with the kubelet's growing pauses, until the Job's deadline.
        "restartPolicy": "OnFailure",
        "securityContext": pod_security.pod_security_context(),
        "serviceAccountName": NAME,
        "volumes": [{"configMap": {"name": NAME}, "name": "gate"}],
    }


def job_spec(args: ReadinessGateArgs) -> dict[str, Any]:
    """The Job's `spec`; it stays after its end, because Pulumi would make it again."""
    return {
        "activeDeadlineSeconds": args.timeout_seconds,
        "backoffLimit": ATTEMPTS,
        "template": {"metadata": {"labels": {"app": NAME}}, "spec": pod_spec(args)},
    }


def job_name(args: ReadinessGateArgs) -> str:
    """A name that changes with what is proven, so that every upgrade is proven again."""
    content = {"job": job_spec(args), "probe": PROBE, "proof": args.proof}
    text = json.dumps(content, sort_keys=True)
    return f"{NAME}-{hashlib.sha256(text.encode()).hexdigest()[:10]}"


def declare(name: str, args: ReadinessGateArgs, opts: pulumi.ResourceOptions) -> k8s.batch.v1.Job:
    """Declare service account, its one permission, the probe and the Job; return the Job.

    `opts` carries the parent and what the gate waits for.
    """
    beside = pulumi.ResourceOptions(parent=opts.parent)
    in_namespace = {"name": NAME, "namespace": args.namespace}
    account = k8s.core.v1.ServiceAccount(name, metadata=in_namespace, opts=beside)
    role = k8s.rbac.v1.ClusterRole(
        name,
        metadata={"name": NAME},
        rules=[
            {
                "apiGroups": ["scheduling.volcano.sh"],
                "resources": ["queues"],
                "verbs": ["create"],
            }
        ],
        opts=beside,
    )
    binding = k8s.rbac.v1.ClusterRoleBinding(
        name,
        metadata={"name": NAME},
        role_ref={
            "apiGroup": "rbac.authorization.k8s.io",
            "kind": "ClusterRole",
            "name": role.metadata["name"],
        },
        subjects=[{"kind": "ServiceAccount", **in_namespace}],
        opts=beside,
    )
    probe = k8s.core.v1.ConfigMap(
        name, metadata=in_namespace, data={MANIFEST_FILE: probe_text()}, opts=beside
    )
    return k8s.batch.v1.Job(
        name,
        metadata={"name": job_name(args), "namespace": args.namespace},
        spec=job_spec(args),
        opts=pulumi.ResourceOptions.merge(
            opts,
            pulumi.ResourceOptions(
                custom_timeouts=pulumi.CustomTimeouts(create=f"{args.timeout_seconds + 60}s"),
                depends_on=[account, binding, probe],
            ),
        ),
    )
