"""The pod's environment as typed values; everything wrong with it is told at once."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from trainer.exits import ConfigurationError

REQUIRED: Final = (
    "AWS_REGION",
    "GANGWAY_BATCH_SIZE_PER_WORKER",
    "GANGWAY_CHECKPOINT_INTERVAL_STEPS",
    "GANGWAY_EPOCHS",
    "GANGWAY_EXPECTED_ROLE_ARN",
    "GANGWAY_FRAMEWORK",
    "GANGWAY_MAX_RETRY",
    "GANGWAY_MIXED_PRECISION",
    "GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS",
    "GANGWAY_RESULTS_BUCKET",
    "GANGWAY_RESULTS_PREFIX",
    "GANGWAY_SEED",
    "JOB_NAME",
    "JOB_VERSION",
    "LIMIT_CPU_MILLICORES",
    "LIMIT_GPUS",
    "LIMIT_MEMORY_BYTES",
    "NODE_NAME",
    "POD_GROUP_NAME",
    "POD_IP",
    "POD_NAME",
    "POD_NAMESPACE",
    "POD_UID",
    "QUEUE_NAME",
    "SERVICE_ACCOUNT_NAME",
    "TASK_NAME",
)
"""Set by the job's manifest in every pod; a missing one is a problem to report."""

OPTIONAL: Final = (
    "GANGWAY_ALLOW_IMDS",
    "GANGWAY_PRICES",
    "GANGWAY_RENDEZVOUS_PORT",
    "GANGWAY_SERVICE_ACCOUNT_DIR",
    "KUBERNETES_SERVICE_HOST",
    "KUBERNETES_SERVICE_PORT",
    "ZONE",
)
"""May be absent: what they say is then absent from the report, or has a default."""

BY_VOLCANO: Final = ("MASTER_ADDR", "MASTER_PORT", "RANK", "WORLD_SIZE", "TF_CONFIG")
"""Set by Volcano's pytorch and tensorflow plugins."""

