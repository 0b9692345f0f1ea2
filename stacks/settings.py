"""What one environment may set: frozen, typed, unknown and missing keys refused.

Field names are snake_case here and camelCase in `Pulumi.<env>.yaml`. Each section below is one
key of the stack file, `gangway:<section>`. Reading happens in `stacks/loader.py`; rules that
join fields or sections stand in `stacks/capacity.py`.
"""

from typing import Annotated, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints
from pydantic.alias_generators import to_camel

from components import gpu, versions
from stacks import rules

ADDON_NAMES = (
    "coredns",
    "eks-node-monitoring-agent",
    "eks-pod-identity-agent",
    "kube-proxy",
    "metrics-server",
    "vpc-cni",
)
"""EKS add-ons that the stack installs (names as `aws eks describe-addon-versions` prints them)."""

Cidr = Annotated[str, AfterValidator(rules.network_cidr)]
PublicAccessCidr = Annotated[str, AfterValidator(rules.public_access_cidr)]
VpcCidr = Annotated[str, AfterValidator(rules.vpc_cidr)]
ZoneId = Annotated[
    str,
    AfterValidator(
        rules.spelled(
            r"[a-z]{2,4}\d-(az|[a-z]{3}\d-az)\d",
            "zone id; write for example use1-az4 (aws ec2 describe-availability-zones shows them)",
        )
    ),
]
"""A zone id such as `use1-az1`: the same place in every account, unlike the name us-east-1a."""
RoleArn = Annotated[
    str,
    AfterValidator(
        rules.spelled(
            r"arn:aws:iam::\d{12}:role/[\w+=,.@/-]+",
            "role ARN; write arn:aws:iam::<12 digits>:role/<name>",
        )
    ),
]
KubernetesName = Annotated[
    str,
    AfterValidator(
        rules.spelled(
            r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?",
            "Kubernetes name; up to 63 of a-z, 0-9 and hyphens inside",
        )
    ),
]
"""An RFC 1123 label, as Kubernetes asks of namespaces, queues, jobs."""
JobName = Annotated[
    str,
    AfterValidator(
        rules.spelled(
            r"[a-z]([-a-z0-9]{0,38}[a-z0-9])?",
            "job name; up to 40 of a-z, 0-9 and hyphens inside, a letter first",
        )
    ),
]
"""Begins the name of pods and of a headless service, so shorter and not led by a digit."""
Quantity = Annotated[str, AfterValidator(rules.quantity)]
"""A Kubernetes resource quantity in quotes: `"500m"`, `"4Gi"`, `"2"`."""
Memory = Annotated[Quantity, AfterValidator(rules.memory)]
Resources = Annotated[dict[str, Quantity], AfterValidator(rules.resources)]
SubnetId = Annotated[
    str, AfterValidator(rules.spelled(r"subnet-\w+", "subnet id; write for example subnet-0a1b2c"))
]
AddonVersion = Annotated[
    str,
    AfterValidator(
        rules.spelled(r"v\d+\.\d+\.\d+-eksbuild\.\d+", "add-on version such as v1.13.2-eksbuild.3")
    ),
]
TaintKey = Annotated[
    str,
    AfterValidator(
        rules.spelled(
            r"([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?",
            "taint key; letters, digits, - _ . with an optional domain/ before",
        )
    ),
]
TaintValue = Annotated[
    str,
    AfterValidator(
        rules.spelled(
            r"([A-Za-z0-9]([-\w.]{0,61}[A-Za-z0-9])?)?",
            "taint value; up to 63 letters, digits, - _ .",
        )
    ),
]
Image = Annotated[str, AfterValidator(rules.image)]
InstanceTypes = Annotated[tuple[str, ...], AfterValidator(rules.instance_types)]
Port = Annotated[int, Field(ge=1, le=65_535)]


class Section(BaseModel):
    """Base of every settings section: frozen, strict, camelCase keys, nothing unknown."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        strict=True,
        validate_default=False,
    )


class ExistingVpcSettings(Section):
    """A VPC that somebody else made: only ids, so that a preview needs no account."""

    private_subnet_ids: dict[ZoneId, SubnetId]
    vpc_id: Annotated[
        str, AfterValidator(rules.spelled(r"vpc-\w+", "VPC id; write for example vpc-0a1b2c"))
    ]


class NetworkSettings(Section):
    """The VPC: its range, its zones, how nodes reach the internet and AWS."""

    availability_zone_ids: tuple[ZoneId, ...]
    existing_vpc: ExistingVpcSettings | None = None
    interface_endpoints: tuple[
        Literal["autoscaling", "ec2", "ecr.api", "ecr.dkr", "eks-auth", "logs", "sts"], ...
    ] = ()
    nat_gateways: Literal["single", "per-zone"]
    vpc_cidr: VpcCidr


class ClusterSettings(Section):
    """The EKS control plane: version, who reaches it, who administers it."""

    addon_versions: dict[str, AddonVersion] = {}
    admin_role_arns: tuple[RoleArn, ...]
    allow_extended_support: bool = False
    log_retention_days: Literal[1, 3, 5, 7, 14, 30, 60, 90, 120, 150, 180, 365] = 30
    preview_role_arns: tuple[RoleArn, ...]
    protect: bool
    public_access_cidrs: tuple[PublicAccessCidr, ...]
    version: Annotated[str, AfterValidator(rules.kubernetes_version)] = (
        versions.DEFAULT_KUBERNETES_VERSION
    )


class SystemNodeSettings(Section):
    """Untainted on-demand nodes for CoreDNS, Volcano and the autoscaler."""

    ami_type: str = "AL2023_x86_64_STANDARD"
    disk_gib: Annotated[int, Field(ge=20, le=16_384)] = 50
    instance_types: InstanceTypes
    max_size: Annotated[int, Field(ge=1, le=100)]
    min_size: Annotated[int, Field(ge=1, le=100)]


class TaintSettings(Section):
    """One more taint of the GPU nodes; every pod that belongs there tolerates it."""

    effect: Annotated[str, AfterValidator(rules.taint_effect)]
    key: TaintKey
    value: TaintValue = ""

    def taint(self) -> gpu.Taint:
        """The taint in the form that components take."""
        return gpu.Taint(key=self.key, value=self.value, effect=self.effect)


class GpuNodeSettings(Section):
    """Tainted GPU nodes, one managed node group a zone."""

    ami_type: str = "AL2023_x86_64_NVIDIA"
    capacity_type: Literal["SPOT", "ON_DEMAND"]
    disk_gib: Annotated[int, Field(ge=100, le=16_384)] = 100
    extra_labels: dict[str, str] = {}
    extra_taints: tuple[TaintSettings, ...] = ()
    instance_types: InstanceTypes
    max_size_per_zone: Annotated[int, Field(ge=1, le=100)]
    min_size_per_zone: Annotated[int, Field(ge=0, le=100)] = 0
    zone_ids: tuple[ZoneId, ...] = ()


class TimeSlicingSettings(Section):
    """Several pods on one GPU; a slice has no memory of its own."""

    fail_requests_greater_than_one: bool = True
    replicas: Annotated[int, Field(ge=2, le=48)]


class DevicePluginSettings(Section):
    """The NVIDIA device plugin."""

    time_slicing: TimeSlicingSettings | None = None


class AutoscalingSettings(Section):
    """Cluster Autoscaler; the Volcano scheduler's profile follows `enabled`."""

    enabled: bool
    scale_down_unneeded_minutes: Annotated[int, Field(ge=1, le=120)] = 10
    scan_interval_seconds: Annotated[int, Field(ge=1, le=60)] = 10


