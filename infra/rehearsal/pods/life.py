"""One pod from its binding to its end, as a kubelet lives it."""

import contextlib
import json
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

from infra.errors import GangwayError
from infra.rehearsal import processes
from infra.rehearsal.kubernetes_api import ApiError, ApiUnreachableError, KubernetesApi
from infra.rehearsal.pods.launch import Launch, Surroundings, prepare
from infra.rehearsal.pods.probes import holds
from infra.rehearsal.pods.status import (
    ContainerState,
    pod_phase,
    pod_status,
    restarts_after,
    timestamp,
)
from infra.rehearsal.pods.variables import NotYetError
from infra.rehearsal.pods.volumes import PodVolumes
from infra.rehearsal.ports import is_listening
from infra.rehearsal.processes import ProcessRecord
from infra.rehearsal.state import write_atomically

JsonObject = Mapping[str, Any]

TICK_SECONDS: Final = 0.1
REFRESH_SECONDS: Final = 5.0
FIRST_BACK_OFF_SECONDS: Final = 1.0
LONGEST_BACK_OFF_SECONDS: Final = 30.0
"""A tenth of the kubelet's 10 s and 300 s."""

GOOD_RUN_SECONDS: Final = 60.0
"""A run this long resets the back-off."""

DEFAULT_GRACE_SECONDS: Final = 30


class ContainerLife:
    """One container's process and the state that the pod's status shows."""

    def __init__(self, spec: JsonObject, log: Path) -> None:
        self.spec = spec
        self.state = ContainerState(name=spec["name"], image=spec["image"])
        self.log = log
        self.ports: dict[int, int] = {}
        self._launch: Launch | None = None
        self._process: subprocess.Popen[bytes] | None = None
        self._not_before = 0.0
        self._started = 0.0
        self._back_off = FIRST_BACK_OFF_SECONDS

    @property
    def record(self) -> ProcessRecord | None:
        """The running process, to be found again by another supervisor."""
        if self._process is None or self._process.poll() is not None:
            return None
        return ProcessRecord.of(self.state.name, self._process.pid)

    def may_start(self) -> bool:
        """Whether no process runs, none ended for good, and no back-off holds it."""
        idle = not self.state.is_running and not self.state.is_over
        return idle and time.monotonic() >= self._not_before

    def start(self, launch: Launch) -> None:
        """Start the container's process."""
        self._launch, self.ports = launch, launch.ports
        self._process = processes.start(
            self.state.name,
            launch.command,
            log=self.log,
            environment=launch.environment,
            directory=launch.directory,
        )
        if launch.is_patient:
            processes.step_back(self._process.pid)
        self._started = time.monotonic()
        self.state.start()

    def look(self, restart_policy: str) -> bool:
        """Take note of an end or of readiness; whether anything changed."""
        if self._process is None or not self.state.is_running:
            return False
        code = self._process.poll()
        if code is None:
            return self._look_ready()
        self._ended(128 - code if code < 0 else code, restart_policy)
        return True

    def stop(self, grace_seconds: float) -> None:
        """End the process: SIGTERM, the grace, SIGKILL."""
        record = self.record
        if record is not None and self._process is not None:
            processes.signal_group(record, signal.SIGTERM)
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=grace_seconds)
            processes.signal_group(record, signal.SIGKILL)
            self._process.wait(timeout=10)

    def _look_ready(self) -> bool:
        probe = self.spec.get("readinessProbe")
        launch = self._launch
        if probe and launch:
            ready = holds(probe, launch.ports, launch.environment)
        elif launch and launch.serving_port:
            ready = self.state.ready or is_listening(launch.serving_port)
        else:
            ready = True
        changed, self.state.ready = ready != self.state.ready, ready
        return changed

    def _ended(self, code: int, restart_policy: str) -> None:
        self.state.end(code)
        if not restarts_after(code, restart_policy):
            return
        if time.monotonic() - self._started >= GOOD_RUN_SECONDS:
            self._back_off = FIRST_BACK_OFF_SECONDS
        self.state.back_off(self._back_off)
        self._not_before = time.monotonic() + self._back_off
        self._back_off = min(self._back_off * 2, LONGEST_BACK_OFF_SECONDS)


