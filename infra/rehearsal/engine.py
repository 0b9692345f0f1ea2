"""The real Pulumi engine for one rehearsal: its folders, its environment, its stack.

The program is the one that `pulumi up` runs, handed over inline; nothing in it knows of the
rehearsal. Only values differ: charts come from files that are here already.
"""

import contextlib
import functools
import importlib
import os
import secrets
import shlex
import shutil
import signal
import threading
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final

import psutil
import yaml
from pulumi import automation

from infra.errors import GangwayError
from infra.importing import uncollected
from infra.rehearsal import processes
from infra.rehearsal.aws.shims import write_shims
from infra.rehearsal.checkpoint import Checkpoint, is_unfinished_release
from infra.rehearsal.processes import ProcessRecord
from infra.rehearsal.state import StateFolder, write_atomically

PROJECT: Final = "gangway"
PLUGINS: Final = ("pulumi-resource-kubernetes", "pulumi-resource-eks")
CHARTS: Final = ("volcano-chart", "nvidia-device-plugin-chart", "cluster-autoscaler-chart")
TOOLS: Final = ("pulumi", *PLUGINS)
ENGINE_MARK: Final = "GANGWAY_REHEARSAL_ENGINE"
"""Set for the engine and its plugins, so that one left by a killed driver is found again."""

END_SECONDS: Final = 10
INTERRUPT_SECONDS: Final = 30

AFTERTHOUGHTS: Final = ("update failed", "preview failed", "Resource monitor has terminated")
"""Errors that the engine adds to a failure without a reason of their own."""

BACKEND: Final = "pulumi/backend"
"""The folder of the engine's state in that of the rehearsal."""

PROGRAM: Final = "infra.__main__"
"""The module of the Pulumi program. It brings the SDKs along, a second of imports and more."""

OnEvent = Callable[[automation.EngineEvent], Any]


