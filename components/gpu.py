"""Names that both sides of a boundary must spell alike: GPU resource, taint, labels.

EKS, Kubernetes, the device plugin, the autoscaler and Volcano each read some of these. They
stand here once; `tests/test_contracts.py` joins producer and consumer.
"""

from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

GPU_RESOURCE: Final = "nvidia.com/gpu"
"""Extended resource that the NVIDIA device plugin advertises (its chart's default)."""

GPU_PRESENT_LABEL: Final = "nvidia.com/gpu.present"
"""Label the device plugin's DaemonSet asks for when no feature discovery runs (chart 0.20.0)."""

ACCELERATOR_LABEL: Final = "k8s.amazonaws.com/accelerator"
"""Label by which Cluster Autoscaler's AWS provider knows a GPU node whose GPU is not up yet."""

NODE_ROLE_LABEL: Final = "gangway.dev/node-role"
"""Our own split: `system` nodes carry the controllers, `gpu` nodes the training."""

SYSTEM_NODE_ROLE: Final = "system"
GPU_NODE_ROLE: Final = "gpu"

EKS_TAINT_EFFECTS: Final = MappingProxyType(
    {
        "NoSchedule": "NO_SCHEDULE",
        "NoExecute": "NO_EXECUTE",
        "PreferNoSchedule": "PREFER_NO_SCHEDULE",
    }
)
"""Kubernetes spelling of a taint's effect -> EKS spelling (botocore eks TaintEffect)."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Taint:
    """A node taint, effect in Kubernetes spelling; `eks_effect` gives the other one."""

    key: str
    value: str
    effect: str

    def __post_init__(self) -> None:
        """Refuse an effect that Kubernetes does not know."""
        if self.effect not in EKS_TAINT_EFFECTS:
            allowed = ", ".join(EKS_TAINT_EFFECTS)
            message = f"taint {self.key}: effect is {self.effect!r}; allowed: {allowed}"
            raise ValueError(message)

    @property
    def eks_effect(self) -> str:
        """The effect as the EKS API spells it, for example `NO_SCHEDULE`."""
        return EKS_TAINT_EFFECTS[self.effect]

    @property
    def autoscaler_tag_value(self) -> str:
        """Value of the Auto Scaling tag `k8s.io/cluster-autoscaler/node-template/taint/KEY`."""
        return f"{self.value}:{self.effect}"

    def toleration(self) -> dict[str, str]:
        """The pod toleration that matches this taint whatever its value is."""
        return {"key": self.key, "operator": "Exists", "effect": self.effect}


GPU_TAINT: Final = Taint(key=GPU_RESOURCE, value="present", effect="NoSchedule")
"""Keeps pods without a GPU off GPU nodes; feature discovery's worker tolerates only `present`."""