class PodLife(threading.Thread):
    """Runs one pod's containers until the pod is over or deleted, and reports its status."""

    def __init__(
        self,
        pod: JsonObject,
        *,
        api: KubernetesApi,
        volumes: PodVolumes,
        surroundings: Surroundings,
        logs: Path,
        on_end: Callable[[str], None],
    ) -> None:
        metadata = pod["metadata"]
        super().__init__(name=f"pod-{metadata['name']}", daemon=True)
        self.pod = pod
        self.uid: str = metadata["uid"]
        self.namespace: str = metadata["namespace"]
        self.labels: Mapping[str, str] = metadata.get("labels") or {}
        self._api = api
        self._volumes = volumes
        self._surroundings = surroundings
        self._on_end = on_end
        self._path = f"/api/v1/namespaces/{self.namespace}/pods/{metadata['name']}"
        self._policy: str = pod["spec"].get("restartPolicy", "Always")
        self._began = timestamp()
        self._wake = threading.Event()
        self._deleted = threading.Event()
        self._left_alone = threading.Event()
        self._grace_seconds = float(
            pod["spec"].get("terminationGracePeriodSeconds", DEFAULT_GRACE_SECONDS)
        )
        folder = logs / f"{self.namespace}_{metadata['name']}_{self.uid[:8]}"
        self.containers = [
            ContainerLife(spec, folder / f"{spec['name']}.log")
            for spec in pod["spec"]["containers"]
        ]

    @property
    def is_ready(self) -> bool:
        """Whether all its containers are ready."""
        return all(container.state.ready for container in self.containers)

    def delete(self, grace_seconds: float) -> None:
        """The pod was deleted: end it within the grace."""
        self._grace_seconds = grace_seconds
        self._deleted.set()
        self._wake.set()

    def leave(self) -> None:
        """The supervisor ends: stop the processes, leave the pod in the API as it is."""
        self._left_alone.set()
        self.delete(1.0)

    def run(self) -> None:
        """Live the pod's life."""
        try:
            self._live()
        finally:
            for container in self.containers:
                container.stop(self._grace_seconds)
            self._volumes.remove()
            self._on_end(self.uid)
        if self._deleted.is_set() and not self._left_alone.is_set():
            # Refused or unreachable: the runner deletes it when it sees the pod again.
            with contextlib.suppress(GangwayError):
                self._api.delete(self._path, grace_seconds=0, uid=self.uid)

    def _live(self) -> None:
        refreshed, told = time.monotonic(), False
        while not self._deleted.is_set():
            if any([self._step(container) for container in self.containers]):  # noqa: C419 - all
                self._remember()
                told = False
            told = told or self._report()
            states = [container.state for container in self.containers]
            if told and pod_phase(states, self._policy) in ("Succeeded", "Failed"):
                return  # deleting an ended pod takes no kubelet
            if time.monotonic() - refreshed >= REFRESH_SECONDS:
                refreshed = time.monotonic()
                self._refresh()
            self._wake.wait(TICK_SECONDS)

    def _step(self, container: ContainerLife) -> bool:
        if not container.may_start():
            return container.look(self._policy)
        try:
            self._volumes.materialise()
            launch = prepare(container.spec, self.pod, self._volumes, self._surroundings)
            container.start(launch)
        except Exception as error:
            # Whatever it is, the pod shows it and is tried again, as by a kubelet.
            return self._hold(container, error)
        return True

    def _hold(self, container: ContainerLife, error: Exception) -> bool:
        reason = "ContainerCreating" if isinstance(error, NotYetError) else "CreateContainerError"
        state = container.state
        changed = (state.waiting_reason, state.waiting_message) != (reason, str(error))
        state.waiting_reason, state.waiting_message = reason, str(error)
        return changed

    def _refresh(self) -> None:
        with contextlib.suppress(GangwayError, OSError):
            self._volumes.refresh()

    def _remember(self) -> None:
        records = [container.record for container in self.containers]
        alive = [record.to_json() for record in records if record is not None]
        write_atomically(self._volumes.folder / "processes.json", json.dumps(alive))

    def _report(self) -> bool:
        status = pod_status(
            [container.state for container in self.containers],
            started_at=self._began,
            pod_address=self._volumes.sources.pod_address,
            node_address=self._volumes.sources.node_address,
            restart_policy=self._policy,
        )
        try:
            self._api.patch(f"{self._path}/status", {"status": status})
        except ApiError as error:
            if error.is_not_found:
                self.delete(0.0)
            return error.is_not_found
        except ApiUnreachableError:
            return False
        return True
