"""A real Kubernetes control plane of one rehearsal: etcd, API server, controllers, scheduler, KWOK.

kwokctl's binary runtime lays it out below the state folder. `up` leaves alone what runs already,
so it also repairs: a component that was killed is started again.
"""

import base64
import contextlib
import os
import re
import secrets
import shutil
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import yaml

from infra.errors import GangwayError, MissingToolError
from infra.rehearsal import processes
from infra.rehearsal.control_plane_files import (
    AUDIT_POLICY,
    PORT_OPTIONS,
    configuration,
    egress_configuration,
    kubeconfig_content,
    service_proxy_socket,
)
from infra.rehearsal.kubernetes_api import ApiError, ApiUnreachableError, KubernetesApi
from infra.rehearsal.ports import LOOPBACK, is_free, is_listening
from infra.rehearsal.processes import ProcessRecord
from infra.rehearsal.state import StateFolder, write_atomically
from infra.waiting import wait_until

CLUSTER: Final = "rehearsal"
COMPONENTS: Final = (
    "etcd",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kwok-controller",
)
TOOLS: Final = (*COMPONENTS[:-1], "kwok", "kwokctl", "kubectl")

_CREATE_SECONDS: Final = 90
_READY_SECONDS: Final = 90
_ENDS_FORGIVEN: Final = 3
_LONGEST_REASON: Final = 300
_TELLING: Final = re.compile(r"\berror\b|\bfatal\b|\bpanic\b", re.IGNORECASE)
"""A Go program's last line is often one of a stack trace; what went wrong stands before it."""

EXEC_SECONDS: Final = 1.0
"""How long a component just started may be seen without its environment, on a busy machine."""

_NEEDED_BY_ALL: Final = ("etcd", "kube-apiserver")


def up(state: StateFolder, tools: Mapping[str, Path]) -> None:
    """Bring the control plane up, or what is missing of it, and write how to reach it.

    Raises GangwayError in one sentence when a component cannot start.
    """
    require_tools(tools)
    if _is_created(state):
        if not all(status(state).values()):
            _refuse_taken_ports(state)
            _start_again(state, tools)
    else:
        _create(state, tools)
    _publish(state)
    _wait_until_ready(state, tools)


def heal(state: StateFolder, tools: Mapping[str, Path]) -> list[str]:
    """Start components that ended by themselves; returns their names."""
    gone = [name for name, alive in status(state).items() if not alive]
    if gone:
        _start_again(state, tools)
    return gone


def down(state: StateFolder) -> None:
    """End the control plane's processes and take its data away."""
    service_proxy_socket(state).unlink(missing_ok=True)
    had_components = bool(records(state))
    _clear(state)
    if had_components:
        # A killed process holds its ports until the last of its threads is gone.
        wait_until(
            lambda: not any(map(is_listening, state.section("ports").values())),
            what="the release of the control plane's ports",
            deadline_seconds=10,
            every_seconds=0.05,
        )


def status(state: StateFolder) -> dict[str, bool]:
    """Component -> whether its process runs; empty when there is no control plane."""
    if not _is_created(state):
        return {}
    running = records(state)
    return {name: name in running and running[name].is_alive for name in COMPONENTS}


def audit_log(state: StateFolder) -> Path:
    """The audit log, one JSON event a line, stamps in microseconds."""
    return _cluster_folder(state) / "logs" / "audit.log"


def kubeconfig_path(state: StateFolder) -> Path:
    """A kubeconfig for people and programs on this machine, with the rehearsal's token."""
    return state.path / "kubeconfig"


def require_tools(tools: Mapping[str, Path]) -> None:
    """Refuse at once when a program of the control plane was not resolved."""
    missing = [name for name in TOOLS if name not in tools]
    if missing:
        message = (
            f"the control plane needs {', '.join(missing)}: run `gangway rehearse tools` to get "
            "what is missing"
        )
        raise MissingToolError(message)


def _create(state: StateFolder, tools: Mapping[str, Path]) -> None:
    _clear(state)  # what a start that was killed left
    token = secrets.token_hex(24)
    folder = state.folder("kwok")
    write_atomically(folder / "tokens.csv", f'{token},gangway,gangway,"system:masters"\n')
    write_atomically(folder / "audit-policy.yaml", yaml.safe_dump(AUDIT_POLICY))
    egress = egress_configuration(service_proxy_socket(state))
    write_atomically(folder / "egress.yaml", yaml.safe_dump(egress))
    documents = configuration(state, tools)
    write_atomically(folder / "configuration.yaml", yaml.safe_dump_all(documents))
    state.merge(
        kubernetes={"token": token},
        ports={option: documents[0]["options"][option] for option in PORT_OPTIONS},
    )
    _kwokctl(
        state,
        tools,
        "create",
        "cluster",
        "--config",
        str(folder / "configuration.yaml"),
        "--kubeconfig",
        str(folder / "administrator.kubeconfig"),
        "--wait",
        "0s",
    )


def _clear(state: StateFolder) -> None:
    folder = state.path / "kwok"
    if folder.exists():
        # No grace: what they would save at an orderly end is thrown away here.
        processes.stop(records(state).values(), grace_seconds=0)
        shutil.rmtree(folder)


def _start_again(state: StateFolder, tools: Mapping[str, Path]) -> None:
    # kwokctl takes a pid that is still listed, be it a zombie or a stranger, for its component.
    for name in set(COMPONENTS) - set(records(state)):
        _pid_file(state, name).unlink(missing_ok=True)
    _kwokctl(state, tools, "start", "cluster")


