"""Every refusal and warning that joins two or more settings, one small generator each."""

import datetime
import ipaddress
from collections.abc import Callable, Iterator
from typing import Final

from components import gpu, versions
from components.instance_types import INSTANCE_TYPES
from components.node_group_rules import gpu_node_labels
from components.training_pod import USER_SCRIPT
from stacks import capacity, gang_problems, network_problems, rules
from stacks.settings import ADDON_NAMES, Settings
from stacks.trainer_files import user_files

DOCUMENTATION_NETWORKS: Final = tuple(
    ipaddress.IPv4Network(cidr) for cidr in ("192.0.2.0/24", "198.51.100.0/24", "203.0.113.0/24")
)
"""RFC 5737."""
AL2_LAST_KUBERNETES: Final = "1.32"
"""EKS publishes no AL2 image for 1.33 and later, and none at all since 2025-11-26."""

RESERVED_NAMESPACES: Final = (
    "default",
    "kube-node-lease",
    "kube-public",
    "kube-system",
    "nvidia-device-plugin",
    "volcano-system",
)

Problems = Iterator[str]


def _sizes(settings: Settings) -> Problems:
    system, gpus = settings.system_nodes, settings.gpu_nodes
    if system.min_size > system.max_size:
        yield (
            f"gangway:systemNodes.minSize is {system.min_size}, above maxSize {system.max_size}; "
            "minSize may be at most maxSize"
        )
    if gpus.min_size_per_zone > gpus.max_size_per_zone:
        yield (
            f"gangway:gpuNodes.minSizePerZone is {gpus.min_size_per_zone}, above maxSizePerZone "
            f"{gpus.max_size_per_zone}; it may be at most maxSizePerZone"
        )


def _gpu_instance_types(settings: Settings) -> Problems:
    counts = {name: INSTANCE_TYPES[name].gpus for name in settings.gpu_nodes.instance_types}
    without = [name for name, count in counts.items() if count == 0]
    if without:
        yield (
            f"gangway:gpuNodes.instanceTypes has {', '.join(without)}, which has no GPU; "
            "list GPU instance types such as g4dn.xlarge"
        )
    elif len(set(counts.values())) > 1:
        given = ", ".join(f"{name} ({count})" for name, count in counts.items())
        yield (
            f"gangway:gpuNodes.instanceTypes mixes GPU counts: {given}; list types of one GPU "
            "count, so that one gang plan fits whichever comes"
        )
    models = {INSTANCE_TYPES[name].accelerator for name in counts}
    if not without and len(models) > 1:
        yield (
            f"gangway:gpuNodes.instanceTypes mixes GPU models: {', '.join(sorted(models))}; "
            "list types of one model, or the slowest GPU sets the pace of the gang"
        )


def _system_instance_types(settings: Settings) -> Problems:
    with_gpu = [name for name in settings.system_nodes.instance_types if INSTANCE_TYPES[name].gpus]
    if with_gpu:
        yield (
            f"gangway:systemNodes.instanceTypes has {', '.join(with_gpu)}, a GPU type; system "
            "nodes carry no training, list CPU types such as t3.medium"
        )


def _gpu_ami(settings: Settings) -> Problems:
    ami, version = settings.gpu_nodes.ami_type, settings.cluster.version
    key = f"gangway:gpuNodes.amiType is {ami}"
    if ami.startswith("AL2_"):
        yield f"{key}, whose images ended on 2025-11-26; use AL2023_x86_64_NVIDIA" + (
            f" (Kubernetes {version} has none at all)" if version > AL2_LAST_KUBERNETES else ""
        )
    elif ami.startswith("BOTTLEROCKET") and "NVIDIA" in ami:
        yield (
            f"{key}, which brings its own device plugin, and a second one would hide the GPU from "
            "containers; use AL2023_x86_64_NVIDIA"
        )
    elif ami != "AL2023_x86_64_NVIDIA":
        yield (
            f"{key}, which has no NVIDIA driver for the x86_64 GPU types listed; "
            "use AL2023_x86_64_NVIDIA"
        )