class ChartSettings(Section):
    """Where charts and images come from; nothing set means the official places.

    `directory` holds `<chart>-<version>.tgz` files. `repositories` maps a chart's name to
    another Helm repository. `registry_mirrors` maps an upstream registry (`docker.io`) to the
    prefix that serves its images (`111122223333.dkr.ecr.us-east-1.amazonaws.com/docker-hub`).
    """

    directory: str | None = None
    registry_mirrors: Annotated[dict[str, str], AfterValidator(rules.registry_mirrors)] = {}
    repositories: Annotated[dict[str, str], AfterValidator(rules.chart_repositories)] = {}


class QueueSettings(Section):
    """A Volcano queue. Without `capability` it gets what the GPU fleet can reach."""

    capability: Resources | None = None
    deserved: Resources | None = None
    guarantee: Resources | None = None
    name: KubernetesName
    parent: KubernetesName | None = None
    reclaimable: bool = True
    weight: Annotated[int, Field(ge=1, le=65_535)] = 1


class ResultsSettings(Section):
    """The results bucket; without `bucket_name` Pulumi chooses a free one."""

    bucket_name: Annotated[str, AfterValidator(rules.bucket_name)] | None = None
    checkpoint_expiry_days: Annotated[int, Field(ge=1, le=3650)] = 14
    force_destroy: bool
    noncurrent_expiry_days: Annotated[int, Field(ge=1, le=3650)] = 30
    prefix: Annotated[str, AfterValidator(rules.key_prefix)] = "logs/"


class TrainingJobSettings(Section):
    """The gang: how many workers, how large, in which queue, how patient."""

    cpu_per_worker: Quantity = "2"
    gpus_per_worker: Annotated[int, Field(ge=1, le=8)] = 1
    max_retry: Annotated[int, Field(ge=4, le=100)] = 10
    memory_per_worker: Memory = "4Gi"
    name: JobName = "gang-train"
    namespace: KubernetesName = "training"
    pending_deadline_minutes: Annotated[int, Field(ge=5, le=1440)] = 60
    queue: KubernetesName = "ml-queue"
    shared_memory: Quantity = "1Gi"
    single_zone: bool = True
    workers: Annotated[int, Field(ge=1, le=1000)] = 2


class TrainingSettings(Section):
    """What runs in the gang: framework, image, and the task's numbers."""

    batch_size_per_worker: Annotated[int, Field(ge=1, le=65_536)] = 256
    checkpoint_interval_steps: Annotated[int, Field(ge=1)] = 50
    command: tuple[Annotated[str, StringConstraints(min_length=1)], ...] = ()
    epochs: Annotated[int, Field(ge=1, le=100_000)] = 5
    framework: Literal["pytorch", "tensorflow"] = "pytorch"
    image: Image
    mixed_precision: bool = False
    rendezvous_timeout_seconds: Annotated[int, Field(ge=10, le=3600)] = 300
    script_directory: str | None = None
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 1


class Settings(Section):
    """One environment: the stack name, the region and every section of its stack file."""

    autoscaling: AutoscalingSettings
    charts: ChartSettings = ChartSettings()
    cluster: ClusterSettings
    device_plugin: DevicePluginSettings = DevicePluginSettings()
    environment: Annotated[
        str,
        AfterValidator(
            rules.spelled(
                r"[a-z][a-z0-9-]{0,30}",
                "environment; up to 31 of a-z, 0-9 and hyphens, a letter first",
            )
        ),
    ]
    gpu_nodes: GpuNodeSettings
    network: NetworkSettings
    queues: Annotated[tuple[QueueSettings, ...], Field(min_length=1)]
    region: Annotated[str, AfterValidator(rules.region)]
    results: ResultsSettings
    system_nodes: SystemNodeSettings
    tags: Annotated[dict[str, str], AfterValidator(rules.tags)] = {}
    training: TrainingSettings
    training_job: TrainingJobSettings = TrainingJobSettings()
