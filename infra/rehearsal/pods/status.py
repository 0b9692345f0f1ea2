"""Pod status objects, as a kubelet writes them."""

import datetime
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

JsonObject = dict[str, Any]


@dataclass(kw_only=True, slots=True)
class ContainerState:
    """Where one container of a pod stands."""

    name: str
    image: str
    waiting_reason: str = "ContainerCreating"
    waiting_message: str = ""
    started_at: str | None = None
    finished_at: str | None = None
    exit_code: int | None = None
    ready: bool = False
    restarts: int = 0
    last_end: JsonObject = field(default_factory=dict)

    @property
    def is_running(self) -> bool:
        """Whether its process runs."""
        return self.started_at is not None and self.exit_code is None

    @property
    def is_over(self) -> bool:
        """Whether its process ended and none was started after it."""
        return self.exit_code is not None

    def start(self) -> None:
        """Its process was started."""
        self.started_at, self.finished_at, self.exit_code = timestamp(), None, None

    def end(self, exit_code: int) -> None:
        """Its process ended."""
        self.finished_at, self.exit_code, self.ready = timestamp(), exit_code, False

    def back_off(self, seconds: float) -> None:
        """It waits for its next start."""
        self.last_end = self._terminated()
        self.waiting_reason = "CrashLoopBackOff"
        self.waiting_message = f"back-off {seconds:g}s restarting failed container={self.name}"
        self.started_at, self.finished_at, self.exit_code = None, None, None
        self.restarts += 1

    def to_json(self) -> JsonObject:
        """The entry in `containerStatuses`."""
        return {
            "name": self.name,
            "image": self.image,
            "imageID": "",
            "containerID": "",
            "ready": self.ready,
            "started": self.is_running,
            "restartCount": self.restarts,
            "state": self._state(),
            "lastState": self.last_end,
        }

    def _state(self) -> JsonObject:
        if self.is_over:
            return self._terminated()
        if self.started_at:
            return {"running": {"startedAt": self.started_at}}
        waiting = {"reason": self.waiting_reason, "message": self.waiting_message}
        return {"waiting": {key: value for key, value in waiting.items() if value}}

    def _terminated(self) -> JsonObject:
        end = {
            "exitCode": self.exit_code,
            "reason": "Completed" if self.exit_code == 0 else "Error",
            "startedAt": self.started_at,
            "finishedAt": self.finished_at,
        }
        return {"terminated": end}


def pod_status(
    containers: Sequence[ContainerState],
    *,
    started_at: str,
    pod_address: str,
    node_address: str,
    restart_policy: str,
) -> JsonObject:
    """The status to patch: phase, conditions, addresses, container states."""
    phase = pod_phase(containers, restart_policy)
    ready = phase == "Running" and all(container.ready for container in containers)
    over = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}.get(phase, "ContainersNotReady")
    return {
        "phase": phase,
        "startTime": started_at,
        "hostIP": node_address,
        "hostIPs": [{"ip": node_address}],
        "podIP": pod_address,
        "podIPs": [{"ip": pod_address}],
        "conditions": [
            _condition("PodReadyToStartContainers", holds=True),
            _condition("Initialized", holds=True),
            _condition("ContainersReady", holds=ready, reason=over),
            _condition("Ready", holds=ready, reason=over),
        ],
        "containerStatuses": [container.to_json() for container in containers],
    }


def pod_phase(containers: Sequence[ContainerState], restart_policy: str) -> str:
    """Pending until a container was started; over when none will be started again."""
    if all(container.is_over for container in containers):
        failed = any(container.exit_code != 0 for container in containers)
        if restart_policy == "Never" or (restart_policy == "OnFailure" and not failed):
            return "Failed" if failed else "Succeeded"
    started = any(item.started_at or item.restarts or item.is_over for item in containers)
    return "Running" if started else "Pending"


def restarts_after(exit_code: int, restart_policy: str) -> bool:
    """Whether a container that ended with the code is started again."""
    return restart_policy == "Always" or (restart_policy == "OnFailure" and exit_code != 0)


def pod_address(uid: str) -> str:
    """A pod's address, the same each time; from the range for carriers, which no VPC here uses."""
    digest = hashlib.sha256(uid.encode()).digest()
    return f"100.{64 + digest[0] % 64}.{digest[1]}.{1 + digest[2] % 254}"


def timestamp() -> str:
    """Now, as the Kubernetes API writes it."""
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _condition(kind: str, *, holds: bool, reason: str = "") -> Mapping[str, Any]:
    return {
        "type": kind,
        "status": "True" if holds else "False",
        "lastTransitionTime": timestamp(),
        "reason": None if holds else reason,
    }
