"""A whole rehearsal whose training job is looked at: its runs, their processes, their reports."""

import json
import signal
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psutil

from infra.rehearsal import gang_watch
from infra.rehearsal.aws.world import World
from infra.rehearsal.driver import Rehearsal
from infra.waiting import wait_until
from tests.support.gang import Aws

RUN_SECONDS = 240
"""A run of the default task takes 20 to 40 s here; more only shows that something is wrong."""


class TrainingSite:
    """The training job of a running rehearsal."""

    def __init__(self, rehearsal: Rehearsal) -> None:
        self.rehearsal = rehearsal
        self.api = rehearsal.api
        job = rehearsal.settings.training_job
        self._namespace, self._name = job.namespace, job.name

    def aws(self) -> Aws:
        """The rehearsal's bucket."""
        return Aws(
            bucket=self.rehearsal.outputs()["resultsBucket"],
            credentials={},
            endpoint=self.rehearsal.shell_variables()["AWS_ENDPOINT_URL"],
        )

    def train(self, *, job: Mapping[str, Any] | None = None, **settings: Any) -> str:
        """Bring the stack up with these values of `gangway:training`; the uid of the job.

        `job` are values of `gangway:trainingJob`.
        """
        changes = {"gangway:training": settings, "gangway:trainingJob": job or {}}
        own = self.rehearsal._raw
        self.rehearsal.up(changes={key: {**own[key], **given} for key, given in changes.items()})
        return self.job()["metadata"]["uid"]

    def job(self) -> dict[str, Any]:
        path = gang_watch.JOBS.format(namespace=self._namespace, name=self._name)
        return self.api.get(path)

    def finish(
        self, uid: str, *, phase: str = "Completed", status: str = "success"
    ) -> dict[str, Any]:
        """Wait for the run's end and return the report that it left."""
        ended = gang_watch.wait_until_ended(self.api, self._namespace, self._name, RUN_SECONDS)
        assert (ended.phase, self.job()["metadata"]["uid"]) == (phase, uid), self.logs()
        (key,) = [
            key
            for key in self.aws().object_keys()
            if key.startswith("logs/volcano_training_") and key.endswith(f"_{uid}.json")
        ]
        assert key.startswith(f"logs/volcano_training_{status}_")
        return self.aws().document(key)

    def pod(self, rank: int) -> dict[str, Any]:
        """The pod of a rank of two."""
        task = "worker" if rank else "master"
        pods = f"/api/v1/namespaces/{self._namespace}/pods"
        return self.api.get(f"{pods}/{self._name}-{task}-0")

    def wait_for_checkpoint(self, uid: str, *, after: int = 0) -> int:
        """Wait until the run has a checkpoint of a later step."""
        aws = self.aws()

        def latest() -> int | None:
            steps = [
                int(key[-15:-5])
                for key in aws.object_keys()
                if f"/{uid}/" in key and key.endswith(".ckpt")
            ]
            newest = max(steps, default=0)
            return newest if newest > after else None

        return wait_until(
            latest, what=f"a checkpoint after step {after}", deadline_seconds=RUN_SECONDS
        )

    def kill(self, rank: int) -> None:
        """End a rank's process as the kernel does when its memory is full."""
        folder = self.rehearsal.state.path / "pods" / self.pod(rank)["metadata"]["uid"]
        (record,) = json.loads((folder / "processes.json").read_text(encoding="utf-8"))
        psutil.Process(record["pid"]).send_signal(signal.SIGKILL)

    def node(self, name: str) -> dict[str, Any]:
        return self.api.get(f"/api/v1/nodes/{name}")

    def interrupt(self, rank: int) -> str:
        """Take the spot instance under a rank; the name of its node."""
        name: str = self.pod(rank)["spec"]["nodeName"]
        instance = self.node(name)["spec"]["providerID"].rpartition("/")[2]
        self.world().interrupt(instance)
        return name

    def world(self) -> World:
        return World.open(self.rehearsal.state.path)

    def logs(self) -> str:
        """What every pod of the training job said."""
        return "\n".join(f"{path}\n{path.read_text()}" for path in self._log_files())

    def _log_files(self) -> Iterator[Path]:
        folder = self.rehearsal.state.path / "logs" / "pods"
        yield from sorted(folder.glob(f"{self._namespace}_{self._name}-*/*.log"))


def by_rank(document: Mapping[str, Any]) -> Iterator[tuple[dict[str, Any], dict[str, Any]]]:
    """Each rank's part of the gang's facts, with its own document."""
    yield from zip(document["gang"]["ranks"], document["ranks"], strict=True)