def _system_ami(settings: Settings) -> Problems:
    ami = settings.system_nodes.ami_type
    if ami not in ("AL2023_x86_64_STANDARD", "BOTTLEROCKET_x86_64"):
        yield (
            f"gangway:systemNodes.amiType is {ami}; allowed: AL2023_x86_64_STANDARD, "
            "BOTTLEROCKET_x86_64"
        )


def _spot_pools(settings: Settings) -> Problems:
    gpus = settings.gpu_nodes
    pools = len(gpus.instance_types) * len(capacity.gpu_zone_ids(settings))
    if gpus.capacity_type == "SPOT" and pools < 2:  # noqa: PLR2004 - one pool is the trap
        yield (
            f"gangway:gpuNodes has capacityType SPOT with one instance type "
            f"({gpus.instance_types[0]}) in one zone, a single spot pool that runs dry; add a type "
            "of the same GPU count or a zone, or choose ON_DEMAND"
        )


def _version(settings: Settings, today: datetime.date) -> Problems:
    for sentence in rules.extended_support(
        settings.cluster.version,
        allowed=settings.cluster.allow_extended_support,
        today=today,
    ):
        yield f"gangway:cluster.{sentence}"


def _names(settings: Settings) -> Problems:
    taints = [(taint.key, taint.effect) for taint in settings.gpu_nodes.extra_taints]
    for key, effect in dict.fromkeys(taints):
        if key == gpu.GPU_TAINT.key:
            yield f"gangway:gpuNodes.extraTaints has {key!r}, which the stack sets; remove it"
        if taints.count((key, effect)) > 1:
            yield (
                f"gangway:gpuNodes.extraTaints has {key!r} with {effect} twice; a node takes each "
                "key and effect once"
            )
    if settings.training_job.namespace in RESERVED_NAMESPACES:
        yield (
            f"gangway:trainingJob.namespace is {settings.training_job.namespace!r}, where the "
            "webhooks or the stack's own parts live; choose a namespace for training alone"
        )


def _extra_labels(settings: Settings) -> Problems:
    try:
        gpu_node_labels(settings.gpu_nodes.instance_types, settings.gpu_nodes.extra_labels)
    except ValueError as error:
        yield f"gangway:gpuNodes.extraLabels: {error}"


def _chart_sources(settings: Settings) -> Problems:
    charts = settings.charts
    if charts.directory is not None and charts.repositories:
        yield (
            f"gangway:charts.directory is {charts.directory!r} beside repositories for "
            f"{', '.join(sorted(charts.repositories))}; a chart comes from one place, set one"
        )


def _roles(settings: Settings) -> Problems:
    lists = {
        "adminRoleArns": settings.cluster.admin_role_arns,
        "previewRoleArns": settings.cluster.preview_role_arns,
    }
    for key, arns in lists.items():
        for arn in sorted({arn for arn in arns if arns.count(arn) > 1}):
            yield f"gangway:cluster.{key} names {arn} twice; name each role once"
    for arn in sorted(set(lists["adminRoleArns"]) & set(lists["previewRoleArns"])):
        yield (
            f"gangway:cluster.adminRoleArns and previewRoleArns both name {arn}; EKS takes one "
            "access entry for a role, leave it in one list"
        )


def _user_code(settings: Settings) -> Problems:
    training = settings.training
    if training.command and training.script_directory:
        yield (
            "gangway:training sets both command and scriptDirectory; a command runs what is in "
            "the image, scriptDirectory mounts files: set one"
        )
        return
    try:
        names = user_files(training.script_directory)
    except ValueError as error:
        yield str(error)
        return
    if names and USER_SCRIPT not in names:
        yield (
            f"gangway:training.scriptDirectory {training.script_directory} has "
            f"{', '.join(names)}; {USER_SCRIPT} with a function train(context) must be there"
        )


