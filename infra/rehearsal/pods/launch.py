"""How a container becomes a local process: program, arguments, environment, ports."""

import importlib
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any, Final

import yaml

from infra.errors import MissingToolError
from infra.rehearsal.control_plane_files import kubeconfig_content
from infra.rehearsal.pods.selection import FRAMEWORK_VARIABLE, is_trainer, program_of
from infra.rehearsal.pods.translation import (
    AddressBook,
    PathTranslator,
    listen_arguments,
    translate_peers,
)
from infra.rehearsal.pods.variables import Sources, container_environment, expand
from infra.rehearsal.pods.volumes import PodVolumes
from infra.rehearsal.processes import MARK
from infra.rehearsal.state import write_atomically

JsonObject = Mapping[str, Any]

SERVICE_ACCOUNT_MOUNT: Final = "/var/run/secrets/kubernetes.io/serviceaccount"
CERTIFICATE_SCRIPT: Final = "gen-admission-secret.sh"
"""What the admission chart's hook runs; the image carries it beside the webhook manager."""

AUTOSCALER_SERVICES: Final = ("autoscaling", "ec2", "eks", "sts")


@dataclass(frozen=True, kw_only=True, slots=True)
class Surroundings:
    """What a rehearsal offers to its pods.

    `credentials` gives the variables of the pod's AWS role, empty for a pod without one.
    """

    rehearsal: Path
    tools: Mapping[str, Path]
    endpoint: str
    ca_pem_base64: str
    aws_endpoint: str | None
    credentials: Callable[[JsonObject], Mapping[str, str]]
    book: AddressBook = field(default_factory=AddressBook)


@dataclass(frozen=True, kw_only=True, slots=True)
class Launch:
    """A process to start; `ports` maps the container's ports to local ones.

    A patient one leaves the machine to the rest of the rehearsal, which is elsewhere on AWS.
    """

    command: list[str]
    environment: dict[str, str]
    directory: Path
    ports: dict[int, int]
    serving_port: int | None
    is_patient: bool = False


def prepare(
    container: JsonObject, pod: JsonObject, volumes: PodVolumes, surroundings: Surroundings
) -> Launch:
    """Write the container's files and work out its command and environment."""
    root = volumes.root(container)
    root.mkdir(parents=True, exist_ok=True)
    mounts = volumes.mount(container)
    paths = PathTranslator(mounts, root)
    values = _environment(container, pod, volumes.sources, surroundings)
    translated = {name: paths(value) for name, value in values.items()}
    expanded = [
        expand(word, values) for word in (*container.get("command", []), *container.get("args", []))
    ]
    words = [paths(word) for word in expanded]
    kubeconfig = _kubeconfig(root, surroundings)
    environment = (
        _base_environment(root, mounts)
        | {"KUBECONFIG": str(kubeconfig)}
        | translated
        | dict(surroundings.credentials(pod))
        | {MARK: str(surroundings.rehearsal)}
    )
    command, ports, serving = _command(container, words, environment, surroundings)
    return Launch(
        command=command,
        environment=environment,
        directory=root,
        ports=ports,
        serving_port=serving,
        is_patient=is_trainer(container),
    )


def autoscaler_cloud_configuration(endpoint: str, region: str) -> str:
    """The AWS cloud provider's configuration that sends its calls to the emulated AWS."""
    sections = (
        f'[ServiceOverride "{number}"]\nService={service}\nRegion={region}\n'
        f"URL={endpoint}\nSigningRegion={region}\n"
        for number, service in enumerate(AUTOSCALER_SERVICES)
    )
    return "[Global]\n" + "".join(sections)


def _environment(
    container: JsonObject, pod: JsonObject, sources: Sources, surroundings: Surroundings
) -> dict[str, str]:
    host, port = surroundings.endpoint.removeprefix("https://").split(":")
    in_cluster = {"KUBERNETES_SERVICE_HOST": host, "KUBERNETES_SERVICE_PORT": port}
    return translate_peers(
        in_cluster | container_environment(container, pod, sources),
        namespace=pod["metadata"]["namespace"],
        subdomain=pod["spec"].get("subdomain"),
        book=surroundings.book,
    )


