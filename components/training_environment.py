"""Every environment variable that the job's manifest sets for the trainer.

The other side is `trainer/environment.py`; `tests/test_contracts.py` joins the two.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import pulumi

Framework = Literal["pytorch", "tensorflow"]

SERVICE_ACCOUNT_DIR: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
"""Where the kubelet puts the token by which the pod may read its node."""

FIELDS: Final[Mapping[str, str]] = {
    "JOB_NAME": "metadata.labels['volcano.sh/job-name']",
    "JOB_VERSION": "metadata.annotations['volcano.sh/job-version']",
    "NODE_NAME": "spec.nodeName",
    "POD_GROUP_NAME": "metadata.annotations['scheduling.k8s.io/group-name']",
    "POD_IP": "status.podIP",
    "POD_NAME": "metadata.name",
    "POD_NAMESPACE": "metadata.namespace",
    "POD_UID": "metadata.uid",
    "QUEUE_NAME": "metadata.labels['volcano.sh/queue-name']",
    "SERVICE_ACCOUNT_NAME": "spec.serviceAccountName",
    "TASK_NAME": "metadata.annotations['volcano.sh/task-spec']",
    # Kubernetes copies it from the node when the pod is bound (1.35 and later).
    "ZONE": "metadata.labels['topology.kubernetes.io/zone']",
}
"""Variable -> field of the downward API. Volcano's controller sets its labels and annotations."""

LIMITS: Final[Mapping[str, tuple[str, str]]] = {
    "LIMIT_CPU_MILLICORES": ("limits.cpu", "1m"),
    "LIMIT_MEMORY_BYTES": ("limits.memory", "1"),
}
"""Variable -> resource of the container and the unit it is counted in."""


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingEnvironment:
    """What is trained, where results go, and as whom.

    `prices` is a table of dated prices for the report; without it the report has no cost.
    """

    batch_size_per_worker: int
    checkpoint_interval_steps: int
    epochs: int
    expected_role_arn: pulumi.Input[str]
    framework: Framework
    mixed_precision: bool
    region: str
    rendezvous_timeout_seconds: int
    results_bucket: pulumi.Input[str]
    results_prefix: str
    seed: int
    prices: Mapping[str, Any] | None = None

    def __post_init__(self) -> None:
        """Refuse a framework without a launcher, and numbers that train nothing."""
        if self.framework not in get_args(Framework):
            allowed = ", ".join(get_args(Framework))
            message = f"framework is {self.framework!r}; allowed: {allowed}"
            raise ValueError(message)
        for name in (
            "batch_size_per_worker",
            "checkpoint_interval_steps",
            "epochs",
            "rendezvous_timeout_seconds",
        ):
            if getattr(self, name) < 1:
                message = f"{name} is {getattr(self, name)}; allowed: 1 or more"
                raise ValueError(message)
        if not self.results_prefix.endswith("/"):
            message = f"results_prefix is {self.results_prefix!r}; it must end with /"
            raise ValueError(message)


def _flag(value: bool) -> str:
    return "true" if value else "false"


def _values(
    environment: TrainingEnvironment, *, gpus: int, max_retry: int
) -> dict[str, pulumi.Input[str]]:
    values: dict[str, pulumi.Input[str]] = {
        # No look-up at the node's metadata service: pods do not reach it, and the node's role is
        # not theirs. Region and identity come from here and from EKS Pod Identity.
        "AWS_EC2_METADATA_DISABLED": "true",
        "AWS_REGION": environment.region,
        "AWS_DEFAULT_REGION": environment.region,
        "GANGWAY_BATCH_SIZE_PER_WORKER": str(environment.batch_size_per_worker),
        "GANGWAY_CHECKPOINT_INTERVAL_STEPS": str(environment.checkpoint_interval_steps),
        "GANGWAY_EPOCHS": str(environment.epochs),
        "GANGWAY_EXPECTED_ROLE_ARN": environment.expected_role_arn,
        "GANGWAY_FRAMEWORK": environment.framework,
        "GANGWAY_MAX_RETRY": str(max_retry),
        "GANGWAY_MIXED_PRECISION": _flag(environment.mixed_precision),
        "GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS": str(environment.rendezvous_timeout_seconds),
        "GANGWAY_RESULTS_BUCKET": environment.results_bucket,
        "GANGWAY_RESULTS_PREFIX": environment.results_prefix,
        "GANGWAY_SEED": str(environment.seed),
        "GANGWAY_SERVICE_ACCOUNT_DIR": SERVICE_ACCOUNT_DIR,
        # The downward API has no extended resources.
        "LIMIT_GPUS": str(gpus),
    }
    if environment.prices is not None:
        values["GANGWAY_PRICES"] = json.dumps(environment.prices, sort_keys=True)
    return values


def variables(
    environment: TrainingEnvironment, *, container: str, gpus: int, max_retry: int
) -> list[dict[str, Any]]:
    """The container's `env`: values, then what the downward API fills in, each sorted by name."""
    values = _values(environment, gpus=gpus, max_retry=max_retry)
    fields = {
        name: {"fieldRef": {"apiVersion": "v1", "fieldPath": path}} for name, path in FIELDS.items()
    }
    limits = {
        name: {
            "resourceFieldRef": {"containerName": container, "divisor": unit, "resource": resource}
        }
        for name, (resource, unit) in LIMITS.items()
    }
    return [
        *({"name": name, "value": values[name]} for name in sorted(values)),
        *(
            {"name": name, "valueFrom": source}
            for name, source in sorted((fields | limits).items())
        ),
    ]
