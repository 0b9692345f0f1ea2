"""The gang: a Volcano Job whose pods start together or not at all, and what they need beside."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import pulumi
import pulumi_kubernetes as k8s

from components import gang, pod_security, tokens, training_environment, training_pod
from components.training_environment import TrainingEnvironment
from components.training_pod import WorkerArgs
from components.volcano import SCHEDULER_NAME

API_VERSION: Final = "batch.volcano.sh/v1alpha1"
FEWEST_RETRIES: Final = 4
"""Each spot interruption takes one; three are an ordinary night."""

SHORTEST_PENDING_MINUTES: Final = 5
MOST_SCRIPT_BYTES: Final = 1_000_000
"""A ConfigMap holds 1 MiB (Kubernetes documentation, ConfigMaps)."""

ENTRY_POINT: Final = "__main__.py"


@dataclass(frozen=True, kw_only=True, slots=True)
class TrainingJobArgs:
    """The gang. `scripts` (file name -> text) are mounted as the package that the pods run.

    The Job itself goes through `job_provider`, which must apply on the client's side: a preview of
    a replacement that applies on the server's is a dry run over the live Job, and Volcano refuses
    that as an update of what cannot change. Left out, it is the component's provider.

    `job_after` is what the Job alone waits for and is destroyed before; namespace, account and
    files beside it need none of it.

    `user_scripts` are mounted beside it: the package then runs `train(context)` of their
    `train.py` in place of its own task, with the same identity, environment and report.

    There is no time to live: Volcano would delete the finished job, and the next `up` would
    create, that is train, it again.
    """

    environment: TrainingEnvironment
    max_retry: int
    name: str
    namespace: str
    pending_deadline_minutes: int
    queue: pulumi.Input[str]
    scripts: Mapping[str, str]
    service_account: str
    worker: WorkerArgs
    workers: int
    job_after: Sequence[pulumi.Resource] = ()
    job_provider: pulumi.ProviderResource | None = None
    user_scripts: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse numbers that make no gang and scripts that cannot be mounted or run."""
        least = {
            "max_retry": FEWEST_RETRIES,
            "pending_deadline_minutes": SHORTEST_PENDING_MINUTES,
            "workers": 1,
        }
        for name, minimum in least.items():
            if getattr(self, name) < minimum:
                message = f"{name} is {getattr(self, name)}; allowed: {minimum} or more"
                raise ValueError(message)
        for scripts in (self.scripts, self.user_scripts):
            _check_scripts(scripts)
        if self.worker.command:
            return
        if ENTRY_POINT not in self.scripts:
            given = ", ".join(sorted(self.scripts)) or "nothing"
            message = f"scripts has {given}; {ENTRY_POINT} must be there, or set a command"
            raise ValueError(message)
        if self.user_scripts and training_pod.USER_SCRIPT not in self.user_scripts:
            given = ", ".join(sorted(self.user_scripts))
            message = (
                f"user_scripts has {given}; {training_pod.USER_SCRIPT} with a function "
                "train(context) must be there"
            )
            raise ValueError(message)

    @property
    def config_maps(self) -> dict[str, Mapping[str, str]]:
        """Folder of the container -> the files mounted there; none for a folder without files."""
        folders = {
            training_pod.SCRIPT_FOLDER: self.scripts,
            training_pod.USER_FOLDER: self.user_scripts,
        }
        return {folder: files for folder, files in folders.items() if files}


def _check_scripts(scripts: Mapping[str, str]) -> None:
    for file_name in sorted(scripts):
        if not re.fullmatch(r"[-._a-zA-Z0-9]+", file_name):
            message = (
                f"scripts has {file_name!r}; a ConfigMap takes plain file names of letters, "
                "digits, - _ and ."
            )
            raise ValueError(message)
    size = sum(len(text.encode()) for text in scripts.values())
    if size > MOST_SCRIPT_BYTES:
        message = (
            f"scripts are {size} bytes; allowed: {MOST_SCRIPT_BYTES}, what a ConfigMap holds. Put "
            "larger code into an image and set a command"
        )
        raise ValueError(message)


def config_map_name(folder: str, files: Mapping[str, str]) -> str:
    """A name that changes with the files, so that changed files are a changed job."""
    return f"{folder.rpartition('/')[2]}-{gang.digest(dict(files))}"


