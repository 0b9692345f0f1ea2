"""Refusals about queues and the gang: what cannot be scheduled is told before it is paid for."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final

from components import limits, quantities
from stacks import capacity
from stacks.settings import QueueSettings, Settings

Problems = Iterator[str]


def _queue_names(settings: Settings) -> Problems:
    names = [queue.name for queue in settings.queues]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"gangway:queues names {name} twice; name each queue once"
    for name in names:
        if name in limits.RESERVED_QUEUES:
            yield f"gangway:queues has {name!r}, which Volcano owns; choose another name"
    job_queue = settings.training_job.queue
    if job_queue not in names:
        yield (
            f"gangway:trainingJob.queue is {job_queue!r}; allowed are the queues of "
            f"gangway:queues: {', '.join(names)}"
        )
    parents = {queue.parent for queue in settings.queues if queue.parent}
    for parent in sorted(parents - {*names, "root"}):
        yield (
            f"gangway:queues has parent {parent!r}, which is no queue; allowed: root, "
            f"{', '.join(names)}"
        )
    if job_queue in parents:
        yield (
            f"gangway:trainingJob.queue is {job_queue!r}, the parent of another queue; jobs go to "
            "leaf queues only"
        )


def _queue_parent_loops(settings: Settings) -> Problems:
    parents = {queue.name: queue.parent for queue in settings.queues}
    for name, parent in parents.items():
        seen, current = [name], parent
        while current in parents and current not in seen:
            seen.append(current)
            current = parents[current]
        if current == name and name == min(seen):
            yield f"gangway:queues: {name} is its own ancestor ({' -> '.join([*seen, name])})"


def _queue_hierarchy(settings: Settings) -> Problems:
    """What Volcano's capacity plugin refuses to schedule at all (its hierarchy check)."""
    by_name = {queue.name: queue for queue in settings.queues}
    children = [queue for queue in settings.queues if queue.parent in by_name]
    gpus = settings.gpu_nodes
    if children and (
        settings.autoscaling.enabled or gpus.min_size_per_zone < gpus.max_size_per_zone
    ):
        yield (
            f"gangway:queues[{children[0].name}].parent is set while GPU nodes come and go; "
            "Volcano schedules nothing while queues of a hierarchy are larger than the nodes of "
            "the moment: drop parent and share by weight and deserved, or keep all nodes "
            "(autoscaling.enabled: false, minSizePerZone = maxSizePerZone)"
        )
    for queue in children:
        parent = by_name[str(queue.parent)]
        limit = capacity.queue_capability(settings, parent)
        own = capacity.queue_capability(settings, queue)
        for resource in quantities.exceeding(own, limit):
            yield (
                f"gangway:queues[{queue.name}].capability {resource} is {own[resource]}, above "
                f"{limit[resource]} of its parent {parent.name}; a child may have at most as much"
            )
    yield from _shares_of_children(by_name, children)


def _shares_of_children(
    by_name: Mapping[str, QueueSettings], children: Sequence[QueueSettings]
) -> Problems:
    for parent in sorted({str(child.parent) for child in children}):
        family = [child for child in children if child.parent == parent]
        for share in ("deserved", "guarantee"):
            own = getattr(by_name[parent], share) or {}
            for resource in sorted(
                {name for child in family for name in getattr(child, share) or {}}
            ):
                wanted = sum(
                    quantities.amount((getattr(child, share) or {}).get(resource, "0"))
                    for child in family
                )
                if wanted > quantities.amount(own.get(resource, "0")):
                    yield (
                        f"gangway:queues[{parent}].{share} {resource} is "
                        f"{own.get(resource, 'not set')}, less than its children's together; "
                        "a parent has at least their sum"
                    )


def _queue_amounts(settings: Settings) -> Problems:
    for queue in settings.queues:
        yield from _queue_order(queue, settings)


def _queue_order(queue: QueueSettings, settings: Settings) -> Problems:
    key = f"gangway:queues[{queue.name}]"
    if queue.guarantee and not queue.deserved:
        yield f"{key}.guarantee is set without deserved; Volcano wants deserved beside it"
    layers = (
        ("guarantee", queue.guarantee, "deserved", queue.deserved),
        ("deserved", queue.deserved, "capability", capacity.queue_capability(settings, queue)),
    )
    for low_name, low, high_name, high in layers:
        if low and high:
            for resource in quantities.exceeding(low, high):
                yield (
                    f"{key}.{low_name} {resource} is {low[resource]}, above {high_name} "
                    f"{high[resource]}; guarantee <= deserved <= capability"
                )
    fleet = capacity.fleet_capability(settings)
    for resource in quantities.exceeding(queue.capability or {}, fleet):
        yield (
            f"{key}.capability {resource} is {(queue.capability or {})[resource]}, more than the "
            f"GPU fleet can reach ({fleet[resource]}); lower it or raise "
            "gangway:gpuNodes.maxSizePerZone"
        )


