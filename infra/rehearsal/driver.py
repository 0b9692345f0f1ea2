"""A rehearsal from nothing to a running environment and back, by one driver at a time."""

import copy
import errno
import functools
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from pulumi import automation
from rich.console import Console

from infra.errors import GangwayError, UsageError
from infra.rehearsal import (
    ambient,
    control_plane,
    engine,
    frameworks,
    gang_watch,
    leftovers,
    places,
    processes,
    supervisor,
)
from infra.rehearsal.aws import server as aws_server
from infra.rehearsal.aws.account import remembered_region
from infra.rehearsal.checkpoint import Checkpoint
from infra.rehearsal.engine import Engine
from infra.rehearsal.gang_watch import GangState
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.live import LiveView
from infra.rehearsal.state import OlderStateError, write_failure
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.rehearsal.tools.resolve import resolve
from infra.waiting import DeadlineExceededError
from stacks.settings import Settings

DEADLINE_SECONDS: Final = 900
GANG_SECONDS: Final = 180
LEFT_BEHIND: Final = re.compile(r"already exists|AlreadyExists|already in use|still in use")
"""What an engine meets that knows nothing of a thing which its killed predecessor made."""

FOLDER_FAILURES: Final = frozenset(
    {
        errno.EACCES,
        errno.EDQUOT,
        errno.ENAMETOOLONG,
        errno.ENOENT,
        errno.ENOSPC,
        errno.ENOTDIR,
        errno.EPERM,
        errno.EROFS,
    }
)
DESTROYING: Final = "destroying"
"""Section of the state folder: a destroy has begun and did not end."""


@dataclass(frozen=True, kw_only=True, slots=True)
class UpReport:
    """What an `up` did: operations by kind, seconds of each part, and the gang's state."""

    counts: Mapping[str, int]
    gang: GangState | None
    seconds: Mapping[str, float]


