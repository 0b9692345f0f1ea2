"""The pod of one worker: what it asks for, where it may run, what it may do at most."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from components import charts, gpu, pod_security, quantities
from components.volcano import SCHEDULER_NAME

CONTAINER: Final = "trainer"
PACKAGE_FOLDER: Final = "/opt/gangway"
"""On the Python path; the trainer's files lie below it as the package `trainer`."""

SCRIPT_FOLDER: Final = f"{PACKAGE_FOLDER}/trainer"
USER_FOLDER: Final = f"{PACKAGE_FOLDER}/user"
USER_SCRIPT: Final = "train.py"
"""The file among a user's own that defines `train(context)`."""

DEFAULT_COMMAND: Final = ("python", "-m", "trainer")
GRACE_SECONDS: Final = 90
"""Time for a last checkpoint; EC2 gives two minutes before it takes a spot node."""

SCRATCH: Final = "10Gi"
INSTANCE_TYPE_LABEL: Final = "node.kubernetes.io/instance-type"
ZONE_LABEL: Final = "topology.kubernetes.io/zone"
JOB_NAME_LABEL: Final = "volcano.sh/job-name"
SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"

PROCESS_VARIABLES: Final[Mapping[str, str]] = {
    # The image has no user 1000, so libraries that ask for its home or name would fail.
    "HOME": "/tmp",  # noqa: S108 - a volume of the pod's own
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONPATH": PACKAGE_FOLDER,
    "PYTHONUNBUFFERED": "1",
    "USER": CONTAINER,
}


@dataclass(frozen=True, kw_only=True, slots=True)
class WorkerArgs:
    """One worker. Requests are its limits, so that what the gang was promised it keeps.

    Without `command` the mounted trainer runs. With `single_zone` all workers run in the zone of
    the first: gradients cross no zone and no node group grows in the wrong one.
    """

    cpu: str
    gpus: int
    image: str
    instance_types: tuple[str, ...]
    memory: str
    shared_memory: str
    taints: tuple[gpu.Taint, ...]
    command: tuple[str, ...] = ()
    single_zone: bool = True

    def __post_init__(self) -> None:
        """Refuse an image that moves, and a worker that no GPU node would take."""
        if self.gpus < 1:
            message = f"gpus is {self.gpus}; allowed: 1 or more"
            raise ValueError(message)
        if not charts.is_pinned(self.image):
            message = (
                f"image is {self.image!r}; name a full tag or a digest, never latest: a restart "
                "must run what the first attempt ran"
            )
            raise ValueError(message)
        if gpu.GPU_TAINT not in self.taints:
            message = f"taints lacks {gpu.GPU_TAINT.key}; the worker would fit on no GPU node"
            raise ValueError(message)
        if not self.instance_types:
            message = "instance_types is empty; name those that the gang was planned for"
            raise ValueError(message)
        if quantities.amount(self.shared_memory) >= quantities.amount(self.memory):
            message = (
                f"shared_memory is {self.shared_memory}; it counts towards memory {self.memory} "
                "and must be smaller"
            )
            raise ValueError(message)


def resources(worker: WorkerArgs) -> dict[str, str]:
    """What one worker asks for and may use."""
    return {"cpu": worker.cpu, "memory": worker.memory, gpu.GPU_RESOURCE: str(worker.gpus)}


def affinity(worker: WorkerArgs, job_name: str) -> dict[str, Any]:
    """Only nodes of the planned types, and with `single_zone` only beside the rest of the gang."""
    types = {
        "key": INSTANCE_TYPE_LABEL,
        "operator": "In",
        "values": list(worker.instance_types),
    }
    required: dict[str, Any] = {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": [types]}]
            }
        }
    }
    if worker.single_zone:
        together = {
            "labelSelector": {"matchLabels": {JOB_NAME_LABEL: job_name}},
            "topologyKey": ZONE_LABEL,
        }
        required["podAffinity"] = {"requiredDuringSchedulingIgnoredDuringExecution": [together]}
    return required


def command(worker: WorkerArgs, *, user_scripts: bool) -> list[str]:
    """What the container runs: its own command, else the trainer, on the user's script or not."""
    if worker.command:
        return list(worker.command)
    script = ("--script", f"{USER_FOLDER}/{USER_SCRIPT}") if user_scripts else ()
    return [*DEFAULT_COMMAND, *script]


def _volumes(worker: WorkerArgs, config_maps: Mapping[str, str]) -> tuple[list[Any], list[Any]]:
    """Volumes and their mounts: shared memory for data loaders, scratch space, the scripts."""
    memory = {"medium": "Memory", "sizeLimit": worker.shared_memory}
    volumes: list[Any] = [
        {"emptyDir": memory, "name": "shared-memory"},
        {"emptyDir": {"sizeLimit": SCRATCH}, "name": "scratch"},
    ]
    mounts: list[Any] = [
        {"mountPath": "/dev/shm", "name": "shared-memory"},  # noqa: S108 - a volume, as below
        {"mountPath": "/tmp", "name": "scratch"},  # noqa: S108
    ]
    for folder, config_map in config_maps.items():
        name = folder.rpartition("/")[2]
        volumes.append({"configMap": {"name": config_map}, "name": name})
        mounts.append({"mountPath": folder, "name": name, "readOnly": True})
    return volumes, mounts


def pod_template(
    worker: WorkerArgs,
    *,
    config_maps: Mapping[str, str],
    environment: Sequence[Mapping[str, Any]],
    job_name: str,
    service_account: str,
) -> dict[str, Any]:
    """The template of every task: the ranks of a gang differ in nothing but their number.

    `config_maps` maps a folder of the container to the ConfigMap mounted there.
    """
    volumes, mounts = _volumes(worker, config_maps)
    amounts = resources(worker)
    process = [{"name": name, "value": value} for name, value in PROCESS_VARIABLES.items()]
    container = {
        "command": command(worker, user_scripts=USER_FOLDER in config_maps),
        "env": [*process, *environment],
        "image": worker.image,
        "imagePullPolicy": "IfNotPresent",
        "name": CONTAINER,
        "resources": {"limits": amounts, "requests": amounts},
        "securityContext": pod_security.container_security_context(),
        "volumeMounts": mounts,
    }
    return {
        # One worker moved means the whole gang restarted.
        "metadata": {"annotations": {SAFE_TO_EVICT: "false"}},
        "spec": {
            "affinity": affinity(worker, job_name),
            "automountServiceAccountToken": True,
            "containers": [container],
            "enableServiceLinks": False,
            # Volcano decides about restarts, of the whole gang; the kubelet would restart one
            # rank beside peers that wait for the old one, and hide the failure.
            "restartPolicy": "Never",
            "schedulerName": SCHEDULER_NAME,
            "securityContext": pod_security.pod_security_context(),
            "serviceAccountName": service_account,
            "terminationGracePeriodSeconds": GRACE_SECONDS,
            "tolerations": [taint.toleration() for taint in worker.taints],
            "volumes": volumes,
        },
    }
