"""Every pinned chart and image: the value, where it comes from, and why this one."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartPin:
    """A Helm chart at one version in its official repository."""

    chart: str
    repository: str
    version: str


VOLCANO_CHART: Final = ChartPin(
    chart="volcano",
    repository="https://volcano-sh.github.io/helm-charts",
    version="1.15.0",
)
"""Volcano 1.15 is tested against Kubernetes 1.35 (its README's compatibility table)."""

VOLCANO_IMAGE_TAG: Final = "v1.15.0"
"""Tag of Volcano's images: always the chart's version, so flags and programs agree."""

NVIDIA_DEVICE_PLUGIN_CHART: Final = ChartPin(
    chart="nvidia-device-plugin",
    repository="https://nvidia.github.io/k8s-device-plugin",
    version="0.20.0",
)
"""Newest release in the chart index on 2026-11-30."""

CLUSTER_AUTOSCALER_CHART: Final = ChartPin(
    chart="cluster-autoscaler",
    repository="https://kubernetes.github.io/autoscaler",
    version="9.59.0",
)
"""Chart that defaults to Cluster Autoscaler 1.35."""

CHARTS: Final = (VOLCANO_CHART, NVIDIA_DEVICE_PLUGIN_CHART, CLUSTER_AUTOSCALER_CHART)
"""Every chart that the stack installs."""

CLUSTER_AUTOSCALER_IMAGE_TAG: Final = "v1.35.2"
"""The autoscaler simulates the scheduler, so its minor version follows the cluster's."""

KUBECTL_IMAGE: Final = "registry.k8s.io/kubectl:v1.35.4"
"""Runs the readiness gate; same minor version as the cluster."""

TRAINING_IMAGES: Final = {
    "pytorch": "public.ecr.aws/deep-learning-containers/pytorch:2.12-cu130-amzn2023",
    "tensorflow": "docker.io/tensorflow/tensorflow:2.21.0-gpu",
}
"""Public training images.

PyTorch: the AWS Deep Learning Container whose CUDA 13.0 runs on the EKS NVIDIA AMI's R580
driver and still carries sm_75 (T4); boto3 is inside; ECR Public has no pull limit per address.
"""

DEFAULT_KUBERNETES_VERSION: Final = "1.35"
"""In EKS standard support until 2027-03-27 and the exact match of Volcano 1.15."""


@dataclass(frozen=True, kw_only=True, slots=True)
class KubernetesSupport:
    """Last days of EKS standard and extended support of a minor version, ISO dates."""

    standard_until: str
    extended_until: str


EKS_KUBERNETES_SUPPORT: Final = {
    "1.32": KubernetesSupport(standard_until="2026-03-23", extended_until="2027-03-23"),
    "1.33": KubernetesSupport(standard_until="2026-07-29", extended_until="2027-07-29"),
    "1.34": KubernetesSupport(standard_until="2026-12-02", extended_until="2027-12-02"),
    "1.35": KubernetesSupport(standard_until="2027-03-27", extended_until="2028-03-27"),
    "1.36": KubernetesSupport(standard_until="2027-08-02", extended_until="2028-08-02"),
}
"""EKS release calendar (endoflife.date, amazon-eks, 2026-08-22)."""
