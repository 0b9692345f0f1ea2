"""One pod's whole run: who am I, meet, train, report. It outlives whatever training does."""

import logging
import signal
import tempfile
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from trainer import hardware, report
from trainer.checkpoint import Checkpoints
from trainer.environment import Environment
from trainer.exits import ExitCode, PeerLostError, PreemptedError, RendezvousError, TrainerError
from trainer.identity import check_identity
from trainer.monitor import GpuMonitor
from trainer.processes import POLL_SECONDS, Processes, process_environments, training_command
from trainer.rendezvous import Gang
from trainer.storage import Storage

LOG = logging.getLogger("trainer")

Document = dict[str, Any]

LOST_GRACE_SECONDS: Final = 5.0
"""After a rank is lost: time to keep the last whole step before training is ended."""
PREEMPTED_GRACE_SECONDS: Final = 60.0
"""After SIGTERM: time to finish a step and checkpoint. The job's pods have 90 s for all of it."""
RESULT_GRACE_SECONDS: Final = 10.0
"""After the result: time for a framework to take itself down."""
FAILED_REPORT_SECONDS: Final = 5.0
"""How long rank 0 waits for the others' documents of a failed attempt."""
HAND_OVER_SECONDS: Final = 20.0
"""How long the others then wait for rank 0, which may have to end its training first."""


