"""Arithmetic of a gang: what it asks for, and what node, zone, fleet and queue offer.

Pure functions over `Settings`; `stacks/problems.py` turns them into sentences.
"""

from typing import Final

from components import gpu, quantities
from components.instance_types import INSTANCE_TYPES, InstanceType
from stacks.settings import QueueSettings, Settings

DAEMON_CPU_MILLICORES: Final = 250
"""Requests of the pods that every GPU node runs (CNI, kube-proxy, agents, device plugin)."""
DAEMON_MEMORY_MIB: Final = 256
_DIRECTIONS: Final = {
    "central": "c", "east": "e", "west": "w", "north": "n", "south": "s",
    "northeast": "ne", "northwest": "nw", "southeast": "se", "southwest": "sw",
}  # fmt: skip


def gpu_zone_ids(settings: Settings) -> tuple[str, ...]:
    """Zones that get a GPU node group: those named, else all of the network's."""
    return settings.gpu_nodes.zone_ids or settings.network.availability_zone_ids


def smallest_gpu_instance(settings: Settings) -> InstanceType:
    """The instance type that a plan must fit, as any of those listed may be what comes."""
    types = [INSTANCE_TYPES[name] for name in settings.gpu_nodes.instance_types]
    return min(types, key=lambda item: (item.gpus, item.vcpus, item.memory_mib))


def gpus_per_node(settings: Settings) -> int:
    """GPUs that one node offers, time slices counted."""
    slicing = settings.device_plugin.time_slicing
    return smallest_gpu_instance(settings).gpus * (slicing.replicas if slicing else 1)


def fleet_capability(settings: Settings) -> dict[str, str]:
    """What all GPU node groups offer at their largest, as queue capability."""
    node = smallest_gpu_instance(settings)
    nodes = settings.gpu_nodes.max_size_per_zone * len(gpu_zone_ids(settings))
    return {
        "cpu": f"{nodes * node.allocatable_cpu_millicores}m",
        "memory": f"{nodes * node.allocatable_memory_mib}Mi",
        gpu.GPU_RESOURCE: str(nodes * gpus_per_node(settings)),
    }


def queue_capability(settings: Settings, queue: QueueSettings) -> dict[str, str]:
    """The queue's own capability, else what the fleet can reach."""
    return dict(queue.capability) if queue.capability else fleet_capability(settings)


def worker_requests(settings: Settings) -> dict[str, str]:
    """What one worker asks for."""
    job = settings.training_job
    return {
        "cpu": job.cpu_per_worker,
        "memory": job.memory_per_worker,
        gpu.GPU_RESOURCE: str(job.gpus_per_worker),
    }


def gang_requests(settings: Settings) -> dict[str, str]:
    """What the whole gang asks for at once."""
    workers = settings.training_job.workers
    return {
        name: quantities.times(quantity, workers)
        for name, quantity in worker_requests(settings).items()
    }


def workers_per_node(settings: Settings) -> int:
    """How many workers the smallest GPU node holds beside its daemons; 0 when none fits."""
    node = smallest_gpu_instance(settings)
    worker = worker_requests(settings)
    cpu = (node.allocatable_cpu_millicores - DAEMON_CPU_MILLICORES) / (
        quantities.amount(worker["cpu"]) * 1000
    )
    memory = ((node.allocatable_memory_mib - DAEMON_MEMORY_MIB) * 2**20) / quantities.amount(
        worker["memory"]
    )
    gpus = gpus_per_node(settings) // settings.training_job.gpus_per_worker
    return min(int(cpu), int(memory), gpus)


def region_zone_prefix(region: str) -> str:
    """`us-east-1` -> `use1`, how zone ids of the region begin (EC2's zone id scheme)."""
    area, *directions, number = region.split("-")
    return area + "".join(_DIRECTIONS.get(part, part[0]) for part in directions) + number