def _pid_file(state: StateFolder, component: str) -> Path:
    return _cluster_folder(state) / "pids" / f"{component}.pid"


def _kwokctl(state: StateFolder, tools: Mapping[str, Path], *words: str) -> None:
    environment = {
        "PATH": f"{tools['kubectl'].parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "HOME": str(state.folder("kwok")),
        "KWOK_WORKDIR": str(state.folder("kwok")),
        processes.MARK: str(state.path),
    }
    log = state.folder("logs") / "kwokctl.log"
    log.unlink(missing_ok=True)
    command: list[str | Path] = [tools["kwokctl"], "--name", CLUSTER, *words]
    run = processes.start("kwokctl", command, log=log, environment=environment)

    def ended() -> bool:
        lost = [name for name in _ended(state) if name in _NEEDED_BY_ALL]
        if lost:
            run.kill()
            raise GangwayError(_end_of(state, lost[0]))
        return run.poll() is not None

    try:
        wait_until(
            ended,
            what=f"kwokctl {' '.join(words[:2])}",
            deadline_seconds=_CREATE_SECONDS,
            every_seconds=0.05,
        )
    finally:
        if run.poll() is None:
            run.kill()
        run.wait(timeout=10)
    if run.returncode != 0:
        message = f"kwokctl {' '.join(words[:2])} failed: {_last_error(log)}"
        raise GangwayError(message)


def _last_error(log: Path) -> str:
    try:
        text = log.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return "it left no log"
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    full = [line for line in lines if "no space left" in line]
    telling = [line for line in lines if _TELLING.search(line)]
    return (full or telling or lines or ["it said nothing"])[-1][:_LONGEST_REASON]


def _ended(state: StateFolder) -> list[str]:
    """Components that were started and run no more."""
    running = records(state)
    return [name for name in COMPONENTS if _recorded_pid(state, name) and name not in running]


def _recorded_pid(state: StateFolder, component: str) -> int | None:
    """The component's process id; None before kwokctl has written it, which takes two steps."""
    text = ""
    with contextlib.suppress(FileNotFoundError):
        text = _pid_file(state, component).read_text(encoding="utf-8").strip()
    return int(text) if text.isdigit() else None


def _end_of(state: StateFolder, component: str) -> str:
    log = _cluster_folder(state) / "logs" / f"{component}.log"
    return f"{component} ended at its start: {_last_error(log)}"


def _publish(state: StateFolder) -> None:
    folder = _cluster_folder(state)
    ca_pem = (folder / "pki" / "ca.crt").read_bytes()
    token = state.section("kubernetes")["token"]
    endpoint = f"https://{LOOPBACK}:{state.section('ports')['kubeApiserverPort']}"
    ca_pem_base64 = base64.b64encode(ca_pem).decode()
    kubeconfig = kubeconfig_path(state)
    content = kubeconfig_content(endpoint, ca_pem_base64, {"token": token})
    write_atomically(kubeconfig, yaml.safe_dump(content))
    state.merge(
        kubernetes={
            "endpoint": endpoint,
            "ca_pem_base64": ca_pem_base64,
            "token": token,
            "kubeconfig": str(kubeconfig),
        }
    )


def _wait_until_ready(state: StateFolder, tools: Mapping[str, Path]) -> None:
    api = KubernetesApi.of(state)
    ends: Counter[str] = Counter()

    def ready() -> bool:
        for name in (lost := _ended(state)):
            ends[name] += 1
            if ends[name] > _ENDS_FORGIVEN:
                raise GangwayError(_end_of(state, name))
        if lost:
            # On a busy machine the controller manager gives up before the API server is healthy.
            _start_again(state, tools)
        return not lost and _answers(api)

    wait_until(
        ready,
        what="the start of the control plane",
        deadline_seconds=_READY_SECONDS,
        every_seconds=0.1,
    )


def _answers(api: KubernetesApi) -> bool:
    try:
        return api.text("/readyz") == "ok" and api.find(_DEFAULT_ACCOUNT) is not None
    except (ApiError, ApiUnreachableError):
        return False


_DEFAULT_ACCOUNT: Final = "/api/v1/namespaces/default/serviceaccounts/default"
"""Made by the controller manager: it exists once that works."""


def _refuse_taken_ports(state: StateFolder) -> None:
    alive = status(state)
    names = dict(zip(PORT_OPTIONS[1:], COMPONENTS, strict=True))
    for option, component in names.items():
        port = state.section("ports").get(option)
        if port and not alive[component] and not is_free(port):
            message = (
                f"port {port} of {component} is taken by another program: end that program, or run "
                f"`{state.down_command}` and start again"
            )
            raise GangwayError(message)


def records(state: StateFolder) -> dict[str, ProcessRecord]:
    """Component -> its running process."""
    found = {}
    for name in COMPONENTS:
        pid = _recorded_pid(state, name)
        if pid is not None:
            record = ProcessRecord.of(name, pid)
            if (
                record is not None
                and record.is_alive
                and processes.is_marked(record.pid, state.path, patience_seconds=EXEC_SECONDS)
            ):
                found[name] = record
    return found


def _cluster_folder(state: StateFolder) -> Path:
    return state.path / "kwok" / "clusters" / CLUSTER


def _is_created(state: StateFolder) -> bool:
    return (_cluster_folder(state) / "pki" / "ca.crt").exists() and bool(state.section("ports"))
