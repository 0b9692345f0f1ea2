"""What goes wrong with a whole rehearsal: killed, interrupted, late, out of space, busy."""

import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from rich.console import Console

from infra.errors import GangwayError
from infra.rehearsal import engine, places, processes
from infra.rehearsal.driver import Rehearsal, UpReport
from infra.rehearsal.ports import is_listening
from infra.rehearsal.state import StateFolder
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.waiting import wait_until
from tests.support.rehearsal import built_tools

pytestmark = pytest.mark.enable_socket

CALL = """
import signal
from infra.cli import main
signal.signal(signal.SIGINT, signal.default_int_handler)
main()
"""
"""Ctrl-C as in a terminal, wherever the tests run."""

PROGRAM = [sys.executable, "-c", CALL, "rehearse"]
VOLCANO = "/api/v1/namespaces/volcano-system"

ODD_SETTINGS = {
    "HTTP_PROXY": "http://127.0.0.1:9",
    "http_proxy": "http://127.0.0.1:9",
    "PULUMI_ACCESS_TOKEN": "the user's",
    "PULUMI_CONFIG_PASSPHRASE": "the user's",
    "PULUMI_DIY_BACKEND_GZIP": "true",
}
"""What a user may have set for other work: a rehearsal must neither fail by it nor take it over."""

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    built_tools(CATALOGUE)
    return tmp_path_factory.mktemp("rehearsals")


@pytest.fixture
def start(root: Path) -> Iterator[Start]:
    """Start `gangway rehearse ...` as a user does; what it started is gone afterwards."""
    started: list[subprocess.Popen[str]] = []

    def called(*words: str, folder: Path = root) -> "subprocess.Popen[str]":
        process = subprocess.Popen(  # noqa: S603 - our own program
            [*PROGRAM, *words],
            env=os.environ | ODD_SETTINGS | {places.ROOT_VARIABLE: str(folder)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield called
    for process in started:
        process.kill()
        process.communicate()


def _rehearsal(root: Path, name: str) -> Rehearsal:
    return Rehearsal("dev", Console(quiet=True), name=name, root=root)


def _is_gone(state: StateFolder, ports: list[int]) -> None:
    assert not state.path.exists()
    assert processes.belonging_to(state.path) == []
    assert list(engine.left_engines(state)) == []
    assert [port for port in ports if is_listening(port)] == []


def _has_volcano_begun(rehearsal: Rehearsal) -> bool:
    """Whether the engine is in the middle: the cluster is there, the releases are not yet."""
    if not rehearsal.state.section("kubernetes").get("endpoint"):
        return False
    try:
        return rehearsal.api.find(VOLCANO) is not None
    except GangwayError:
        return False


def _wait_for_the_middle(rehearsal: Rehearsal, process: "subprocess.Popen[str]") -> None:
    def there() -> bool:
        assert process.poll() is None, process.communicate()
        return _has_volcano_begun(rehearsal)

    wait_until(there, what="the middle of the run", deadline_seconds=180)


def test_ctrl_c_in_the_middle_takes_a_fresh_rehearsal_away(root: Path, start: Start) -> None:
    rehearsal = _rehearsal(root, "interrupted")
    process = start("up", "--name", "interrupted")
    _wait_for_the_middle(rehearsal, process)
    ports = list(rehearsal.state.section("ports").values())
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=90)
    assert process.returncode == 130
    assert "Traceback" not in errors
    _is_gone(rehearsal.state, ports)


def test_a_run_that_is_late_is_ended_and_can_be_cleared(root: Path) -> None:
    rehearsal = _rehearsal(root, "late")
    with pytest.raises(GangwayError, match=r"not done within 4 s .*rehearse down --env dev"):
        rehearsal.up(deadline_seconds=4)
    assert list(engine.left_engines(rehearsal.state)) == []
    ports = list(rehearsal.state.section("ports").values())
    rehearsal.down(force=True)
    _is_gone(rehearsal.state, ports)


def _up_after_a_kill(rehearsal: Rehearsal) -> UpReport:
    """Up again: by itself, or after the one command that the refusal names."""
    try:
        return rehearsal.up()
    except GangwayError as refusal:
        command = f"gangway rehearse down --force {rehearsal.arguments}"
        assert f"`{command}`" in str(refusal)  # noqa: PT017 - both ends are right
        rehearsal.down(force=True)
        return rehearsal.up()


def test_after_a_kill_the_next_up_brings_all_up_and_down_leaves_nothing(
    root: Path, start: Start
) -> None:
    rehearsal = _rehearsal(root, "killed")
    try:
        process = start("up", "--name", "killed")
        _wait_for_the_middle(rehearsal, process)
        second = start("up", "--name", "killed")
        _, refusal = second.communicate(timeout=60)
        assert second.returncode == 1
        assert refusal.count("\n") == 1
        assert f"rehearsal killed is being driven by process {process.pid}" in refusal

        process.kill()
        process.communicate()
        report = _up_after_a_kill(rehearsal)
        assert report.gang is not None
        assert report.gang.is_bound
        assert rehearsal.preview() == {}
        ports = list(rehearsal.state.section("ports").values())
        rehearsal.down()
        _is_gone(rehearsal.state, ports)
    finally:
        rehearsal.down(force=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system with no room for a control plane, where one can be mounted."""
    folder = tmp_path / "small"
    folder.mkdir()
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if os.geteuid() != 0 or mount is None or umount is None:
        pytest.skip("only root mounts a file system of its own")
    mounting = [mount, "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mounting, capture_output=True, check=False).returncode:  # noqa: S603 - above
        pytest.skip("no file system of its own can be mounted here")
    try:
        yield folder
    finally:
        subprocess.run([umount, "--lazy", str(folder)], check=True)  # noqa: S603 - found above


def test_a_full_disk_is_one_sentence_and_leaves_nothing(small_disk: Path, start: Start) -> None:
    built_tools(CATALOGUE)
    process = start("up", "--name", "small", folder=small_disk)
    _, errors = process.communicate(timeout=180)
    assert process.returncode == 1
    assert errors.count("\n") == 1
    assert "no space left" in errors.lower()
    assert list(small_disk.iterdir()) == []
    assert processes.belonging_to(small_disk / "small") == []
    assert _marked(small_disk) == []


def _marked(folder: Path) -> list[int]:
    """Processes that name the folder on their command line."""
    found = []
    for process in psutil.process_iter(["cmdline"]):
        if any(str(folder) in word for word in process.info["cmdline"] or ()):
            found.append(process.pid)
    return found


def test_an_older_state_folder_is_refused_and_taken_away_by_the_named_command(
    root: Path, start: Start
) -> None:
    state = StateFolder.named("old", root)
    state.folder("kwok")
    state.document_path.write_text('{"schema_version": 0}', encoding="utf-8")
    process = start("up", "--name", "old")
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert errors.count("\n") == 1
    (named,) = [words for words in errors.split("`") if words.startswith("gangway rehearse down")]
    end = start(*named.split()[2:])
    end.communicate(timeout=60)
    assert end.returncode == 0
    assert not state.path.exists()


def test_a_lost_emulated_account_is_told_with_the_command_that_helps(root: Path) -> None:
    rehearsal = _rehearsal(root, "lost")
    try:
        rehearsal.preview()
        (moto,) = [
            fields for fields in rehearsal.state.document()["processes"] if fields["name"] == "moto"
        ]
        psutil.Process(moto["pid"]).kill()
        with pytest.raises(GangwayError, match="rehearse down --force --name lost"):
            rehearsal.up()
    finally:
        rehearsal.down(force=True)
    _is_gone(rehearsal.state, [])
