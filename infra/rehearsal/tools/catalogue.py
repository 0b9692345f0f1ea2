"""Every tool of the rehearsal, pinned: version, sources in the order to try them, size, why.

Sums of mirror files are those of its SHA256SUMS. Release files are checked against the sum their
publisher serves beside them, charts against their repository's index, layers against their
digests, and Go modules against the go.sum files in go/.
"""

from collections.abc import Mapping
from typing import Final

from components.versions import (
    CLUSTER_AUTOSCALER_CHART,
    CLUSTER_AUTOSCALER_IMAGE_TAG,
    NVIDIA_DEVICE_PLUGIN_CHART,
    VOLCANO_CHART,
    VOLCANO_IMAGE_TAG,
    ChartPin,
)
from infra.rehearsal.tools.go_build import GoBuild
from infra.rehearsal.tools.mirror import MirrorFile
from infra.rehearsal.tools.model import PathRule, Tool
from infra.rehearsal.tools.official import HelmChart, ReleaseFile
from infra.rehearsal.tools.registry import ImageFile

KUBERNETES_VERSION: Final = "1.35.4"
"""The minor version that EKS runs (components/versions.py), newest patch with a kubectl image."""

ETCD_VERSION: Final = "3.6.16"
"""Newest 3.6, the line that Kubernetes 1.35 is released with."""

KWOK_VERSION: Final = "0.8.0"
"""Newest release; runs a 1.35 control plane as plain processes."""

PULUMI_VERSION: Final = "3.274.1"
"""Newest CLI on the module proxy on 2026-11-30; drives the SDK 3.272.0 of requirements.txt."""

PULUMI_KUBERNETES_VERSION: Final = "4.34.2"
"""The SDK's version in requirements.txt."""

PULUMI_KUBERNETES_MODULE_VERSION: Final = "4.0.0-20260115033456-f47bc2d6f199"
"""The only provider build on the module proxy; serves SDK 4.34.2 with a version warning."""

PULUMI_EKS_VERSION: Final = "4.3.0"
"""The provider that the mirror carries; serves SDK 4.4.0 with a version warning."""


def _kubernetes(name: str, why: str, megabytes: int, seconds: int) -> Tool:
    version = f"v{KUBERNETES_VERSION}"
    url = f"https://dl.k8s.io/{version}/bin/{{os}}/{{arch}}/{name}"
    major, minor, _ = KUBERNETES_VERSION.split(".")
    return Tool(
        name=name,
        version=KUBERNETES_VERSION,
        why=why,
        megabytes=megabytes,
        on_path=PathRule(
            arguments=("version", "--client") if name == "kubectl" else ("--version",)
        ),
        sources=(
            ReleaseFile(url=url, checksums=f"{url}.sha256", entry=name),
            GoBuild(
                build_module="kubernetes",
                module="k8s.io/kubernetes",
                module_version=version,
                package=f"k8s.io/kubernetes/cmd/{name}",
                entry=name,
                seconds=seconds,
                variables=(
                    ("k8s.io/component-base/version.gitVersion", version),
                    ("k8s.io/component-base/version.gitMajor", major),
                    ("k8s.io/component-base/version.gitMinor", minor),
                ),
            ),
        ),
    )


def _kwok(name: str, why: str, seconds: int) -> Tool:
    version = f"v{KWOK_VERSION}"
    releases = "https://github.com/kubernetes-sigs/kwok/releases/download"
    return Tool(
        name=name,
        version=KWOK_VERSION,
        why=why,
        megabytes=60,
        on_path=PathRule(arguments=("--version",)),
        sources=(
            # KWOK publishes no sums: TLS alone vouches for these two.
            ReleaseFile(url=f"{releases}/{version}/{name}-{{os}}-{{arch}}", entry=name),
            GoBuild(
                build_module="kwok",
                module="sigs.k8s.io/kwok",
                module_version=version,
                package=f"sigs.k8s.io/kwok/cmd/{name}",
                entry=name,
                seconds=seconds,
                variables=(("sigs.k8s.io/kwok/pkg/consts.Version", version),),
            ),
        ),
    )