class Rehearsal:
    """One environment on this machine, by its rehearsal's name."""

    def __init__(
        self,
        environment: str,
        console: Console,
        *,
        name: str | None = None,
        root: Path | None = None,
    ) -> None:
        ambient.shield(os.environ)
        self.environment = environment
        self.state = places.state_folder(environment, name, root or places.state_root())
        self._console = console
        self._tools: Mapping[str, Path] = {}

    @functools.cached_property
    def settings(self) -> Settings:
        """The environment's settings. Raises GangwayError naming every mistake in its file.

        Read when they are asked for: a rehearsal can be ended while its file is broken.
        """
        return places.parsed(self._raw, self.environment)

    @functools.cached_property
    def _raw(self) -> dict[str, Any]:
        return places.raw_settings(self.environment)

    @property
    def tools(self) -> Mapping[str, Path]:
        """Every program and chart, fetched or built when it is not here yet."""
        if not self._tools:
            self._tools = resolve(CATALOGUE, self._console)
        return self._tools

    @property
    def api(self) -> KubernetesApi:
        """The rehearsal's API server."""
        return KubernetesApi.of(self.state)

    @property
    def arguments(self) -> str:
        """The options with which a command finds this rehearsal again."""
        named = "" if self.state.name == self.environment else f" --name {self.state.name}"
        return f"--env {self.environment}{named}"

    def up(
        self,
        *,
        changes: Mapping[str, Any] | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        gang_seconds: float = GANG_SECONDS,
    ) -> UpReport:
        """Bring control plane, emulated AWS and stack up; wait for the gang unless 0 seconds.

        `changes` replace raw configuration keys for this run (`gangway:queues`, …). What is
        there already is kept, so a second call changes nothing. Ctrl-C takes a rehearsal that
        this call began away again.
        """
        places.parsed({**self._raw, **(changes or {})}, self.environment)
        tools = self.tools
        seconds: dict[str, float] = {}
        fresh = not self.state.exists
        with self._driven(), self._taken_away_when_interrupted(fresh):
            engine.load_program()
            with _timed(seconds, "machine"):
                self._machine(tools, fresh)
            self._tell_what_cannot_train(changes)
            self._settle(deadline_seconds)
            with _timed(seconds, "stack"):
                view = self._run("up", changes, deadline_seconds, Engine.up)
            with _timed(seconds, "gang"):
                gang = self._gang(gang_seconds)
        return UpReport(counts=view.progress.counts(), gang=gang, seconds=seconds)

    def preview(
        self,
        *,
        changes: Mapping[str, Any] | None = None,
        deadline_seconds: float = DEADLINE_SECONDS,
    ) -> Mapping[str, int]:
        """What `up` would change, by operation, planned by the real engine."""
        places.parsed({**self._raw, **(changes or {})}, self.environment)
        tools, fresh = self.tools, not self.state.exists
        with self._driven(), self._taken_away_when_interrupted(fresh):
            engine.load_program()
            self._machine(tools, fresh)
            self._settle(deadline_seconds)
            view = self._run("preview", changes, deadline_seconds, Engine.preview)
        return view.progress.counts()

    def refresh(self, *, deadline_seconds: float = DEADLINE_SECONDS) -> Mapping[str, int]:
        """Read what exists into the stack's state; returns operations by kind."""
        _ = self.settings
        tools = self.tools
        with self._driven():
            self._machine(tools)
            view = self._run("refresh", None, deadline_seconds, Engine.refresh)
        return view.progress.counts()

    def down(self, *, deadline_seconds: float = DEADLINE_SECONDS, force: bool = False) -> None:
        """Destroy the stack, prove that nothing is left, end every process, remove the folder.

        With `force` the stack is not destroyed first: processes and folder just go. Raises
        GangwayError naming what was left; the rehearsal then stays to be looked at. A folder that
        this version cannot read just goes, with the processes that carry its mark.
        """
        if not self.state.path.exists():
            self._console.print(f"there is no rehearsal {self.state.name}")
            return
        with self._driven():
            if not self._is_readable():
                self._end_marked()
            else:
                if not force and self._can_destroy():
                    self._destroy(deadline_seconds)
                self._remove()
            # Held until it is gone: another command must not begin in a folder that goes.
            shutil.rmtree(self.state.path, ignore_errors=True)
        self._console.print(f"rehearsal {self.state.name} is gone: no process, no file is left")

    def status(self) -> dict[str, bool]:
        """Part -> whether it runs; empty when there is no rehearsal."""
        if not self.state.exists:
            return {}
        return {
            **control_plane.status(self.state),
            "emulated AWS": aws_server.is_running(self.state.path),
            "supervisor": supervisor.is_running(self.state),
        }

    def gang(self) -> GangState | None:
        """The training job's state now; None while there is none."""
        job = self.settings.training_job
        return gang_watch.look(self.api, job.namespace, job.name)

    def outputs(self) -> dict[str, Any]:
        """The stack's exports."""
        return self._engine(None).outputs()

    def shell_variables(self) -> dict[str, str]:
        """What a shell needs to look around: kubectl and pulumi on PATH, their settings."""
        runner = Engine(self.state, config={}, environment=self.environment, tools=self.tools)
        variables = runner.variables()
        del variables["TMPDIR"]  # the shell may outlive the rehearsal
        return variables | {
            "KUBECONFIG": str(control_plane.kubeconfig_path(self.state)),
            "AWS_ENDPOINT_URL": str(self.state.section("moto").get("endpoint", "")),
            "AWS_REGION": remembered_region(self.state.path),
        }

    def _is_readable(self) -> bool:
        try:
            self.state.document()
        except OlderStateError:
            return False
        return True

    @contextmanager
    def _driven(self) -> Iterator[None]:
        """Hold the rehearsal; a folder that cannot be written is told in a sentence."""
        try:
            with self.state.driven():
                yield
        except OSError as error:
            if error.errno not in FOLDER_FAILURES:
                raise
            raise GangwayError(write_failure(self.state.path, error)) from error

    def _refuse_other_environment(self) -> None:
        known = self.state.document().get("environment", self.environment)
        if known != self.environment:
            message = (
                f"rehearsal {self.state.name} is one of {known}: give --env {known}, or another "
                "--name"
            )
            raise UsageError(message)

    def _tell_what_cannot_train(self, changes: Mapping[str, Any] | None) -> None:
        training = places.parsed({**self._raw, **(changes or {})}, self.environment).training
        absent = frameworks.absence(training.framework)
        if absent and not training.command:
            self._console.print(absent, highlight=False)

    def _machine(self, tools: Mapping[str, Path], fresh: bool = False) -> None:
        """Start what does not run yet; when a fresh start fails, nothing of it stays."""
        self._refuse_other_environment()
        holds = bool(self._checkpoint.resources())
        aws_server.refuse_lost(self.state.path, holds_resources=holds)
        try:
            self.state.merge(environment=self.environment)
            control_plane.up(self.state, tools)
            supervisor.ensure_running(self.state, tools)
        except (GangwayError, OSError):
            if fresh:
                self._take_away()
            raise

    def _engine(self, changes: Mapping[str, Any] | None) -> Engine:
        config = copy.deepcopy({**self._raw, **(changes or {})})
        places.parsed(config, self.environment)
        own = config.setdefault("gangway:charts", {})
        own.setdefault("directory", str(engine.chart_directory(self.state, self.tools)))
        return Engine(self.state, config=config, environment=self.environment, tools=self.tools)

    def _run(
        self,
        title: str,
        changes: Mapping[str, Any] | None,
        deadline_seconds: float,
        action: Callable[..., Any],
    ) -> LiveView:
        """Run one operation of the engine under a view and a deadline."""
        runner = self._engine(changes)
        engine.quiet_readers()
        runner.clear_interrupted()
        self._forget_releases(runner)
        late = threading.Event()

        def stop() -> None:
            late.set()
            engine.interrupt(self.state)

        timer = threading.Timer(deadline_seconds, stop)
        timer.start()
        view = LiveView(self._console, f"{title} {self.state.name}")
        try:
            with view:
                engine.attend(
                    self.state,
                    lambda: action(runner, on_event=view.on_event, on_error=view.on_error),
                    self._console.print,
                )
        except automation.CommandError as error:
            if late.is_set():
                message = (
                    f"{title} of {self.state.name} was not done within {deadline_seconds:g} s and "
                    f"was ended; run it again, or `gangway rehearse down {self.arguments}`"
                )
                raise GangwayError(message) from error
            refusal = engine.failure(error, view.progress.diagnostics)
            if not LEFT_BEHIND.search(str(refusal)):
                raise refusal from error
            message = (
                f"{refusal}; when an interrupted run left it, "
                f"`gangway rehearse down --force {self.arguments}` clears the way"
            )
            raise GangwayError(message) from error
        finally:
            timer.cancel()
        return view

    def _settle(self, deadline_seconds: float) -> None:
        """After a destroy that did not end: take into the state what is gone already."""
        if self.state.document().get(DESTROYING):
            self._console.print("the last `down` did not end: reading what is still there")
            self._run("refresh", None, deadline_seconds, Engine.refresh)
            self.state.merge(**{DESTROYING: False})

    def _forget_releases(self, runner: Engine) -> None:
        """Let Helm install again what a killed engine began; it adopts what is there by then."""
        releases = runner.checkpoint.unfinished_releases()
        if releases:
            runner.forget_unfinished_releases()
        for namespace, name in releases:
            path = f"/api/v1/namespaces/{namespace}/secrets"
            for secret in self.api.items(path, labelSelector=f"owner=helm,name={name}"):
                self.api.delete(f"{path}/{secret['metadata']['name']}")

    def _gang(self, gang_seconds: float) -> GangState | None:
        if gang_seconds == 0:
            return None
        job = self.settings.training_job
        try:
            return gang_watch.wait_until_bound(self.api, job.namespace, job.name, gang_seconds)
        except DeadlineExceededError as error:
            ask = f"`kubectl describe podgroup --namespace {job.namespace}`"
            shell = f"`gangway rehearse shell {self.arguments}`"
            message = f"{error}: {ask} in a {shell} tells why"
            raise GangwayError(message) from error

    @contextmanager
    def _taken_away_when_interrupted(self, fresh: bool) -> Iterator[None]:
        try:
            yield
        except KeyboardInterrupt:
            engine.interrupt(self.state)
            if fresh:
                self._console.print(f"interrupted: taking rehearsal {self.state.name} away")
                self._take_away()
            raise

    def _can_destroy(self) -> bool:
        """Whether there is a stack, and its world still runs or can be started again."""
        self._refuse_other_environment()
        _ = self.settings
        if not self._checkpoint.exists:
            return False
        if not all(self.status().values()):
            self._machine(self.tools)
        return True

    @property
    def _checkpoint(self) -> Checkpoint:
        return engine.checkpoint(self.state, self.environment)

    def _destroy(self, deadline_seconds: float) -> None:
        self._settle(deadline_seconds)
        if self.settings.cluster.protect:
            self._console.print(
                f"{self.environment} is protected: taking the protection off first, as on AWS"
            )
            self._run("unprotect", self._unprotected(), deadline_seconds, Engine.up)
        self.state.merge(**{DESTROYING: True})
        self._run("destroy", self._unprotected(), deadline_seconds, Engine.destroy)
        leftovers.prove_none(self.api, self.state, self._checkpoint, self.arguments)

    def _unprotected(self) -> dict[str, Any]:
        """Values that allow a `destroy`: no protection, and results go with their bucket."""
        return {
            "gangway:cluster": {**self._raw["gangway:cluster"], "protect": False},
            "gangway:results": {**self._raw["gangway:results"], "forceDestroy": True},
        }

    def _remove(self) -> None:
        """End every process of this rehearsal, by its id."""
        processes.stop(list(engine.left_engines(self.state)), grace_seconds=engine.END_SECONDS)
        supervisor.stop(self.state)
        control_plane.down(self.state)
        self._end_marked()

    def _end_marked(self) -> None:
        processes.stop(list(engine.left_engines(self.state)), grace_seconds=engine.END_SECONDS)
        processes.stop(processes.belonging_to(self.state.path), grace_seconds=2)

    def _take_away(self) -> None:
        self._remove()
        shutil.rmtree(self.state.path, ignore_errors=True)


@contextmanager
def _timed(seconds: dict[str, float], part: str) -> Iterator[None]:
    started = time.monotonic()
    yield
    seconds[part] = time.monotonic() - started
