"""Facts per EC2 instance type: vCPUs, memory, GPUs, and what EKS leaves allocatable."""

from dataclasses import dataclass
from typing import Final

VM_MEMORY_OVERHEAD: Final = 0.075
"""Share of an instance's memory that hypervisor and kernel keep, a little more than was ever
seen (Karpenter's default VM_MEMORY_OVERHEAD_PERCENT): a plan must not count on too much."""


@dataclass(frozen=True, kw_only=True, slots=True)
class InstanceType:
    """Size of one EC2 instance type; `gpu_memory_mib` is what the driver reports for each GPU.

    `network_interfaces` and `addresses_per_interface` give EKS's pod limit (amazon-eks-ami
    eni-max-pods.txt: interfaces x (addresses - 1) + 2).
    """

    name: str
    vcpus: int
    memory_mib: int
    gpus: int
    gpu_model: str
    gpu_memory_mib: int
    accelerator: str
    network_interfaces: int
    addresses_per_interface: int
    architecture: str = "amd64"

    @property
    def max_pods(self) -> int:
        """Pods that the VPC CNI can address on the node without prefix delegation."""
        return self.network_interfaces * (self.addresses_per_interface - 1) + 2

    @property
    def allocatable_cpu_millicores(self) -> int:
        """CPU left to pods after EKS's kube-reserved.

        Reserved: 6 % of core 1, 1 % of core 2, 0.5 % of cores 3 and 4, 0.25 % of each above.

        Source: amazon-eks-ami nodeadm, kubelet defaults (kube-reserved by CPU count).
        """
        shares = [60, 10, 5, 5]
        reserved = sum(shares[: self.vcpus]) + max(0, self.vcpus - len(shares)) * 2.5
        return self.vcpus * 1000 - int(reserved)

    @property
    def allocatable_memory_mib(self) -> int:
        """Memory left to pods in MiB: capacity - (11 x max pods + 255) - 100 hard eviction.

        Source: amazon-eks-ami nodeadm, kubelet defaults (kube-reserved by pod count).
        """
        capacity = int(self.memory_mib * (1 - VM_MEMORY_OVERHEAD))
        return capacity - (11 * self.max_pods + 255) - 100


T4 = "Tesla T4"
T4_LABEL = "nvidia-tesla-t4"
A10G = "NVIDIA A10G"
A10G_LABEL = "nvidia-a10g"


def _t4(
    size: str, vcpus: int, memory_gib: int, gpus: int, enis: int, addresses: int
) -> InstanceType:
    return InstanceType(
        name=f"g4dn.{size}",
        vcpus=vcpus,
        memory_mib=memory_gib * 1024,
        gpus=gpus,
        gpu_model=T4,
        gpu_memory_mib=15_360,
        accelerator=T4_LABEL,
        network_interfaces=enis,
        addresses_per_interface=addresses,
    )


def _a10g(size: str, vcpus: int, memory_gib: int, enis: int, addresses: int) -> InstanceType:
    return InstanceType(
        name=f"g5.{size}",
        vcpus=vcpus,
        memory_mib=memory_gib * 1024,
        gpus=1,
        gpu_model=A10G,
        gpu_memory_mib=23_028,
        accelerator=A10G_LABEL,
        network_interfaces=enis,
        addresses_per_interface=addresses,
    )


def _cpu(name: str, vcpus: int, memory_gib: int, enis: int, addresses: int) -> InstanceType:
    return InstanceType(
        name=name,
        vcpus=vcpus,
        memory_mib=memory_gib * 1024,
        gpus=0,
        gpu_model="",
        gpu_memory_mib=0,
        accelerator="",
        network_interfaces=enis,
        addresses_per_interface=addresses,
    )


INSTANCE_TYPES: Final = {
    instance.name: instance
    for instance in (
        _t4("xlarge", 4, 16, 1, 3, 10),
        _t4("2xlarge", 8, 32, 1, 3, 10),
        _t4("4xlarge", 16, 64, 1, 3, 10),
        _t4("8xlarge", 32, 128, 1, 4, 15),
        _t4("16xlarge", 64, 256, 1, 4, 15),
        _t4("12xlarge", 48, 192, 4, 8, 30),
        _a10g("xlarge", 4, 16, 4, 15),
        _a10g("2xlarge", 8, 32, 4, 15),
        _a10g("4xlarge", 16, 64, 8, 30),
        _cpu("t3.medium", 2, 4, 3, 6),
        _cpu("t3.large", 2, 8, 3, 12),
        _cpu("t3.xlarge", 4, 16, 4, 15),
        _cpu("m6i.large", 2, 8, 3, 10),
        _cpu("m6i.xlarge", 4, 16, 4, 15),
        _cpu("m7i.large", 2, 8, 3, 10),
        _cpu("m7i.xlarge", 4, 16, 4, 15),
    )
}
"""Instance types this project knows (EC2 instance type reference, read 2026-11-30)."""