class Engine:
    """The engine with the program of one environment and the state of one rehearsal."""

    def __init__(
        self,
        state: StateFolder,
        *,
        config: Mapping[str, Any],
        environment: str,
        tools: Mapping[str, Path],
    ) -> None:
        self._state = state
        self._environment = environment
        self._tools = tools
        self._config = dict(config)
        self._home = state.folder("pulumi")

    def up(self, on_event: OnEvent, on_error: Callable[[str], Any]) -> automation.UpResult:
        """Bring the stack to what the program declares."""
        return self._stack.up(on_event=on_event, on_error=on_error, color="never")

    def preview(
        self, on_event: OnEvent, on_error: Callable[[str], Any]
    ) -> automation.PreviewResult:
        """What `up` would change."""
        return self._stack.preview(on_event=on_event, on_error=on_error, color="never", diff=True)

    def refresh(self, on_event: OnEvent, on_error: Callable[[str], Any]) -> None:
        """Read what exists into the state."""
        self._stack.refresh(on_event=on_event, on_error=on_error, color="never")

    def destroy(self, on_event: OnEvent, on_error: Callable[[str], Any]) -> None:
        """Delete every resource of the stack."""
        self._stack.destroy(on_event=on_event, on_error=on_error, color="never")

    def outputs(self) -> dict[str, Any]:
        """The stack's exports, secrets in clear."""
        return {name: output.value for name, output in self._stack.outputs().items()}

    @property
    def checkpoint(self) -> Checkpoint:
        """The stack's state, readable while no engine runs."""
        return checkpoint(self._state, self._environment)

    def forget_unfinished_releases(self) -> None:
        """Take them out of the state's pending operations: what comes now is a new creation."""
        stack = self._stack
        exported = stack.export_stack()
        deployment = dict(exported.deployment or {})
        deployment["pending_operations"] = [
            pending
            for pending in deployment.get("pending_operations") or ()
            if not is_unfinished_release(pending)
        ]
        stack.import_stack(automation.Deployment(exported.version, deployment))

    @functools.cached_property
    def _stack(self) -> automation.Stack:
        """The stack; found once, as each call of the engine's program has its price."""
        work = self._home / "work"
        work.mkdir(exist_ok=True)
        self._write_config(work / f"Pulumi.{self._environment}.yaml")
        find = automation.select_stack if self.checkpoint.exists else automation.create_stack
        return find(
            stack_name=self._environment,
            project_name=PROJECT,
            program=program,
            opts=automation.LocalWorkspaceOptions(
                work_dir=str(work),
                pulumi_home=str(self._home / "home"),
                pulumi_command=automation.PulumiCommand(root=str(self._cli())),
                env_vars=self.variables(),
                project_settings=automation.ProjectSettings(
                    name=PROJECT,
                    runtime="python",
                    backend=automation.ProjectBackend(url=self._backend),
                ),
                secrets_provider="passphrase",
            ),
        )

    @property
    def _backend(self) -> str:
        folder = self._state.folder(BACKEND)
        return f"file://{folder}"

    def _write_config(self, path: Path) -> None:
        """The environment's own values; the salt that the engine put there is kept."""
        kept: dict[str, Any] = {}
        with contextlib.suppress(FileNotFoundError):
            kept = yaml.safe_load(path.read_text(encoding="utf-8")) or {}
        document = {"config": self._config}
        if "encryptionsalt" in kept:
            document["encryptionsalt"] = kept["encryptionsalt"]
        write_atomically(path, yaml.safe_dump(document))

    def _cli(self) -> Path:
        """A folder as the Automation API wants it: `bin/pulumi`, its plugins beside it."""
        folder = self._home / "cli" / "bin"
        folder.mkdir(parents=True, exist_ok=True)
        for name in TOOLS:
            link = folder / name
            link.unlink(missing_ok=True)
            link.symlink_to(self._tools[name])
        self._separate(folder / "pulumi")
        return folder.parent

    def _separate(self, link: Path) -> None:
        """Give the engine a session of its own, so that Ctrl-C reaches it through us, once.

        The terminal's would be its first and ours the second, at which it drops all and ends.
        """
        setsid = shutil.which("setsid")
        if setsid is not None:
            command = shlex.join([setsid, str(self._tools["pulumi"])])
            link.unlink(missing_ok=True)
            link.write_text(f'#!/bin/sh\nexec {command} "$@"\n', encoding="utf-8")
            link.chmod(0o700)

    def variables(self) -> dict[str, str]:
        """The engine's environment: nothing of the user's AWS, Kubernetes or Helm set-up counts."""
        shims = write_shims(self._state.path)
        path = [str(shims), str(self._cli() / "bin"), str(self._tools["kubectl"].parent)]
        helm = self._home / "helm"
        return {
            "PATH": os.pathsep.join([*path, os.environ.get("PATH", "")]),
            "PULUMI_BACKEND_URL": self._backend,
            "PULUMI_CONFIG_PASSPHRASE_FILE": str(self._passphrase()),
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_IGNORE_AMBIENT_PLUGINS": "false",
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            "AWS_ACCESS_KEY_ID": "rehearsal",
            "AWS_SECRET_ACCESS_KEY": "rehearsal",
            "AWS_EC2_METADATA_DISABLED": "true",
            **self._aws_files(),
            "KUBECONFIG": os.devnull,
            "HELM_CACHE_HOME": str(helm / "cache"),
            "HELM_CONFIG_HOME": str(helm / "config"),
            "HELM_DATA_HOME": str(helm / "data"),
            # The Kubernetes provider writes a kubeconfig for each Helm call and leaves it.
            "TMPDIR": str(self._state.folder("tmp")),
            ENGINE_MARK: str(self._state.path),
        }

    def _aws_files(self) -> dict[str, str]:
        """AWS settings of the rehearsal's own, whatever profile the user has."""
        config = self._home / "aws-config"
        write_atomically(config, "[default]\n")
        return {
            "AWS_CONFIG_FILE": str(config),
            "AWS_PROFILE": "default",
            "AWS_SHARED_CREDENTIALS_FILE": os.devnull,
        }

    def _passphrase(self) -> Path:
        path = self._home / "passphrase"
        if not path.exists():
            write_atomically(path, secrets.token_hex(16))
        return path

    def clear_interrupted(self) -> None:
        """End an engine that a killed driver left, and take its lock away.

        Only for the holder of the rehearsal's driver lock: nobody else can have a live engine.
        """
        processes.stop(list(left_engines(self._state)), grace_seconds=END_SECONDS)
        shutil.rmtree(self._state.path / BACKEND / ".pulumi" / "locks", ignore_errors=True)


