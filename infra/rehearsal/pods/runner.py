"""Watches the cluster's pods and lives those that run as real processes."""

import base64
import json
import shutil
import threading
from collections.abc import Iterable, Mapping
from typing import Any, Final

from infra.rehearsal import processes
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.pods.launch import Surroundings
from infra.rehearsal.pods.life import PodLife
from infra.rehearsal.pods.selection import PROGRAMS, is_real
from infra.rehearsal.pods.status import pod_address
from infra.rehearsal.pods.variables import Sources
from infra.rehearsal.pods.volumes import PodVolumes
from infra.rehearsal.processes import ProcessRecord
from infra.rehearsal.state import StateFolder

JsonObject = Mapping[str, Any]

WATCH_SECONDS: Final = 240
MARKERS: Final = (*(name.encode() for name in PROGRAMS), b'"trainer"', b"-m trainer")
"""An event without any of these is of a played pod; it is not even parsed."""

_OVER: Final = ("Succeeded", "Failed")


class PodRunner:
    """The kubelet of all nodes, for real pods only."""

    def __init__(self, state: StateFolder, api: KubernetesApi, surroundings: Surroundings) -> None:
        self._api = api
        self._folder = state.folder("pods")
        self._logs = state.folder("logs") / "pods"
        self._surroundings = surroundings
        self._lives: dict[str, PodLife] = {}
        self._ended: set[str] = set()
        self._lock = threading.Lock()
        self._stopping = threading.Event()

    def clear_leftovers(self) -> None:
        """End processes that a supervisor which was killed left behind, and their folders."""
        for record in self._folder.glob("*/processes.json"):
            fields = json.loads(record.read_text(encoding="utf-8"))
            processes.stop(map(ProcessRecord.from_json, fields), grace_seconds=1)
        shutil.rmtree(self._folder, ignore_errors=True)
        self._folder.mkdir(parents=True, exist_ok=True)

    def follow(self) -> None:
        """List the pods, then watch them for a while; call it again and again."""
        listing = self._api.get("/api/v1/pods")
        present = set()
        for pod in listing["items"]:
            present.add(pod["metadata"]["uid"])
            self._see(pod)
        self._forget(set(self._lives) - present)
        version = listing["metadata"]["resourceVersion"]
        for line in self._api.watch("/api/v1/pods", seconds=WATCH_SECONDS, resourceVersion=version):
            if self._stopping.is_set():
                return
            if any(marker in line for marker in MARKERS):
                self._handle(json.loads(line))
            elif b'"type":"ERROR"' in line:
                return

    def backend(self, namespace: str, selector: Mapping[str, str], port: str) -> int | None:
        """A local port of a ready pod behind a service's port; None when none is ready."""
        with self._lock:
            lives = [life for life in self._lives.values() if life.namespace == namespace]
        for life in lives:
            if life.is_ready and selector.items() <= life.labels.items():
                local = _local_port(life, port)
                if local is not None:
                    return local
        return None

    def stop(self) -> None:
        """Stop all processes; the pods stay in the API."""
        self._stopping.set()
        with self._lock:
            lives = list(self._lives.values())
        for life in lives:
            life.leave()
        for life in lives:
            life.join(timeout=5)

    def _handle(self, event: JsonObject) -> None:
        pod = event["object"]
        if event["type"] == "DELETED":
            self._forget([pod["metadata"]["uid"]])
        elif event["type"] in ("ADDED", "MODIFIED"):
            self._see(pod)

    def _see(self, pod: JsonObject) -> None:
        if not pod["spec"].get("nodeName") or not is_real(pod):
            return
        uid = pod["metadata"]["uid"]
        deletion = pod["metadata"].get("deletionTimestamp")
        with self._lock:
            life = self._lives.get(uid)
            known = life is not None or uid in self._ended
        if deletion:
            if life is not None:
                life.delete(float(pod["metadata"].get("deletionGracePeriodSeconds", 0)))
            else:
                self._api.delete(_pod_path(pod), grace_seconds=0, uid=uid)
        elif not known and pod["status"].get("phase") not in _OVER:
            self._begin(pod)

    def _forget(self, uids: Iterable[str]) -> None:
        for uid in list(uids):
            with self._lock:
                life = self._lives.get(uid)
                self._ended.discard(uid)
            if life is not None:
                life.delete(0.0)

    def _begin(self, pod: JsonObject) -> None:
        node = self._api.find(f"/api/v1/nodes/{pod['spec']['nodeName']}")
        if node is None:
            return  # the pod garbage collector takes it
        uid = pod["metadata"]["uid"]
        volumes = PodVolumes(
            folder=self._folder / uid,
            pod=pod,
            sources=self._sources(pod, node),
            request_token=lambda projection: self._token(pod, projection),
        )
        life = PodLife(
            pod,
            api=self._api,
            volumes=volumes,
            surroundings=self._surroundings,
            logs=self._logs,
            on_end=self._end,
        )
        with self._lock:
            self._lives[uid] = life
        life.start()

    def _end(self, uid: str) -> None:
        with self._lock:
            self._lives.pop(uid, None)
            self._ended.add(uid)

    def _sources(self, pod: JsonObject, node: JsonObject) -> Sources:
        addresses = {item["type"]: item["address"] for item in node["status"].get("addresses", [])}
        return Sources(
            config_map=self._config_map,
            secret=self._secret,
            node_allocatable=node["status"].get("allocatable", {}),
            pod_address=pod_address(pod["metadata"]["uid"]),
            node_address=addresses.get("InternalIP", ""),
        )

    def _config_map(self, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self._api.find(f"/api/v1/namespaces/{namespace}/configmaps/{name}")
        return None if found is None else found.get("data") or {}

    def _secret(self, namespace: str, name: str) -> Mapping[str, str] | None:
        found = self._api.find(f"/api/v1/namespaces/{namespace}/secrets/{name}")
        if found is None:
            return None
        data = found.get("data") or {}
        return {key: base64.b64decode(value).decode() for key, value in data.items()}

    def _token(self, pod: JsonObject, projection: JsonObject) -> str:
        metadata, account = pod["metadata"], pod["spec"].get("serviceAccountName", "default")
        reference = {"apiVersion": "v1", "kind": "Pod"} | {
            key: metadata[key] for key in ("name", "uid")
        }
        # Tokens are not renewed here, so they are asked for a day: longer than a rehearsal.
        specification: dict[str, Any] = {"boundObjectRef": reference, "expirationSeconds": 86_400}
        if projection.get("audience"):
            specification["audiences"] = [projection["audience"]]
        answer = self._api.create(
            f"/api/v1/namespaces/{metadata['namespace']}/serviceaccounts/{account}/token",
            {"spec": specification},
        )
        return str(answer["status"]["token"])


def _local_port(life: PodLife, port: str) -> int | None:
    for container in life.containers:
        named = {
            item.get("name"): item["containerPort"] for item in container.spec.get("ports", [])
        }
        number = int(port) if port.isdigit() else named.get(port)
        if number in container.ports:
            return container.ports[number]
    return None


def _pod_path(pod: JsonObject) -> str:
    metadata = pod["metadata"]
    return f"/api/v1/namespaces/{metadata['namespace']}/pods/{metadata['name']}"
