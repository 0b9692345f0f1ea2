"""The moto server: a process of its own that holds the emulated account while runs come and go.

moto keeps its state in memory. If its process dies, the account is gone, and what a Pulumi state
says about it is void; whoever asks is told so with the command that cleans up.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys
import urllib.request
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

from infra.errors import GangwayError
from infra.waiting import wait_until

_FILE = "moto.json"
_START_SECONDS = 60
_STOP_SECONDS = 10

# Images of ours are registered when needed; AWS's managed policies must exist to be attached.
_SETTINGS = {"MOTO_EC2_LOAD_DEFAULT_AMIS": "false", "MOTO_IAM_LOAD_MANAGED_POLICIES": "true"}


@dataclass(frozen=True, kw_only=True, slots=True)
class MotoServer:
    """A running moto: its address and the identity of its process."""

    port: int
    pid: int
    started: float

    @property
    def endpoint(self) -> str:
        """The address that AWS clients use instead of AWS's."""
        return f"http://127.0.0.1:{self.port}"

    def process(self) -> psutil.Process | None:
        """Return the process, unless it has ended (its number may belong to another by now)."""
        try:
            process = psutil.Process(self.pid)
            is_ours = abs(process.create_time() - self.started) < 1
            return process if is_ours and process.status() != psutil.STATUS_ZOMBIE else None
        except psutil.NoSuchProcess:
            return None


def start(state_dir: Path) -> MotoServer:
    """Start moto for a rehearsal, or return the one that runs already."""
    found = _recorded(state_dir)
    if found and found.process():
        return found
    port = _free_port()
    log_file = state_dir / "logs" / "moto.log"
    log_file.parent.mkdir(parents=True, exist_ok=True)
    with log_file.open("ab") as log:
        child = subprocess.Popen(  # noqa: S603 - our own interpreter with fixed arguments
            [
                sys.executable,
                "-m",
                "infra.rehearsal.aws.moto_main",
                "-H",
                "127.0.0.1",
                "-p",
                str(port),
            ],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            env=os.environ | _SETTINGS,
            start_new_session=True,
        )
    server = MotoServer(port=port, pid=child.pid, started=psutil.Process(child.pid).create_time())
    file = state_dir / "aws" / _FILE
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(asdict(server)), "utf-8")
    wait_until(
        lambda: _answers(server, log_file),
        what=f"the emulated AWS (log: {log_file})",
        deadline_seconds=_START_SECONDS,
        every_seconds=0.1,
    )
    return server


def running(state_dir: Path) -> MotoServer:
    """Return the rehearsal's moto; refuse with what to do when it does not run."""
    found = _recorded(state_dir)
    if found is None:
        message = f"the emulated AWS of {state_dir} was never started: run `gangway rehearse up`"
        raise GangwayError(message)
    if not found.process():
        raise _lost(state_dir)
    return found


def _lost(state_dir: Path) -> GangwayError:
    message = (
        f"the emulated AWS of {state_dir} (a moto process) has ended and its account is gone with"
        f" it: run `gangway rehearse down --force --name {state_dir.name}`, which also forgets"
        " what the state says about it"
    )
    return GangwayError(message)


def is_running(state_dir: Path) -> bool:
    """Whether the rehearsal's moto runs."""
    found = _recorded(state_dir)
    return bool(found and found.process())


def refuse_lost(state_dir: Path, *, holds_resources: bool) -> None:
    """Refuse when a moto ran here, or must have run for the state to hold resources, and is gone.

    A new one would be an empty account, of which the state still tells what was in the old.
    """
    found = _recorded(state_dir)
    if (found is None and holds_resources) or (found is not None and not found.process()):
        raise _lost(state_dir)


def stop(state_dir: Path) -> None:
    """End the rehearsal's moto and forget it; one that has ended already is only forgotten.

    Killed, not asked: it keeps nothing outside its memory, and takes a second to tidy that up.
    """
    found = _recorded(state_dir)
    process = found.process() if found else None
    if process:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
            process.wait(_STOP_SECONDS)
    (state_dir / "aws" / _FILE).unlink(missing_ok=True)


def _recorded(state_dir: Path) -> MotoServer | None:
    file = state_dir / "aws" / _FILE
    return MotoServer(**json.loads(file.read_text("utf-8"))) if file.exists() else None


def _answers(server: MotoServer, log_file: Path) -> bool:
    if not server.process():
        message = f"the emulated AWS ended while it started; its log is {log_file}"
        raise GangwayError(message)
    try:
        address = f"{server.endpoint}/moto-api/data.json"
        with urllib.request.urlopen(address, timeout=5):  # noqa: S310 - loopback, our own server
            return True
    except OSError:
        return False


def _free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port