def _volcano(name: str, why: str, megabytes: int) -> Tool:
    return Tool(
        name=name,
        version=VOLCANO_IMAGE_TAG.removeprefix("v"),
        why=why,
        megabytes=megabytes,
        on_path=PathRule(arguments=("--version",)),
        sources=(
            MirrorFile(
                path=f"bin/volcano-{VOLCANO_IMAGE_TAG}-linux-amd64.tar.xz",
                sha256="cd29669b06eff06a3d0c949691f211ba00740c3282299c57523abd54448183b9",
                entry=name,
                members=(name,),
            ),
            ImageFile(
                host="docker.io",
                repository=f"volcanosh/{name}",
                tag=VOLCANO_IMAGE_TAG,
                path=name,
                entry=name,
            ),
        ),
    )


def _chart(pin: ChartPin, sha256: str, why: str) -> Tool:
    file = f"{pin.chart}-{pin.version}.tgz"
    return Tool(
        name=f"{pin.chart}-chart",
        version=pin.version,
        why=why,
        megabytes=1,
        file_name=file,
        sources=(
            MirrorFile(path=f"charts/{file}", sha256=sha256, entry=file, any_machine=True),
            HelmChart(
                repository=pin.repository,
                chart=pin.chart,
                chart_version=pin.version,
                entry=file,
            ),
        ),
    )


_PULUMI: Final = Tool(
    name="pulumi",
    version=PULUMI_VERSION,
    why="the engine: runs the program, keeps the state",
    megabytes=180,
    on_path=PathRule(arguments=("version",), same_parts=1, at_least="3.272.0"),
    sources=(
        ReleaseFile(
            url=f"https://get.pulumi.com/releases/sdk/pulumi-v{PULUMI_VERSION}-{{os}}-{{pulumi_arch}}.tar.gz",
            checksums=f"https://github.com/pulumi/pulumi/releases/download/v{PULUMI_VERSION}/pulumi-{PULUMI_VERSION}-checksums.txt",
            member="pulumi/pulumi",
            entry="pulumi",
        ),
        GoBuild(
            build_module="pulumi",
            module="github.com/pulumi/pulumi/pkg/v3",
            module_version=f"v{PULUMI_VERSION}",
            package="github.com/pulumi/pulumi/pkg/v3/cmd/pulumi",
            entry="pulumi",
            variables=(
                (
                    "github.com/pulumi/pulumi/sdk/v3/go/common/version.Version",
                    f"v{PULUMI_VERSION}",
                ),
            ),
        ),
    ),
)

_PULUMI_KUBERNETES: Final = Tool(
    name="pulumi-resource-kubernetes",
    version=PULUMI_KUBERNETES_VERSION,
    why="makes the Helm releases, the queue and the job",
    megabytes=320,
    sources=(
        ReleaseFile(
            url=f"https://github.com/pulumi/pulumi-kubernetes/releases/download/v{PULUMI_KUBERNETES_VERSION}/pulumi-resource-kubernetes-v{PULUMI_KUBERNETES_VERSION}-{{os}}-{{arch}}.tar.gz",
            checksums=f"https://github.com/pulumi/pulumi-kubernetes/releases/download/v{PULUMI_KUBERNETES_VERSION}/pulumi-kubernetes_{PULUMI_KUBERNETES_VERSION}_checksums.txt",
            member="pulumi-resource-kubernetes",
            entry="pulumi-resource-kubernetes",
        ),
        GoBuild(
            build_module="pulumi-kubernetes",
            module="github.com/pulumi/pulumi-kubernetes/provider/v4",
            module_version=f"v{PULUMI_KUBERNETES_MODULE_VERSION}",
            version=PULUMI_KUBERNETES_MODULE_VERSION,
            package=".",
            entry="pulumi-resource-kubernetes",
            variables=(("main.version", PULUMI_KUBERNETES_MODULE_VERSION),),
            embedded=(
                "cmd/pulumi-resource-kubernetes/schema.json",
                "cmd/pulumi-resource-kubernetes/terraform-mapping.json",
            ),
            seconds=510,
        ),
    ),
)