def _addons(settings: Settings) -> Problems:
    unknown = sorted(set(settings.cluster.addon_versions) - set(ADDON_NAMES))
    if unknown:
        yield (
            f"gangway:cluster.addonVersions has {', '.join(unknown)}; allowed: "
            f"{', '.join(ADDON_NAMES)}"
        )


RULES: Final[tuple[Callable[[Settings], Problems], ...]] = (
    *network_problems.RULES,
    _sizes,
    _gpu_instance_types,
    _system_instance_types,
    _gpu_ami,
    _system_ami,
    _spot_pools,
    _names,
    _extra_labels,
    _chart_sources,
    _roles,
    _user_code,
    _addons,
    *gang_problems.RULES,
)


def _reachability(settings: Settings) -> Problems:
    cidrs = settings.cluster.public_access_cidrs
    if not cidrs:
        yield (
            "gangway:cluster.publicAccessCidrs is empty: the API server answers inside the VPC "
            "only, and `pulumi up` must run there (a runner or VPN in the VPC)"
        )
    for cidr in cidrs:
        if any(ipaddress.IPv4Network(cidr).subnet_of(net) for net in DOCUMENTATION_NETWORKS):
            yield (
                f"gangway:cluster.publicAccessCidrs has {cidr}, a documentation range (RFC 5737); "
                "put your own network there before `pulumi up`"
            )


def _administrators(settings: Settings) -> Problems:
    if not settings.cluster.admin_role_arns:
        yield (
            "gangway:cluster.adminRoleArns is empty: only the identity that creates the cluster "
            "can administer it; list the roles of your pipeline and administrators"
        )
    if not settings.cluster.preview_role_arns:
        yield (
            "gangway:cluster.previewRoleArns is empty: a pull request's `pulumi preview` cannot "
            "read the cluster; list its read-only role"
        )


def _shared_gpu(settings: Settings) -> Problems:
    slicing = settings.device_plugin.time_slicing
    if slicing and not slicing.fail_requests_greater_than_one:
        yield (
            "gangway:devicePlugin.timeSlicing lets one worker ask for several slices, and two "
            "slices may be the same card; set failRequestsGreaterThanOne: true"
        )


def _kept_data(settings: Settings) -> Problems:
    if settings.cluster.protect and settings.results.force_destroy:
        yield (
            "gangway:results.forceDestroy is true while gangway:cluster.protect is true: "
            "`destroy` would delete the results of a protected environment"
        )


def _pinned_together(settings: Settings) -> Problems:
    version = settings.cluster.version
    if version != versions.DEFAULT_KUBERNETES_VERSION:
        yield (
            f"gangway:cluster.version is {version}; the pinned Volcano, autoscaler and kubectl "
            f"are those of {versions.DEFAULT_KUBERNETES_VERSION} (components/versions.py)"
        )


def _framework_image(settings: Settings) -> Problems:
    training = settings.training
    others = {"pytorch", "tensorflow"} - {training.framework}
    for other in sorted(others):
        if other in training.image and training.framework not in training.image:
            yield (
                f"gangway:training.framework is {training.framework} and the image is "
                f"{training.image}, which looks like one for {other}; name an image that has "
                f"{training.framework}, for example {versions.TRAINING_IMAGES[training.framework]}"
            )


WARNINGS: Final[tuple[Callable[[Settings], Problems], ...]] = (
    _reachability,
    _administrators,
    _shared_gpu,
    _kept_data,
    _pinned_together,
    _framework_image,
)


def refusals(settings: Settings, today: datetime.date) -> list[str]:
    """Every reason why this environment must not be brought up, empty when there is none."""
    found = [sentence for rule in RULES for sentence in rule(settings)]
    return [*found, *_version(settings, today)]


def warnings(settings: Settings) -> list[str]:
    """What is allowed and still worth a look before `pulumi up`."""
    return [sentence for rule in WARNINGS for sentence in rule(settings)]