def checkpoint(state: StateFolder, environment: str) -> Checkpoint:
    """The state of a rehearsal's stack, readable while no engine runs."""
    return Checkpoint(backend=state.path / BACKEND, stack=environment, remedy=state.down_command)


def program() -> None:
    """The program, as the engine runs it; destroying asks for none, so it is imported here."""
    importlib.import_module(PROGRAM).run()


def load_program() -> None:
    """Begin to import the program while others work: machine, engine, plugins.

    What fails here fails again, and is told, when the engine asks for the program. The process
    waits for the thread at its end: an import must not be torn off.
    """

    def load() -> None:
        with uncollected(), contextlib.suppress(Exception):
            importlib.import_module(PROGRAM)

    threading.Thread(target=load, name="program").start()


def attend(state: StateFolder, work: Callable[[], Any], tell: Callable[[str], Any]) -> None:
    """Let the engine work; after Ctrl-C it ends the steps it is at, after a second one now.

    A step that is torn off may be done in the world and not in the state.
    """
    with ThreadPoolExecutor(max_workers=1) as pool:
        try:
            pool.submit(work).result()
        except KeyboardInterrupt:
            tell("interrupted: the engine ends the steps it is at")
            interrupt(state)
            late = threading.Timer(INTERRUPT_SECONDS, end_engines, [state])
            late.start()
            try:
                pool.shutdown()
            finally:
                late.cancel()
                end_engines(state)
            raise


def end_engines(state: StateFolder) -> None:
    """End what still runs of this rehearsal's engine and plugins."""
    processes.stop(list(left_engines(state)), grace_seconds=1)


def quiet_readers() -> None:
    """Let the Automation API's readers of an interrupted engine lose their streams in silence."""
    warnings.filterwarnings("ignore", message="Error in event stream")
    if threading.excepthook is not _tell_unless_reader:
        threading.excepthook = _tell_unless_reader


def _tell_unless_reader(failure: threading.ExceptHookArgs) -> None:
    if failure.thread is None or "(consumer)" not in failure.thread.name:
        threading.__excepthook__(failure)


def left_engines(state: StateFolder) -> Iterator[ProcessRecord]:
    """Engines and plugins of this rehearsal that still run."""
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(ENGINE_MARK) == str(state.path):
                record = ProcessRecord.of(process.name(), process.pid)
                if record is not None and process.pid != os.getpid():
                    yield record


def interrupt(state: StateFolder) -> None:
    """Ask a running engine to end after the step it is at, as Ctrl-C does."""
    for record in left_engines(state):
        if record.name == "pulumi":
            with contextlib.suppress(ProcessLookupError):
                os.kill(record.pid, signal.SIGINT)


def chart_directory(state: StateFolder, tools: Mapping[str, Path]) -> Path:
    """A folder with the charts under the names that the stack looks for."""
    folder = state.folder("charts")
    for name in CHARTS:
        source = tools[name]
        link = folder / source.name
        link.unlink(missing_ok=True)
        link.symlink_to(source)
    return folder


def failure(error: automation.CommandError, diagnostics: list[str]) -> GangwayError:
    """The engine's own reasons in one message, else the last that it said."""
    told = [line.partition(' File "')[0].strip(" :") for line in diagnostics]
    reasons = [line for line in dict.fromkeys(told) if line and not line.startswith(AFTERTHOUGHTS)]
    if not reasons:
        lines = [line for line in str(error).splitlines() if "error" in line.lower()]
        reasons = lines[-3:] or [str(error)[-500:]]
    return GangwayError("the engine refused: " + "; ".join(reasons))