def job_spec(args: TrainingJobArgs) -> dict[str, Any]:
    """The Job's `spec`: all pods or none, since `minAvailable` is the sum of all replicas."""
    template = training_pod.pod_template(
        args.worker,
        config_maps={
            folder: config_map_name(folder, files) for folder, files in args.config_maps.items()
        },
        environment=training_environment.variables(
            args.environment,
            container=training_pod.CONTAINER,
            gpus=args.worker.gpus,
            max_retry=args.max_retry,
        ),
        job_name=args.name,
        service_account=args.service_account,
    )
    counts = gang.replicas(args.environment.framework, args.workers)
    return {
        "maxRetry": args.max_retry,
        "minAvailable": sum(counts.values()),
        "plugins": gang.plugins(args.environment.framework),
        "policies": gang.policies(args.pending_deadline_minutes),
        "queue": args.queue,
        "schedulerName": SCHEDULER_NAME,
        # What Volcano's webhook would fill in on creation is said here: an update sends the whole
        # list, and a value that it then lacks is a change that Volcano refuses.
        "tasks": [
            {
                "maxRetry": gang.TASK_MAX_RETRY,
                "minAvailable": count,
                "name": task,
                "replicas": count,
                "template": template,
            }
            for task, count in counts.items()
        ],
    }


def _role_ref(kind: str, name: pulumi.Input[str]) -> dict[str, pulumi.Input[str]]:
    return {"apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name}


class TrainingJob(pulumi.ComponentResource):
    """Namespace, service account, the trainer's files, and the Job.

    A run is what the Job's spec says: any change but the number of workers is another run, the
    old job deleted before the new one is created under the same name. Let it depend on the nodes
    that its pods run on, and on the pod identity association, which a pod gets when it is created;
    `job_after` takes the readiness of Volcano.
    """

    job_name: pulumi.Output[str]
    namespace: pulumi.Output[str]

    def __init__(
        self, name: str, args: TrainingJobArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.TRAINING_JOB, name, None, opts)
        namespace = k8s.core.v1.Namespace(
            name,
            metadata={
                "labels": pod_security.namespace_labels("restricted"),
                "name": args.namespace,
            },
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.namespace = namespace.metadata["name"]
        needed = [*self._account(name, args), *self._scripts(name, args)]
        spec = job_spec(args)
        job = k8s.apiextensions.CustomResource(
            name,
            api_version=API_VERSION,
            kind="Job",
            metadata={
                "annotations": {
                    gang.IMMUTABLE_ANNOTATION: pulumi.Output.from_input(spec).apply(
                        gang.immutable_digest
                    )
                },
                "name": args.name,
                "namespace": self.namespace,
            },
            spec=spec,
            opts=pulumi.ResourceOptions(
                parent=self,
                # Under a fixed name the new job must not exist when the old one is deleted.
                delete_before_replace=True,
                depends_on=[*args.job_after, *needed],
                provider=args.job_provider,
                replace_on_changes=["metadata.annotations"],
            ),
        )
        self.job_name = job.metadata["name"]
        self.register_outputs({"job_name": self.job_name, "namespace": self.namespace})

    def _account(self, name: str, args: TrainingJobArgs) -> list[pulumi.Resource]:
        """The pods' service account, which may look at nodes and at pods of its own namespace.

        The report says on which machine each rank ran and when it was scheduled.
        """
        child = pulumi.ResourceOptions(parent=self)
        account = k8s.core.v1.ServiceAccount(
            name,
            automount_service_account_token=False,
            metadata={"name": args.service_account, "namespace": self.namespace},
            opts=child,
        )
        subject = {
            "kind": "ServiceAccount",
            "name": args.service_account,
            "namespace": self.namespace,
        }
        everywhere = {"name": f"{args.namespace}-{args.service_account}-read-nodes"}
        here = {"name": f"{args.service_account}-read-pods", "namespace": self.namespace}
        nodes = k8s.rbac.v1.ClusterRole(
            name,
            metadata=everywhere,
            rules=[{"apiGroups": [""], "resources": ["nodes"], "verbs": ["get"]}],
            opts=child,
        )
        pods = k8s.rbac.v1.Role(
            name,
            metadata=here,
            rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
            opts=child,
        )
        return [
            account,
            k8s.rbac.v1.ClusterRoleBinding(
                name,
                metadata=everywhere,
                role_ref=_role_ref("ClusterRole", nodes.metadata["name"]),
                subjects=[subject],
                opts=child,
            ),
            k8s.rbac.v1.RoleBinding(
                name,
                metadata=here,
                role_ref=_role_ref("Role", pods.metadata["name"]),
                subjects=[subject],
                opts=child,
            ),
        ]

    def _scripts(self, name: str, args: TrainingJobArgs) -> list[pulumi.Resource]:
        return [
            k8s.core.v1.ConfigMap(
                f"{name}-{folder.rpartition('/')[2]}",
                data=dict(files),
                immutable=True,
                metadata={"name": config_map_name(folder, files), "namespace": self.namespace},
                opts=pulumi.ResourceOptions(parent=self),
            )
            for folder, files in args.config_maps.items()
        ]
