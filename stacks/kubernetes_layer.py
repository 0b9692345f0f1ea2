"""The Kubernetes layer: Volcano, device plugin, autoscaler, queues and the training job."""

from collections.abc import Mapping, Sequence

import pulumi
import pulumi_kubernetes as k8s

from components import charts, versions
from components.cluster_autoscaler import ClusterAutoscaler, ClusterAutoscalerArgs
from components.eks_cluster import EksCluster
from components.nvidia_device_plugin import NvidiaDevicePlugin, NvidiaDevicePluginArgs, TimeSlicing
from components.queue import Queue, QueueArgs
from components.results_bucket import ResultsBucket
from components.trainer_identity import TrainerIdentity
from components.training_environment import TrainingEnvironment
from components.training_job import TrainingJob, TrainingJobArgs
from components.training_pod import WorkerArgs
from components.volcano import Volcano, VolcanoArgs
from stacks import capacity, prices, trainer_files
from stacks.plan import SERVICE_ACCOUNT, Plan, after
from stacks.settings import QueueSettings, TimeSlicingSettings


def cluster_provider(cluster: EksCluster) -> k8s.Provider:
    """The one way to this cluster; a machine's own kubeconfig is never asked."""
    return k8s.Provider(
        "kubernetes",
        enable_server_side_apply=True,
        kubeconfig=cluster.kubeconfig_json,
        opts=after(cluster),
    )


def job_provider(cluster: EksCluster) -> k8s.Provider:
    """The same way to the same cluster for the training job alone, applied on the client's side.

    Why: see TrainingJobArgs. All else stays with server-side apply, which goes on after a run
    that was killed between an object and its record.
    """
    return k8s.Provider(
        "kubernetes-job",
        enable_server_side_apply=False,
        kubeconfig=cluster.kubeconfig_json,
        opts=after(cluster),
    )


def _chart_source(plan: Plan, pin: versions.ChartPin) -> charts.ChartSource:
    wanted = plan.settings.charts
    directory = wanted.directory and str(trainer_files.ROOT / wanted.directory)
    return charts.ChartSource(
        directory=directory, pin=pin, repository=wanted.repositories.get(pin.chart)
    )


def volcano(plan: Plan, provider: k8s.Provider, earlier: Sequence[pulumi.Resource]) -> Volcano:
    """The gang scheduler, proven to answer before anything is asked of it."""
    return Volcano(
        "volcano",
        VolcanoArgs(
            autoscaling=plan.settings.autoscaling.enabled,
            capacity_plugin=any(queue.deserved or queue.parent for queue in plan.settings.queues),
            chart=_chart_source(plan, versions.VOLCANO_CHART),
            queue_hierarchy=any(
                queue.parent not in (None, "root") for queue in plan.settings.queues
            ),
            registry_mirrors=plan.settings.charts.registry_mirrors,
            system_node_count=plan.settings.system_nodes.min_size,
        ),
        after(*earlier, providers=[provider]),
    )


def device_plugin(
    plan: Plan, provider: k8s.Provider, earlier: Sequence[pulumi.Resource]
) -> NvidiaDevicePlugin:
    """What makes GPUs known to Kubernetes."""
    slicing = plan.settings.device_plugin.time_slicing
    return NvidiaDevicePlugin(
        "device-plugin",
        NvidiaDevicePluginArgs(
            chart=_chart_source(plan, versions.NVIDIA_DEVICE_PLUGIN_CHART),
            registry_mirrors=plan.settings.charts.registry_mirrors,
            taints=plan.gpu_taints,
            time_slicing=None if slicing is None else _time_slicing(slicing),
        ),
        after(*earlier, providers=[provider]),
    )


def _time_slicing(wanted: TimeSlicingSettings) -> TimeSlicing:
    return TimeSlicing(
        fail_requests_greater_than_one=wanted.fail_requests_greater_than_one,
        replicas=wanted.replicas,
    )


def autoscaler(
    plan: Plan, provider: k8s.Provider, cluster: EksCluster, earlier: Sequence[pulumi.Resource]
) -> list[ClusterAutoscaler]:
    """Cluster Autoscaler when it is enabled, else nothing."""
    wanted = plan.settings.autoscaling
    if not wanted.enabled:
        return []
    args = ClusterAutoscalerArgs(
        chart=_chart_source(plan, versions.CLUSTER_AUTOSCALER_CHART),
        cluster_name=cluster.cluster_name,
        region=plan.settings.region,
        registry_mirrors=plan.settings.charts.registry_mirrors,
        scale_down_unneeded_minutes=wanted.scale_down_unneeded_minutes,
        scan_interval_seconds=wanted.scan_interval_seconds,
        tags=plan.tags,
    )
    return [ClusterAutoscaler("autoscaler", args, after(*earlier, providers=[provider]))]