def _capability_names_all(settings: Settings) -> Problems:
    wanted = set(capacity.worker_requests(settings))
    for queue in settings.queues:
        if queue.name != settings.training_job.queue or not queue.capability:
            continue
        missing = sorted(wanted - set(queue.capability))
        if missing:
            yield (
                f"gangway:queues[{queue.name}].capability lacks {', '.join(missing)}; capability "
                "must name every resource the jobs request (a missing one counts as 0), or be "
                "left out"
            )


def _gang_fits_queue(settings: Settings) -> Problems:
    job, gang = settings.training_job, capacity.gang_requests(settings)
    for queue in settings.queues:
        if queue.name != job.queue:
            continue
        limit = capacity.queue_capability(settings, queue)
        for resource in quantities.exceeding(gang, limit):
            yield (
                f"gangway:trainingJob asks {job.workers} workers x "
                f"{capacity.worker_requests(settings)[resource]} {resource} = {gang[resource]}, "
                f"above the capability of queue {queue.name} ({limit[resource]}); ask less or "
                "raise the capability"
            )


def _gang_fits_fleet(settings: Settings) -> Problems:
    job, gpus = settings.training_job, settings.gpu_nodes
    node = capacity.smallest_gpu_instance(settings)
    if node.gpus == 0:
        return
    per_node = capacity.workers_per_node(settings)
    if per_node == 0:
        wanted = capacity.worker_requests(settings)
        yield (
            f"gangway:trainingJob asks {wanted['cpu']} cpu, {wanted['memory']} memory and "
            f"{job.gpus_per_worker} GPU per worker; {node.name} offers "
            f"{node.allocatable_cpu_millicores - capacity.DAEMON_CPU_MILLICORES}m cpu, "
            f"{node.allocatable_memory_mib - capacity.DAEMON_MEMORY_MIB}Mi memory and "
            f"{capacity.gpus_per_node(settings)} GPU to pods; ask less or list larger types"
        )
        return
    zones = 1 if job.single_zone else len(capacity.gpu_zone_ids(settings))
    reach = zones * gpus.max_size_per_zone * per_node
    if job.workers > reach:
        where = "one zone" if job.single_zone else f"{zones} zones"
        yield (
            f"gangway:trainingJob.workers is {job.workers}; {where} x maxSizePerZone "
            f"{gpus.max_size_per_zone} x {per_node} workers a node ({node.name}) = {reach}; "
            "ask fewer workers or raise gangway:gpuNodes.maxSizePerZone"
        )


def _nodes_will_come(settings: Settings) -> Problems:
    if settings.autoscaling.enabled:
        return
    job, gpus = settings.training_job, settings.gpu_nodes
    per_node = capacity.workers_per_node(settings)
    zones = 1 if job.single_zone else len(capacity.gpu_zone_ids(settings))
    standing = zones * gpus.min_size_per_zone * per_node
    if job.workers > standing:
        yield (
            f"gangway:autoscaling.enabled is false and gangway:gpuNodes.minSizePerZone is "
            f"{gpus.min_size_per_zone}, room for {standing} of {job.workers} workers: nothing "
            "would add nodes and the gang would wait for ever; raise minSizePerZone or enable "
            "autoscaling"
        )


def _time_slicing(settings: Settings) -> Problems:
    slicing, wanted = settings.device_plugin.time_slicing, settings.training_job.gpus_per_worker
    if slicing and slicing.fail_requests_greater_than_one and wanted > 1:
        yield (
            f"gangway:devicePlugin.timeSlicing refuses requests above 1 and "
            f"gangway:trainingJob.gpusPerWorker is {wanted}; ask 1 or drop timeSlicing"
        )


def _memory(settings: Settings) -> Problems:
    job = settings.training_job
    if quantities.amount(job.shared_memory) >= quantities.amount(job.memory_per_worker):
        yield (
            f"gangway:trainingJob.sharedMemory is {job.shared_memory} and counts towards "
            f"memoryPerWorker {job.memory_per_worker}; it must be smaller"
        )


RULES: Final[tuple[Callable[[Settings], Problems], ...]] = (
    _queue_names,
    _queue_parent_loops,
    _queue_hierarchy,
    _queue_amounts,
    _capability_names_all,
    _gang_fits_queue,
    _gang_fits_fleet,
    _nodes_will_come,
    _time_slicing,
    _memory,
)
