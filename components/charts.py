"""Where Helm charts and container images come from, and how a release is installed."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_kubernetes as k8s

from components import pod_security
from components.versions import ChartPin

DEFAULT_REGISTRY: Final = "docker.io"
"""What a container runtime puts before an image that names no registry."""

RELEASE_TIMEOUT_SECONDS: Final = 600
"""Image pulls on a fresh node and a spot node's arrival fit into it; Helm's own 300 s do not."""

RELEASE_HISTORY: Final = 5


@dataclass(frozen=True, kw_only=True, slots=True)
class ChartSource:
    """A pinned chart: from its official repository, another one, or a folder of `.tgz` files."""

    pin: ChartPin
    directory: str | None = None
    repository: str | None = None

    def __post_init__(self) -> None:
        """Refuse two sources at once and a version that can move."""
        if self.directory is not None and self.repository is not None:
            message = (
                f"directory is {self.directory!r} and repository is {self.repository!r}; "
                f"chart {self.pin.chart} comes from one place, set at most one"
            )
            raise ValueError(message)
        if not self.pin.version[:1].isdigit():
            message = (
                f"version of chart {self.pin.chart} is {self.pin.version!r}; allowed: one exact "
                "version such as 1.15.0"
            )
            raise ValueError(message)

    @property
    def chart(self) -> str:
        """The chart as Helm takes it: a file in the folder, or a name in the repository."""
        if self.directory is None:
            return self.pin.chart
        return f"{self.directory.rstrip('/')}/{self.pin.chart}-{self.pin.version}.tgz"

    @property
    def repository_url(self) -> str | None:
        """The repository to ask, or nothing when the chart is a file."""
        return None if self.directory is not None else self.repository or self.pin.repository


def release_args(
    source: ChartSource,
    *,
    name: str,
    namespace: pulumi.Input[str],
    values: Mapping[str, Any],
) -> k8s.helm.v3.ReleaseArgs:
    """A release with a fixed name, that is ready when it is done and undoes itself when it fails.

    `helm.v3.Release` because hooks run in no other kind. Atomic, so that an install that failed
    leaves nothing under its name and the next `up` starts clean.
    """
    repository = source.repository_url
    return k8s.helm.v3.ReleaseArgs(
        atomic=True,
        chart=source.chart,
        cleanup_on_fail=True,
        create_namespace=False,
        max_history=RELEASE_HISTORY,
        name=name,
        namespace=namespace,
        repository_opts=(
            None if repository is None else k8s.helm.v3.RepositoryOptsArgs(repo=repository)
        ),
        skip_await=False,
        timeout=RELEASE_TIMEOUT_SECONDS,
        values=values,
        version=source.pin.version,
        wait_for_jobs=True,
    )


def release_in_own_namespace(
    name: str,
    source: ChartSource,
    *,
    namespace: str,
    pod_security_level: pod_security.PodSecurityLevel,
    release_name: str,
    values: Mapping[str, Any],
    opts: pulumi.ResourceOptions,
) -> tuple[k8s.core.v1.Namespace, k8s.helm.v3.Release]:
    """A namespace under a Pod Security level, and in it a release; destroyed the other way round.

    The namespace is a resource of its own, since Helm never deletes one that it created.
    """
    own = k8s.core.v1.Namespace(
        name,
        metadata={"name": namespace, "labels": pod_security.namespace_labels(pod_security_level)},
        opts=opts,
    )
    args = release_args(source, name=release_name, namespace=own.metadata["name"], values=values)
    return own, k8s.helm.v3.Release(name, args, opts=opts)


def registry_of(image: str) -> str:
    """The registry an image is pulled from; `docker.io` when it names none."""
    first, slash, _ = image.partition("/")
    named = bool(slash) and ("." in first or ":" in first or first == "localhost")
    return first if named else DEFAULT_REGISTRY


def is_pinned(image: str) -> bool:
    """Whether the image has a full tag or a digest, so that it stays what it is."""
    if "@sha256:" in image:
        return True
    name, _, tag = image.rpartition(":")
    return bool(name) and "/" not in tag and tag != "latest"


def mirrored_image(image: str, registry_mirrors: Mapping[str, str]) -> str:
    """The image as it is pulled: its registry replaced by the mirror that serves it, if any."""
    registry = registry_of(image)
    mirror = registry_mirrors.get(registry)
    if mirror is None:
        return image
    path = image.removeprefix(f"{registry}/")
    if registry == DEFAULT_REGISTRY and "/" not in path:
        path = f"library/{path}"
    return f"{mirror.rstrip('/')}/{path}"