class Supervisor:
    """Carries one rank from its first second to its exit code."""

    def __init__(
        self, environment: Environment, variables: Mapping[str, str], arguments: Sequence[str]
    ) -> None:
        self.environment = environment
        self.variables = variables
        self.arguments = arguments
        self.record = report.Record(started_at=datetime.now(UTC))
        self.stop = threading.Event()
        self.storage = Storage(environment.destination)
        self.checkpoints = Checkpoints(self.storage, environment.job.name, environment.job.uid)
        self.gang: Gang | None = None
        self.monitor = GpuMonitor()
        self._may_write = False

    def run(self) -> ExitCode:
        """Run to the end; every cause comes out as its exit code, with its reason recorded."""
        signal.signal(signal.SIGTERM, lambda *_: self.stop.set())
        began = time.monotonic()
        try:
            if self._replay():
                return ExitCode.OK
            self._meet()
            self._train()
            self.record.duration_seconds = time.monotonic() - began
            self._observe()
            self._report_success()
        except TrainerError as error:
            self.record.duration_seconds = time.monotonic() - began
            return self._fail(error.exit_code, str(error))
        except Exception as error:
            LOG.exception("the supervisor itself failed")
            self.record.duration_seconds = time.monotonic() - began
            return self._fail(ExitCode.TRAINING_FAILED, f"{type(error).__name__}: {error}")
        finally:
            self.monitor.end()
            if self.gang is not None:
                self.gang.close()
        return ExitCode.OK

    def _replay(self) -> bool:
        """Check the identity; if this job has already finished, write the same documents again."""
        environment = self.environment
        expected = environment.destination.expected_role_arn
        identity = check_identity(expected, environment.destination.region)
        self._may_write = True
        self.record.aws = {"account": identity.account, "role": identity.role}
        finished = self.checkpoints.read_note("finished")
        if finished is None:
            return False
        LOG.info("this job has finished before; its report is written again, unchanged")
        for document in finished["ranks"]:
            if document["rank"] == environment.world.rank:
                self.storage.put(
                    report.rank_key(environment), report.encode(document), "application/json"
                )
        if environment.world.rank == 0:
            self._put_job(finished)
        return True

    def _meet(self) -> None:
        environment = self.environment
        cluster = hardware.Cluster(environment.kubernetes)
        facts = hardware.read_instance(environment.pod, cluster, allow_imds=environment.allow_imds)
        self.record.aws = {"region": environment.destination.region, **facts, **self.record.aws}
        self.record.system = hardware.read_system()
        self.record.versions = hardware.read_versions()
        self.record.attempt = self._count_attempt()
        hello = report.known(
            {
                "capacity_type": facts.get("capacity_type"),
                "node": environment.pod.node,
                "pod": environment.pod.name,
                "scheduled_at": hardware.scheduled_at(environment.pod, cluster),
                "started_at": report.utc(self.record.started_at),
                "uid": environment.job.uid,
                "version": environment.job.version,
                "zone": facts.get("zone"),
            }
        )
        self.gang = Gang(environment.world, hello)
        try:
            self.gang.meet(self._agree, self.stop)
        except RendezvousError as error:
            if self.stop.is_set():
                message = "asked to end while waiting for the other ranks"
                raise PreemptedError(message) from error
            raise
        LOG.info(
            "all %d ranks are here; attempt %d, %s",
            environment.world.size,
            self.record.attempt,
            self.gang.start["resume_key"] or "from the start",
        )

    def _count_attempt(self) -> int:
        """Count from 1 how often this job has come this far, by one note per job version.

        Volcano's own version cannot be used as a count: it may rise by more than one a restart.
        """
        version = self.environment.job.version
        self.checkpoints.note(f"attempts/{version:06d}", {"version": version})
        seen = self.checkpoints.note_names("attempts/")
        return sum(int(name.removeprefix("attempts/")) <= version for name in seen)

    def _agree(self) -> Document:
        """On rank 0: what all ranks must take alike."""
        first = self.checkpoints.read_note("started")
        if first is None:
            first = {"at": report.utc(self.record.started_at)}
            self.checkpoints.note("started", first)
        latest = self.checkpoints.latest()
        return {
            "first_started_at": first["at"],
            "resume_key": latest.key if latest else None,
            "skipped": self.checkpoints.skipped,
        }

    def _train(self) -> None:
        gang = self._met()
        self.record.checkpoints["skipped"] = gang.start["skipped"]
        self.monitor.start()
        with tempfile.TemporaryDirectory(prefix="gangway-") as folder:
            processes = Processes(training_command(self.arguments), Path(folder))
            began = time.monotonic()
            try:
                processes.start(
                    process_environments(self.environment, self.variables, gang.start["resume_key"])
                )
                self._watch(processes)
            finally:
                processes.end(LOST_GRACE_SECONDS)
                self._take(processes)
                if not self.record.training_seconds:
                    self.record.training_seconds = time.monotonic() - began

    def _watch(self, processes: Processes) -> None:
        """Until all have their result: end on a lost rank, a wish to end, or a failure."""
        gang = self._met()
        pause = threading.Event()
        while True:
            ended = processes.exit_codes()
            self._take(processes)
            if self.record.failure is not None:
                self._end_processes(processes, LOST_GRACE_SECONDS)
            failed = [code for code in ended if code]
            if failed and not self.record.result:
                message = f"a training process ended with code {failed[0]} without saying why"
                raise TrainerError(message)
            if all(code == 0 for code in ended) or self.record.result:
                processes.wait(RESULT_GRACE_SECONDS)
                return
            self._end_if_asked(processes)
            lost = gang.lost_peer()
            if lost:
                self._end_processes(processes, LOST_GRACE_SECONDS)
                message = f"{lost}; this rank ends so that the gang can start again"
                raise PeerLostError(message)
            pause.wait(POLL_SECONDS)

    def _end_if_asked(self, processes: Processes) -> None:
        """When this pod or another was asked to end: let all ranks stop after the same step."""
        gang = self._met()
        other = gang.leaving_peer()
        if not self.stop.is_set() and other is None:
            return
        if self.stop.is_set():
            gang.announce_leave()
        self._end_processes(processes, PREEMPTED_GRACE_SECONDS)
        message = f"{other or 'the pod'} was asked to end (SIGTERM)"
        raise PreemptedError(message)

    def _end_processes(self, processes: Processes, grace_seconds: float) -> None:
        """End training; the cause that it names itself on the way goes before any other."""
        processes.end(grace_seconds)
        self._take(processes)
        if self.record.failure is not None:
            self._raise_failure()

    def _raise_failure(self) -> None:
        """A training process said why it failed; that is this rank's cause."""
        failure = self.record.failure or {}
        error = TrainerError(failure["reason"])
        error.exit_code = _exit_code(failure["exit_code"])
        raise error

    def _take(self, processes: Processes) -> None:
        for index, event in processes.events():
            self._note(index, event)

    def _note(self, index: int, event: Document) -> None:
        """Take one event of a training process into the record; the first process leads."""
        kind = event.pop("event")
        record = self.record
        if kind == "failure" and record.failure is None:
            code = _exit_code(event.get("exit_code"))
            record.failure = {"exit_code": int(code), "reason": str(event.get("message"))}
        elif kind == "checkpoint":
            record.checkpoints["written"].append({"key": event["key"], "step": event["step"]})
        elif kind == "resumed":
            record.checkpoints["resumed_from"] = {"key": event["key"], "step": event["step"]}
        elif kind == "progress" and index == 0:
            record.curve.append({"step": event["step"], "loss": event["loss"]})
            record.samples = event["samples"]
        elif kind == "result" and index == 0:
            self._note_result(event)

    def _note_result(self, result: Document) -> None:
        record = self.record
        record.result = result or {"returned": "nothing"}
        processes = max(1, self.environment.limits.gpus)
        if self.environment.training.framework == "tensorflow":
            processes = 1
        record.samples = processes * int(result.get("samples", record.samples))
        record.training_seconds = float(result.get("training_seconds", 0.0))
        record.curve = result.get("curve", record.curve)
        record.versions.update(result.get("versions", {}))

    def _observe(self) -> None:
        """Read what is only known after the run."""
        self.record.gpus = self.monitor.devices()
        self.record.cgroup = hardware.read_cgroup()

    def _report_success(self) -> None:
        gang = self._met()
        own = report.rank_document(self.environment, self.record, datetime.now(UTC))
        self.storage.put(report.rank_key(self.environment), report.encode(own), "application/json")
        if self.environment.world.rank != 0:
            if not gang.hand_over(own):
                message = "rank 0 went before the job's report was safe"
                raise PeerLostError(message)
            return
        ranks = gang.collect(own)
        if len(ranks) < self.environment.world.size:
            message = f"{len(ranks)} of {self.environment.world.size} ranks gave their report"
            raise PeerLostError(message)
        document = report.join(ranks, gang.start, datetime.now(UTC))
        self._put_job(document)
        self.checkpoints.note("finished", document)
        gang.dismiss()

    def _put_job(self, document: Document) -> None:
        key = report.job_key(self.storage.prefix, document)
        self.storage.put(key, report.encode(document), "application/json")
        LOG.info("the job's report is s3://%s/%s", self.storage.bucket, key)

    def _fail(self, exit_code: ExitCode, reason: str) -> ExitCode:
        """Record the cause; when no further attempt follows, upload it before the pod ends."""
        LOG.error("%s (exit code %d)", reason, exit_code)
        self.record.failure = {"exit_code": int(exit_code), "reason": reason}
        last = self.record.attempt >= self.environment.job.max_retry
        hopeless = exit_code == ExitCode.CONFIGURATION
        if self._may_write and (last or hopeless):
            try:
                self._report_failure()
            except TrainerError as error:
                LOG.error("the failure report was not uploaded: %s", error)
        return exit_code

    def _report_failure(self) -> None:
        """Upload this rank's document, and the job's on rank 0 or when rank 0 is gone."""
        self._observe()
        own = report.rank_document(self.environment, self.record, datetime.now(UTC))
        self.storage.put(report.rank_key(self.environment), report.encode(own), "application/json")
        gang = self.gang
        start = gang.start if gang and gang.start else self._lonely_start(own)
        if self.environment.world.rank == 0:
            ranks = gang.collect(own, FAILED_REPORT_SECONDS) if gang else [own]
            self._put_job(report.join(ranks, start, datetime.now(UTC)))
            if gang:
                gang.dismiss()
        elif gang is None or not gang.hand_over(own, HAND_OVER_SECONDS):
            self._put_job(report.join([own], start, datetime.now(UTC)))

    def _lonely_start(self, own: Document) -> Document:
        """What there is to say about a gang that never came together."""
        first = self.checkpoints.read_note("started") or {"at": own["started_at"]}
        hello = {**own["kubernetes_info"], "rank": own["rank"], "started_at": own["started_at"]}
        return {"first_started_at": first["at"], "hellos": [hello]}

    def _met(self) -> Gang:
        if self.gang is None:
            message = "the gang has not met"
            raise TrainerError(message)
        return self.gang


def _exit_code(value: Any) -> ExitCode:
    try:
        return ExitCode(value)
    except ValueError:
        return ExitCode.TRAINING_FAILED
