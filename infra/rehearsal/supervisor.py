"""The one background process of a rehearsal: emulated AWS, nodes, real pods, their credentials.

It outlives the command that started it, also when that is killed, and starts again what ends by
itself. `python -m infra.rehearsal.supervisor --state DIR` is its command line.
"""

import argparse
import contextlib
import functools
import json
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import boto3
from filelock import FileLock, Timeout

from infra.errors import GangwayError
from infra.rehearsal import control_plane, processes
from infra.rehearsal.aws import server as aws_server
from infra.rehearsal.aws.account import Account, remembered_region
from infra.rehearsal.aws.world import World
from infra.rehearsal.control_plane_files import service_proxy_socket
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.nodes import NodeReconciler
from infra.rehearsal.pods.credentials import CredentialServer
from infra.rehearsal.pods.launch import Surroundings
from infra.rehearsal.pods.runner import PodRunner
from infra.rehearsal.pods.service_proxy import ServiceProxy
from infra.rehearsal.processes import ProcessRecord
from infra.rehearsal.state import StateFolder, write_atomically
from infra.waiting import wait_until

HEARTBEAT_SECONDS: Final = 1.0
STALE_SECONDS: Final = 20.0
"""A heartbeat older than this is a supervisor that hangs."""

NODE_SECONDS: Final = 0.5
HEAL_SECONDS: Final = 2.0
RETRY_SECONDS: Final = 0.5
START_SECONDS: Final = 60.0
STOP_SECONDS: Final = 20.0

_NAME: Final = "supervisor"
_log = logging.getLogger(_NAME)


def ensure_running(state: StateFolder, tools: Mapping[str, Path]) -> None:
    """Start the supervisor unless a healthy one runs; returns once it works.

    Raises GangwayError in one sentence when it does not start.
    """
    record = _recorded(state)
    if record is not None and record.is_alive and _heartbeat_age(state) < STALE_SECONDS:
        return
    if record is not None:
        processes.stop([record], grace_seconds=2)
    state.merge(tools={name: str(path) for name, path in tools.items()})
    _heartbeat_path(state).unlink(missing_ok=True)
    log = state.folder("logs") / "supervisor.log"
    process = processes.start(
        _NAME,
        [sys.executable, "-m", "infra.rehearsal.supervisor", "--state", state.path],
        log=log,
        environment=os.environ | {processes.MARK: str(state.path)},
    )

    def works() -> bool:
        if process.poll() is not None:
            message = f"the rehearsal's supervisor ended at its start: {processes.last_lines(log)}"
            raise GangwayError(message)
        return _heartbeat_path(state).exists()

    wait_until(
        works, what="the start of the rehearsal's supervisor", deadline_seconds=START_SECONDS
    )


def stop(state: StateFolder) -> None:
    """End the supervisor and all that it runs, the emulated AWS included.

    Raises GangwayError naming a process that stays.
    """
    record = _recorded(state)
    if record is not None:
        processes.stop([record], grace_seconds=STOP_SECONDS)
    aws_server.stop(state.path)
    kept = set(_control_plane_pids(state))
    processes.stop(
        [left for left in processes.belonging_to(state.path) if left.pid not in kept],
        grace_seconds=2,
    )
    _heartbeat_path(state).unlink(missing_ok=True)


def is_running(state: StateFolder) -> bool:
    """Whether the supervisor runs and beats."""
    record = _recorded(state)
    return bool(record and record.is_alive and _heartbeat_age(state) < STALE_SECONDS)