def queues(plan: Plan, provider: k8s.Provider, volcano: Volcano) -> dict[str, Queue]:
    """Parents before their children, whatever their order in the settings."""
    queues: dict[str, Queue] = {}
    waiting = list(plan.settings.queues)
    while waiting:
        wanted = next(queue for queue in waiting if queue.parent in (None, "root", *queues))
        waiting.remove(wanted)
        queues[wanted.name] = _queue(plan, wanted, queues, provider, volcano)
    return queues


def _queue(
    plan: Plan,
    wanted: QueueSettings,
    made: Mapping[str, Queue],
    provider: k8s.Provider,
    volcano: Volcano,
) -> Queue:
    """One queue under its parent, done when it is open."""
    parent: pulumi.Input[str] | None = wanted.parent
    if wanted.parent is not None and wanted.parent in made:
        parent = made[wanted.parent].queue_name
    return Queue(
        wanted.name,
        QueueArgs(
            capability=capacity.queue_capability(plan.settings, wanted),
            deserved=wanted.deserved,
            guarantee=wanted.guarantee,
            name=wanted.name,
            parent=parent,
            reclaimable=wanted.reclaimable,
            weight=wanted.weight,
        ),
        after(*volcano.ready, providers=[provider]),
    )


def training_job(
    plan: Plan,
    provider: k8s.Provider,
    through: k8s.Provider,
    queue: Queue,
    bucket: ResultsBucket,
    identity: TrainerIdentity,
    earlier: Sequence[pulumi.Resource],
    controllers: Sequence[pulumi.Resource],
) -> TrainingJob:
    """The gang and what it runs; the job itself goes `through` a provider of its own.

    All of it comes after what is `earlier`, nodes above all: at the end pods go before them. Only
    the Job needs the `controllers`, so its namespace goes beside theirs, as each takes its time.
    """
    wanted, training = plan.settings.training_job, plan.settings.training
    return TrainingJob(
        "training",
        TrainingJobArgs(
            environment=_training_environment(plan, bucket, identity),
            job_after=controllers,
            job_provider=through,
            max_retry=wanted.max_retry,
            name=wanted.name,
            namespace=wanted.namespace,
            pending_deadline_minutes=wanted.pending_deadline_minutes,
            queue=queue.queue_name,
            scripts={} if training.command else trainer_files.trainer_files(),
            service_account=SERVICE_ACCOUNT,
            user_scripts=trainer_files.user_files(training.script_directory),
            worker=_worker(plan),
            workers=wanted.workers,
        ),
        after(identity, *earlier, providers=[provider]),
    )


def _worker(plan: Plan) -> WorkerArgs:
    wanted, training = plan.settings.training_job, plan.settings.training
    mirrors = plan.settings.charts.registry_mirrors
    return WorkerArgs(
        command=training.command,
        cpu=wanted.cpu_per_worker,
        gpus=wanted.gpus_per_worker,
        image=charts.mirrored_image(training.image, mirrors),
        instance_types=plan.settings.gpu_nodes.instance_types,
        memory=wanted.memory_per_worker,
        shared_memory=wanted.shared_memory,
        single_zone=wanted.single_zone,
        taints=plan.gpu_taints,
    )


def _training_environment(
    plan: Plan, bucket: ResultsBucket, identity: TrainerIdentity
) -> TrainingEnvironment:
    training = plan.settings.training
    dated = prices.load_prices(plan.settings.region)
    return TrainingEnvironment(
        batch_size_per_worker=training.batch_size_per_worker,
        checkpoint_interval_steps=training.checkpoint_interval_steps,
        epochs=training.epochs,
        expected_role_arn=identity.role_arn,
        framework=training.framework,
        mixed_precision=training.mixed_precision,
        prices=prices.job_prices(dated, plan.settings.gpu_nodes.instance_types),
        region=plan.settings.region,
        rendezvous_timeout_seconds=training.rendezvous_timeout_seconds,
        results_bucket=bucket.bucket_name,
        results_prefix=plan.settings.results.prefix,
        seed=training.seed,
    )
