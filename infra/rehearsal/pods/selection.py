"""Which pods run as real processes, and which program each of their containers is."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

RUN_SECONDS_ANNOTATION: Final = "gangway.dev/run-seconds"
"""A pod with it is played by KWOK and ends after that many seconds."""

EXIT_CODE_ANNOTATION: Final = "gangway.dev/exit-code"
"""Exit code at the end of the run time; 0 when absent."""

IMAGE_PULL_BACKOFF_ANNOTATION: Final = "gangway.dev/image-pull-backoff"
NOT_READY_ANNOTATION: Final = "gangway.dev/not-ready"

FRAMEWORK_VARIABLE: Final = "GANGWAY_FRAMEWORK"


@dataclass(frozen=True, kw_only=True, slots=True)
class Program:
    """A program of the tool catalogue that stands behind a container image.

    `listens` maps a flag that takes an address to the port the program opens without the flag;
    `port_flag` is one that takes a bare port. `serving_port` is the container port whose opening
    shows that the program is up.
    """

    tool: str
    listens: Mapping[str, int]
    serving_port: int | None = None
    port_flag: str | None = None
    takes_kubeconfig: bool = True


PROGRAMS: Final = {
    "vc-scheduler": Program(
        tool="vc-scheduler",
        listens={"--listen-address": 8080, "--healthz-address": 11251},
        serving_port=8080,
    ),
    "vc-controller-manager": Program(
        tool="vc-controller-manager",
        listens={"--listen-address": 8081, "--healthz-address": 11251},
        serving_port=8081,
    ),
    "vc-webhook-manager": Program(
        tool="vc-webhook-manager",
        listens={"--healthz-address": 11251},
        serving_port=8443,
        port_flag="--port",
    ),
    "cluster-autoscaler": Program(
        tool="cluster-autoscaler", listens={"--address": 8085}, serving_port=8085
    ),
    "kubectl": Program(tool="kubectl", listens={}, takes_kubeconfig=False),
}
"""Last part of an image's name -> its program and the ports it opens (each program's --help)."""

IMAGE_PATTERN: Final = rf"(^|/)({'|'.join(PROGRAMS)})(:|@|$)"
"""Matches images of `PROGRAMS` behind any registry; read by jq in the Stages as well."""

TRAINER_PATTERN: Final = r"^([^ ]*/)?python3? -m trainer( |$)"
"""Matches the command line of the training job's containers; read by jq in the Stages as well."""


def is_real(pod: Mapping[str, Any]) -> bool:
    """Whether the pod runs as local processes; all others are KWOK's."""
    annotations = pod["metadata"].get("annotations") or {}
    if RUN_SECONDS_ANNOTATION in annotations or IMAGE_PULL_BACKOFF_ANNOTATION in annotations:
        return False
    return any(
        re.search(IMAGE_PATTERN, container.get("image", "")) or is_trainer(container)
        for container in pod["spec"]["containers"]
    )


def is_trainer(container: Mapping[str, Any]) -> bool:
    """Whether the container runs the training package."""
    words = [*container.get("command", []), *container.get("args", [])]
    return re.search(TRAINER_PATTERN, " ".join(words)) is not None


def program_of(container: Mapping[str, Any]) -> Program | None:
    """The program behind the container's image; None for any other image."""
    match = re.search(IMAGE_PATTERN, container.get("image", ""))
    return PROGRAMS[match.group(2)] if match else None


def real_pod_query() -> str:
    """The same choice as `is_real`, as a jq expression: some output for a real pod, else none."""
    annotations = f'has("{RUN_SECONDS_ANNOTATION}") or has("{IMAGE_PULL_BACKOFF_ANNOTATION}")'
    command = '((.command // []) + (.args // []) | join(" "))'
    return (
        f"select((.metadata.annotations // {{}}) | ({annotations}) | not) | .spec.containers[] | "
        f'select(((.image // "") | test("{IMAGE_PATTERN}")) or '
        f'({command} | test("{TRAINER_PATTERN}"))) | .name'
    )