class Supervisor:
    """All loops of the background process."""

    def __init__(self, state: StateFolder) -> None:
        self._state = state
        self._stopping = threading.Event()
        self._tools = {name: Path(path) for name, path in state.section("tools").items()}
        self._moto = aws_server.start(state.path)
        self._region = ""
        self._known_world: World | None = None
        self._api = KubernetesApi.of(state)
        self._credentials = CredentialServer(state.folder("pods"), self._role_of, self._assume_role)
        kubernetes = state.section("kubernetes")
        surroundings = Surroundings(
            rehearsal=state.path,
            tools=self._tools,
            endpoint=kubernetes["endpoint"],
            ca_pem_base64=kubernetes["ca_pem_base64"],
            aws_endpoint=self._moto.endpoint,
            credentials=self._credentials.variables,
        )
        self._runner = PodRunner(state, self._api, surroundings)
        self._reconciler = NodeReconciler(self._api)
        socket = service_proxy_socket(state)
        self._proxy = ServiceProxy(self._api, self._runner.backend, socket)

    def run(self) -> None:
        """Work until SIGTERM or SIGINT, then stop everything."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, lambda *_: self._stopping.set())
        self._runner.clear_leftovers()
        self._credentials.start()
        self._proxy.start()
        self._loop("pods", self._runner.follow, 0.0)
        self._loop(
            "nodes", lambda: self._reconciler.reconcile(self._world().instances()), NODE_SECONDS
        )
        self._loop("control plane", self._heal, HEAL_SECONDS)
        self._publish()
        try:
            while not self._stopping.wait(HEARTBEAT_SECONDS):
                self._beat()
        finally:
            self._runner.stop()
            self._proxy.stop()
            self._credentials.stop()
            aws_server.stop(self._state.path)

    def _publish(self) -> None:
        moto = {"name": "moto", "pid": self._moto.pid, "start_time": self._moto.started}
        own = ProcessRecord.of(_NAME, os.getpid())
        self._state.merge(
            moto={"endpoint": self._moto.endpoint},
            processes=[own.to_json() if own else {}, moto],
        )
        self._beat()

    def _beat(self) -> None:
        try:
            write_atomically(_heartbeat_path(self._state), json.dumps(os.getpid()))
        except OSError as error:
            _log.warning("no heartbeat: %s", error.strerror)

    def _loop(self, name: str, step: Callable[[], Any], pause_seconds: float) -> None:
        """Repeat a step in a thread of its own; a failure is logged and tried again."""

        def repeat() -> None:
            told = ""
            while not self._stopping.is_set():
                try:
                    step()
                    told = ""
                    self._stopping.wait(pause_seconds)
                except Exception as error:
                    if str(error) != told:
                        unforeseen = not isinstance(error, GangwayError)
                        _log.warning("%s: %s", name, error, exc_info=unforeseen)
                    told = str(error)
                    self._stopping.wait(RETRY_SECONDS)

        threading.Thread(target=repeat, name=name, daemon=True).start()

    def _heal(self) -> None:
        for component in control_plane.heal(self._state, self._tools):
            _log.warning("%s had ended and was started again", component)

    def _world(self) -> World:
        """The account in its region, which is known only once the stack was deployed to it."""
        region = remembered_region(self._state.path)
        if self._known_world is None or region != self._region:
            self._region = region
            self._known_world = World(Account(state_dir=self._state.path, region=region))
        return self._known_world

    def _role_of(self, namespace: str, account: str) -> str | None:
        return self._world().pod_identity_role(namespace, account)

    @functools.cached_property
    def _sts(self) -> Any:
        return boto3.client(
            "sts",
            endpoint_url=self._moto.endpoint,
            region_name=remembered_region(self._state.path),
            aws_access_key_id="rehearsal",
            aws_secret_access_key="rehearsal",  # noqa: S106 - moto takes any
        )

    def _assume_role(self, role: str, session: str) -> Mapping[str, str]:
        found = self._sts.assume_role(RoleArn=role, RoleSessionName=session)["Credentials"]
        return {
            "AccessKeyId": found["AccessKeyId"],
            "SecretAccessKey": found["SecretAccessKey"],
            "Token": found["SessionToken"],
            "Expiration": found["Expiration"].strftime("%Y-%m-%dT%H:%M:%SZ"),
        }


def _recorded(state: StateFolder) -> ProcessRecord | None:
    for fields in state.document().get("processes", []):
        if fields.get("name") == _NAME:
            return ProcessRecord.from_json(fields)
    return None


def _control_plane_pids(state: StateFolder) -> list[int]:
    return [record.pid for record in control_plane.records(state).values()]


def _heartbeat_path(state: StateFolder) -> Path:
    return state.path / "supervisor.heartbeat"


def _heartbeat_age(state: StateFolder) -> float:
    with contextlib.suppress(FileNotFoundError):
        return time.time() - _heartbeat_path(state).stat().st_mtime
    return float("inf")


def main(words: Sequence[str] | None = None) -> None:
    """Run the supervisor of one state folder; a second one ends at once."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--state", required=True, type=Path)
    state = StateFolder(parser.parse_args(words).state)
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    lock = FileLock(state.path / "supervisor.lock")
    try:
        lock.acquire(timeout=5)
    except Timeout:
        _log.error("another supervisor runs for %s", state.path)
        sys.exit(1)
    try:
        Supervisor(state).run()
    except GangwayError as error:
        _log.error("%s", error)
        sys.exit(error.exit_code)
    finally:
        lock.release()


if __name__ == "__main__":
    main()