def _base_environment(root: Path, mounts: Mapping[str, Path]) -> dict[str, str]:
    temporary = mounts.get("/tmp", root / "tmp")  # noqa: S108 - a path inside the container
    temporary.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "HOME": str(root),
        "TMPDIR": str(temporary),
        "LANG": "C.UTF-8",
        "AWS_EC2_METADATA_DISABLED": "true",
    }


def _kubeconfig(root: Path, surroundings: Surroundings) -> Path:
    """In-cluster configuration by file: client-go looks for the token at a fixed path only."""
    path = root.parent / "kubeconfig"
    user = {"tokenFile": str(root / SERVICE_ACCOUNT_MOUNT.strip("/") / "token")}
    content = kubeconfig_content(surroundings.endpoint, surroundings.ca_pem_base64, user)
    write_atomically(path, yaml.safe_dump(content))
    return path


def _command(
    container: JsonObject,
    words: list[str],
    environment: dict[str, str],
    surroundings: Surroundings,
) -> tuple[list[str], dict[int, int], int | None]:
    if is_trainer(container):
        return _trainer_command(words, environment, surroundings), {}, None
    if words and PurePosixPath(words[0]).name == CERTIFICATE_SCRIPT:
        module = "infra.rehearsal.pods.certificate_hook"
        return [sys.executable, "-m", module, *words[1:]], {}, None
    program = program_of(container)
    if program is None:
        # A second container beside a real one (a sidecar): it only has to be there.
        return [sys.executable, "-m", "infra.rehearsal.pods.stand_in", "forever"], {}, None
    if program.tool not in surroundings.tools:
        message = f"{program.tool} is missing: run `gangway rehearse tools`"
        raise MissingToolError(message)
    given = words[1:] if container.get("command") else words
    arguments, ports = listen_arguments(program, given)
    if program.takes_kubeconfig:
        arguments.append(f"--kubeconfig={environment['KUBECONFIG']}")
    if program.tool == "cluster-autoscaler" and surroundings.aws_endpoint:
        arguments.append(f"--cloud-config={_cloud_configuration(environment, surroundings)}")
    command = [str(surroundings.tools[program.tool]), *arguments]
    return command, ports, ports.get(program.serving_port or 0)


def _trainer_command(
    words: list[str], environment: dict[str, str], surroundings: Surroundings
) -> list[str]:
    framework = environment.get(FRAMEWORK_VARIABLE, "pytorch")
    environment |= {
        # gloo picks the address of the host's name otherwise, which need not be loopback.
        "GLOO_SOCKET_IFNAME": "lo",
        "OMP_NUM_THREADS": "1",
        "PYTHONUNBUFFERED": "1",
    }
    if surroundings.aws_endpoint:
        environment["AWS_ENDPOINT_URL"] = surroundings.aws_endpoint
    interpreter = _interpreter(framework)
    if interpreter is None:
        return [sys.executable, "-m", "infra.rehearsal.pods.stand_in", framework]
    return [str(interpreter), *words[1:]]


def _interpreter(framework: str) -> Path | None:
    # Found at run time: the rehearsal works without any framework.
    try:
        frameworks = importlib.import_module("infra.rehearsal.frameworks")
    except ModuleNotFoundError:
        return None
    interpreter: Path | None = frameworks.interpreter(framework)
    return interpreter


def _cloud_configuration(environment: Mapping[str, str], surroundings: Surroundings) -> Path:
    path = Path(environment["KUBECONFIG"]).with_name("cloud-config")
    region = environment.get("AWS_REGION", "us-east-1")
    write_atomically(path, autoscaler_cloud_configuration(str(surroundings.aws_endpoint), region))
    return path