_PULUMI_EKS: Final = Tool(
    name="pulumi-resource-eks",
    version=PULUMI_EKS_VERSION,
    why="makes the cluster component out of aws resources",
    megabytes=100,
    sources=(
        MirrorFile(
            path=f"bin/pulumi-resource-eks-v{PULUMI_EKS_VERSION}-node.tar.xz",
            sha256="05eea222f933b67886caee158e56f8cecd2558225e9d3dc00a29d30dc8a4588f",
            entry="pulumi-resource-eks",
            members=("pulumi-resource-eks", "index.js", "schema.json"),
            needs="node>=18",
            any_machine=True,
        ),
        ReleaseFile(
            url=f"https://github.com/pulumi/pulumi-eks/releases/download/v{PULUMI_EKS_VERSION}/pulumi-resource-eks-v{PULUMI_EKS_VERSION}-{{os}}-{{arch}}.tar.gz",
            checksums=f"https://github.com/pulumi/pulumi-eks/releases/download/v{PULUMI_EKS_VERSION}/pulumi-eks_{PULUMI_EKS_VERSION}_checksums.txt",
            member="pulumi-resource-eks",
            entry="pulumi-resource-eks",
        ),
    ),
)

_ETCD: Final = Tool(
    name="etcd",
    version=ETCD_VERSION,
    why="keeps the control plane's objects",
    megabytes=30,
    on_path=PathRule(arguments=("--version",)),
    sources=(
        ReleaseFile(
            url=f"https://github.com/etcd-io/etcd/releases/download/v{ETCD_VERSION}/etcd-v{ETCD_VERSION}-{{os}}-{{arch}}.tar.gz",
            checksums=f"https://github.com/etcd-io/etcd/releases/download/v{ETCD_VERSION}/SHA256SUMS",
            member=f"etcd-v{ETCD_VERSION}-{{os}}-{{arch}}/etcd",
            entry="etcd",
        ),
        GoBuild(
            build_module="etcd",
            module="go.etcd.io/etcd/server/v3",
            module_version=f"v{ETCD_VERSION}",
            package="go.etcd.io/etcd/server/v3",
            entry="etcd",
            seconds=60,
        ),
    ),
)

_CLUSTER_AUTOSCALER: Final = Tool(
    name="cluster-autoscaler",
    version=CLUSTER_AUTOSCALER_IMAGE_TAG.removeprefix("v"),
    why="adds nodes for pods that fit nowhere",
    megabytes=120,
    sources=(
        MirrorFile(
            path=f"bin/cluster-autoscaler-{CLUSTER_AUTOSCALER_IMAGE_TAG}-linux-amd64.tar.xz",
            sha256="bc77d1d8e3db494502556b6188633aaf619a4b1fcb2f150d193b60c700b9df45",
            entry="cluster-autoscaler",
            members=("cluster-autoscaler",),
        ),
        ImageFile(
            host="registry.k8s.io",
            repository="autoscaling/cluster-autoscaler",
            tag=CLUSTER_AUTOSCALER_IMAGE_TAG,
            path="cluster-autoscaler",
            entry="cluster-autoscaler",
        ),
    ),
)

_TOOLS: Final = (
    _PULUMI,
    _PULUMI_KUBERNETES,
    _PULUMI_EKS,
    _kubernetes("kube-apiserver", "the API server: admission, storage, audit log", 110, 280),
    _kubernetes("kube-controller-manager", "deployments, daemon sets, jobs, endpoints", 100, 80),
    _kubernetes("kube-scheduler", "binds every pod that is not Volcano's", 80, 10),
    _kubernetes("kubectl", "the readiness gate and the rehearsal's shell", 60, 40),
    _ETCD,
    _kwok("kwok", "keeps nodes and pods without machines", 60),
    _kwok("kwokctl", "starts and stops the control plane", 60),
    _volcano("vc-scheduler", "schedules the gang", 100),
    _volcano("vc-controller-manager", "makes pods out of jobs, keeps queues", 65),
    _volcano("vc-webhook-manager", "admits jobs and queues", 60),
    _CLUSTER_AUTOSCALER,
    _chart(
        VOLCANO_CHART,
        "54d346b1d73df272de56c0b8fccc69e8141d99e70c9f2bb4512ca55690ab585a",
        "Volcano's release",
    ),
    _chart(
        NVIDIA_DEVICE_PLUGIN_CHART,
        "9e5642bcdd3805c6e931f9d3ca542677d1f714d68c14c1364892011e67d9a606",
        "the device plugin's release",
    ),
    _chart(
        CLUSTER_AUTOSCALER_CHART,
        "a2c1348e80f938883330d688b082ac74b47cdf255cd45f08655fcfcc3d5f02c0",
        "the autoscaler's release",
    ),
)

CATALOGUE: Final[Mapping[str, Tool]] = {tool.name: tool for tool in _TOOLS}
"""All tools by name, in the order in which they are got."""