SERVICE_ACCOUNT_DIR: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
PORT_OFFSET: Final = 100
"""The supervisors meet this many ports above the framework's own rendezvous port."""
HIGHEST_PORT: Final = 65535
ROLE_ARN: Final = re.compile(r"^arn:aws[a-z-]*:iam::\d{12}:role/[\w+=,.@/-]+$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """Who this pod is, by the downward API."""

    ip: str
    name: str
    namespace: str
    node: str
    service_account: str
    uid: str
    zone: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """The Volcano job that the pod belongs to."""

    max_retry: int
    name: str
    queue: str
    task: str
    uid: str
    version: int
    """Volcano's job version: rises at every restart, sometimes by more than one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class World:
    """This rank's place among the workers, and where they meet."""

    leader_host: str
    leader_port: int
    rank: int
    rendezvous_port: int
    rendezvous_timeout_seconds: float
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The container's limits as the manifest gives them."""

    cpu_millicores: int
    gpus: int
    memory_bytes: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where results go and as whom."""

    bucket: str
    expected_role_arn: str
    prefix: str
    region: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Training:
    """The numbers of the run."""

    batch_size_per_worker: int
    checkpoint_interval_steps: int
    epochs: int
    framework: str
    mixed_precision: bool
    seed: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Kubernetes:
    """How to ask the API server about the own node, when that is possible."""

    host: str | None
    port: str
    service_account_dir: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    """Everything that the pod was told."""

    allow_imds: bool
    destination: Destination
    job: Job
    kubernetes: Kubernetes
    limits: Limits
    pod: Pod
    prices: Mapping[str, Any] | None
    training: Training
    world: World


class _Reader:
    """Reads variables one by one and remembers what was wrong with them."""

    def __init__(self, variables: Mapping[str, str]) -> None:
        self.variables = variables
        self.problems: list[str] = []

    def text(self, name: str) -> str:
        """A value that must not be empty."""
        value = self.variables.get(name, "").strip()
        if not value:
            self.problems.append(f"{name} is not set")
        return value

    def optional(self, name: str) -> str | None:
        """A value that may be absent; empty is absent."""
        return self.variables.get(name, "").strip() or None

    def number(self, name: str, *, least: int, most: int | None = None) -> int:
        """A whole number within bounds."""
        value = self.text(name)
        bounds = f"a whole number of at least {least}" + (f" and at most {most}" if most else "")
        if not value:
            return least
        if not re.fullmatch(r"\d+", value):
            self.problems.append(f"{name} is {value!r}; it must be {bounds}")
            return least
        number = int(value)
        if number < least or (most is not None and number > most):
            self.problems.append(f"{name} is {value}; it must be {bounds}")
            return least
        return number

    def one_of(self, name: str, allowed: tuple[str, ...]) -> str:
        """A value of a closed list."""
        value = self.text(name)
        if value and value not in allowed:
            self.problems.append(f"{name} is {value!r}; it must be {' or '.join(allowed)}")
        return value

    def document(self, name: str) -> Mapping[str, Any] | None:
        """A JSON object that may be absent."""
        value = self.optional(name)
        if value is None:
            return None
        try:
            document = json.loads(value)
        except ValueError:
            document = None
        if not isinstance(document, dict):
            self.problems.append(f"{name} is not a JSON object")
            return None
        return document


def read_environment(variables: Mapping[str, str]) -> Environment:
    """Return the typed environment, or raise one ConfigurationError that lists every problem."""
    read = _Reader(variables)
    training = _training(read)
    environment = Environment(
        allow_imds=variables.get("GANGWAY_ALLOW_IMDS", "false") == "true",
        destination=_destination(read),
        job=_job(read),
        kubernetes=Kubernetes(
            host=read.optional("KUBERNETES_SERVICE_HOST"),
            port=read.optional("KUBERNETES_SERVICE_PORT") or "443",
            service_account_dir=read.optional("GANGWAY_SERVICE_ACCOUNT_DIR") or SERVICE_ACCOUNT_DIR,
        ),
        limits=_limits(read, training.batch_size_per_worker),
        pod=_pod(read),
        prices=read.document("GANGWAY_PRICES"),
        training=training,
        world=_world(read, training.framework),
    )
    if read.problems:
        message = "the pod's environment is wrong: " + "; ".join(read.problems)
        raise ConfigurationError(message)
    return environment


def _training(read: _Reader) -> Training:
    return Training(
        batch_size_per_worker=read.number("GANGWAY_BATCH_SIZE_PER_WORKER", least=1),
        checkpoint_interval_steps=read.number("GANGWAY_CHECKPOINT_INTERVAL_STEPS", least=1),
        epochs=read.number("GANGWAY_EPOCHS", least=1),
        framework=read.one_of("GANGWAY_FRAMEWORK", ("pytorch", "tensorflow")),
        mixed_precision=read.one_of("GANGWAY_MIXED_PRECISION", ("true", "false")) == "true",
        seed=read.number("GANGWAY_SEED", least=0),
    )


def _destination(read: _Reader) -> Destination:
    role = read.text("GANGWAY_EXPECTED_ROLE_ARN")
    if role and not ROLE_ARN.match(role):
        read.problems.append(
            f"GANGWAY_EXPECTED_ROLE_ARN is {role!r}; it must be the ARN of an IAM role"
        )
    prefix = read.text("GANGWAY_RESULTS_PREFIX")
    if prefix and not prefix.endswith("/"):
        read.problems.append(f"GANGWAY_RESULTS_PREFIX is {prefix!r}; it must end with /")
    return Destination(
        bucket=read.text("GANGWAY_RESULTS_BUCKET"),
        expected_role_arn=role,
        prefix=prefix,
        region=read.text("AWS_REGION"),
    )


def _job(read: _Reader) -> Job:
    name = read.text("JOB_NAME")
    group = read.text("POD_GROUP_NAME")
    uid = group.removeprefix(f"{name}-")
    if name and group and (uid == group or not uid):
        read.problems.append(f"POD_GROUP_NAME is {group!r}; it must be {name}-<uid of the job>")
    return Job(
        max_retry=read.number("GANGWAY_MAX_RETRY", least=1),
        name=name,
        queue=read.text("QUEUE_NAME"),
        task=read.text("TASK_NAME"),
        uid=uid,
        version=read.number("JOB_VERSION", least=0),
    )


def _limits(read: _Reader, batch_size: int) -> Limits:
    gpus = read.number("LIMIT_GPUS", least=0)
    if gpus > 1 and batch_size % gpus:
        read.problems.append(
            f"GANGWAY_BATCH_SIZE_PER_WORKER is {batch_size}; it must be a multiple of the "
            f"worker's {gpus} GPUs"
        )
    return Limits(
        cpu_millicores=read.number("LIMIT_CPU_MILLICORES", least=0),
        gpus=gpus,
        memory_bytes=read.number("LIMIT_MEMORY_BYTES", least=0),
    )


def _pod(read: _Reader) -> Pod:
    return Pod(
        ip=read.text("POD_IP"),
        name=read.text("POD_NAME"),
        namespace=read.text("POD_NAMESPACE"),
        node=read.text("NODE_NAME"),
        service_account=read.text("SERVICE_ACCOUNT_NAME"),
        uid=read.text("POD_UID"),
        zone=read.optional("ZONE"),
    )


def _world(read: _Reader, framework: str) -> World:
    host, port, rank, size = (_tensorflow if framework == "tensorflow" else _pytorch)(read)
    if rank >= size:
        read.problems.append(f"RANK is {rank}; it must be below the world size {size}")
    if read.optional("GANGWAY_RENDEZVOUS_PORT"):
        rendezvous_port = read.number("GANGWAY_RENDEZVOUS_PORT", least=1, most=HIGHEST_PORT)
    else:
        rendezvous_port = port + PORT_OFFSET
    return World(
        leader_host=host,
        leader_port=port,
        rank=rank,
        rendezvous_port=rendezvous_port,
        rendezvous_timeout_seconds=read.number("GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS", least=1),
        size=size,
    )


def _pytorch(read: _Reader) -> tuple[str, int, int, int]:
    return (
        read.text("MASTER_ADDR"),
        read.number("MASTER_PORT", least=1, most=HIGHEST_PORT - PORT_OFFSET),
        read.number("RANK", least=0),
        read.number("WORLD_SIZE", least=1),
    )


def _tensorflow(read: _Reader) -> tuple[str, int, int, int]:
    nowhere = ("", 1, 0, 1)
    if not read.optional("TF_CONFIG"):
        read.problems.append("TF_CONFIG is not set")
        return nowhere
    config = read.document("TF_CONFIG") or {}
    try:
        workers = [str(address) for address in config["cluster"]["worker"]]
        host, _, port = workers[0].rpartition(":")
        return host, int(port), int(config["task"]["index"]), len(workers)
    except (KeyError, IndexError, TypeError, ValueError):
        read.problems.append("TF_CONFIG has no cluster.worker list of host:port and no task.index")
        return nowhere
