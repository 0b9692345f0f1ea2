"""The driver's own decisions; what it drives is played."""

import _thread
import errno
import json
import signal
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from pulumi import automation
from rich.console import Console

from infra.errors import GangwayError, UsageError
from infra.rehearsal import (
    control_plane,
    driver,
    engine,
    leftovers,
    places,
    processes,
    supervisor,
)
from infra.rehearsal.aws import server as aws_server
from infra.rehearsal.checkpoint import RELEASE, Checkpoint
from infra.rehearsal.driver import Rehearsal
from infra.rehearsal.engine import Engine
from infra.rehearsal.state import BusyError
from infra.waiting import wait_until


class PlayedMachine:
    """Notes what the driver asks of machine and engine, and answers at once."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.resources: list[str] = []
        self.left: dict[str, list[str]] = {}
        self.fail: dict[str, BaseException] = {}

    def call(self, name: str, answer: Any = None) -> Callable[..., Any]:
        def called(*args: object, **options: object) -> Any:
            self.calls.append(name)
            if name in self.fail:
                raise self.fail[name]
            return answer() if callable(answer) else answer

        return called


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> PlayedMachine:
    played = PlayedMachine()
    for module, names in {
        control_plane: ("up", "down"),
        supervisor: ("ensure_running", "stop"),
    }.items():
        for name in names:
            label = f"{module.__name__.rpartition('.')[2]}.{name}"
            monkeypatch.setattr(module, name, played.call(label))
    monkeypatch.setattr(control_plane, "status", lambda state: {"kube-apiserver": True})
    monkeypatch.setattr(supervisor, "is_running", lambda state: True)
    monkeypatch.setattr(aws_server, "is_running", lambda path: True)
    monkeypatch.setattr(aws_server, "refuse_lost", lambda path, *, holds_resources: None)
    monkeypatch.setattr(leftovers, "in_kubernetes", lambda api: played.left)
    monkeypatch.setattr(leftovers, "in_aws", lambda state: {})
    monkeypatch.setattr(processes, "belonging_to", lambda path: [])
    monkeypatch.setattr(engine, "left_engines", lambda state: iter(()))
    monkeypatch.setattr(driver, "resolve", lambda catalogue, console: {"kubectl": Path("kubectl")})
    monkeypatch.setattr(leftovers, "SETTLE_SECONDS", 0)
    monkeypatch.setattr(engine, "quiet_readers", lambda: None)
    monkeypatch.setattr(engine, "load_program", lambda: None)
    monkeypatch.setattr(engine, "chart_directory", lambda state, tools: state.path / "charts")
    for name in ("up", "preview", "refresh", "destroy"):
        monkeypatch.setattr(Engine, name, played.call(name))
    monkeypatch.setattr(Checkpoint, "exists", property(lambda self: True))
    monkeypatch.setattr(Checkpoint, "resources", lambda self: played.resources)
    monkeypatch.setattr(Rehearsal, "api", property(lambda self: None))
    return played


@pytest.fixture
def rehearsal(machine: PlayedMachine, tmp_path: Path) -> Rehearsal:
    return Rehearsal("dev", Console(quiet=True), name="played", root=tmp_path)


def test_up_starts_the_machine_before_the_stack(
    rehearsal: Rehearsal, machine: PlayedMachine
) -> None:
    report = rehearsal.up(gang_seconds=0)
    assert machine.calls == ["control_plane.up", "supervisor.ensure_running", "up"]
    assert report.gang is None
    assert set(report.seconds) == {"machine", "stack", "gang"}


def test_a_gang_that_is_not_bound_in_time_is_told_with_where_to_look(
    rehearsal: Rehearsal, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(driver.gang_watch, "look", lambda *_: None)
    told = r"gang training/gang-train .* within 0\.1 s: `kubectl describe podgroup .*--name played`"
    with pytest.raises(GangwayError, match=told):
        rehearsal.up(gang_seconds=0.1)


def test_a_fresh_start_that_fails_leaves_nothing(
    rehearsal: Rehearsal, machine: PlayedMachine
) -> None:
    machine.fail["control_plane.up"] = GangwayError("etcd ended at its start: no space left")
    with pytest.raises(GangwayError, match="no space left"):
        rehearsal.up()
    assert machine.calls[-2:] == ["supervisor.stop", "control_plane.down"]
    assert not rehearsal.state.path.exists()


def test_a_later_start_that_fails_keeps_what_was_there(
    rehearsal: Rehearsal, machine: PlayedMachine
) -> None:
    rehearsal.up(gang_seconds=0)
    machine.fail["control_plane.up"] = GangwayError("port 1 is taken")
    with pytest.raises(GangwayError, match="port 1"):
        rehearsal.up(gang_seconds=0)
    assert rehearsal.state.exists


@pytest.mark.parametrize("number", sorted(driver.FOLDER_FAILURES))
def test_a_folder_that_cannot_be_written_is_told_in_a_sentence(
    rehearsal: Rehearsal, machine: PlayedMachine, number: int
) -> None:
    machine.fail["supervisor.ensure_running"] = OSError(number, "no way")
    with pytest.raises(GangwayError, match=r"cannot write .*no way.*GANGWAY_REHEARSALS"):
        rehearsal.up()
    assert not rehearsal.state.path.exists()


def test_another_failure_of_the_system_stays_what_it_is(
    rehearsal: Rehearsal, machine: PlayedMachine
) -> None:
    machine.fail["supervisor.ensure_running"] = OSError(errno.ECHILD, "no child")
    with pytest.raises(OSError, match="no child"):
        rehearsal.up()


def test_ctrl_c_takes_a_rehearsal_away_that_this_call_began(
    rehearsal: Rehearsal, machine: PlayedMachine
) -> None:
    machine.fail["up"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        rehearsal.up()
    assert not rehearsal.state.path.exists()


def test_ctrl_c_keeps_a_rehearsal_that_was_there(
    rehearsal: Rehearsal, machine: PlayedMachine
) -> None:
    rehearsal.up(gang_seconds=0)
    machine.fail["up"] = KeyboardInterrupt()
    with pytest.raises(KeyboardInterrupt):
        rehearsal.up()
    assert rehearsal.state.exists


def test_a_release_that_a_killed_engine_began_is_forgotten_by_helm(
    rehearsal: Rehearsal, machine: PlayedMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    deleted: list[str] = []

    class PlayedApi:
        def items(self, path: str, **query: str) -> list[dict[str, Any]]:
            assert query == {"labelSelector": "owner=helm,name=volcano"}
            return [{"metadata": {"name": "sh.helm.release.v1.volcano.v1"}}]

        def delete(self, path: str) -> None:
            deleted.append(path)

    monkeypatch.setattr(Rehearsal, "api", property(lambda self: PlayedApi()))
    monkeypatch.setattr(Engine, "forget_unfinished_releases", machine.call("forget"))
    stacks = rehearsal.state.folder("pulumi/backend/.pulumi/stacks/gangway")
    resource = {"type": RELEASE, "inputs": {"namespace": "system", "name": "volcano"}}
    pending = [{"type": "creating", "resource": resource}]
    document = {"checkpoint": {"latest": {"pending_operations": pending}}}
    (stacks / "dev.json").write_text(json.dumps(document), encoding="utf-8")
    rehearsal.up(gang_seconds=0)
    assert machine.calls[-2:] == ["forget", "up"]
    assert deleted == ["/api/v1/namespaces/system/secrets/sh.helm.release.v1.volcano.v1"]


def test_rejects_a_second_driver(rehearsal: Rehearsal, machine: PlayedMachine) -> None:
    with rehearsal.state.driven(), pytest.raises(BusyError, match="being driven by process"):
        rehearsal.up()
    assert machine.calls == []


def test_rejects_another_environment_under_the_same_name(
    rehearsal: Rehearsal, tmp_path: Path
) -> None:
    rehearsal.up(gang_seconds=0)
    other = Rehearsal("prod", Console(quiet=True), name="played", root=tmp_path)
    for action in (other.up, other.preview, other.down):
        with pytest.raises(UsageError, match="is one of dev: give --env dev"):
            action()


def test_rejects_changes_that_are_no_settings(rehearsal: Rehearsal, machine: PlayedMachine) -> None:
    with pytest.raises(GangwayError, match="gangway:queues"):
        rehearsal.up(changes={"gangway:queues": [{"name": "ml-queue", "weight": 0}]})


def test_an_engine_that_is_late_is_ended_and_says_so(
    rehearsal: Rehearsal, machine: PlayedMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[bool] = []

    def late(*args: object, **options: object) -> None:
        wait_until(lambda: ended, what="the deadline", deadline_seconds=5)
        raise automation.CommandError(automation.CommandResult(stdout="", stderr="", code=1))

    monkeypatch.setattr(Engine, "up", late)
    monkeypatch.setattr(engine, "interrupt", lambda state: ended.append(True))
    with pytest.raises(GangwayError, match=r"not done within 0\.1 s .* --env dev --name played`"):
        rehearsal.up(deadline_seconds=0.1)


def test_what_an_interrupted_run_left_is_told_with_the_command_that_helps(
    rehearsal: Rehearsal, machine: PlayedMachine
) -> None:
    stderr = "error: ResourceAlreadyExistsException: The log group already exists"
    machine.fail["up"] = automation.CommandError(
        automation.CommandResult(stdout="", stderr=stderr, code=255)
    )
    told = r"already exists; .*`gangway rehearse down --force --env dev --name played`"
    with pytest.raises(GangwayError, match=told):
        rehearsal.up()


def test_down_destroys_proves_and_removes(rehearsal: Rehearsal, machine: PlayedMachine) -> None:
    rehearsal.up(gang_seconds=0)
    machine.calls.clear()
    rehearsal.down()
    assert machine.calls == ["destroy", "supervisor.stop", "control_plane.down"]
    assert not rehearsal.state.path.exists()


def test_down_takes_the_protection_off_first(machine: PlayedMachine, tmp_path: Path) -> None:
    prod = Rehearsal("prod", Console(quiet=True), root=tmp_path)
    prod.up(gang_seconds=0)
    machine.calls.clear()
    prod.down()
    assert machine.calls[:2] == ["up", "destroy"]


@pytest.mark.parametrize(
    ("resources", "left", "told"),
    [(["urn:x"], {}, "state: 1 resource"), ([], {"node": ["a", "b"]}, "Kubernetes: 2 node")],
    ids=["in the state", "in the cluster"],
)
def test_down_names_what_is_left_and_keeps_the_rehearsal(
    rehearsal: Rehearsal,
    machine: PlayedMachine,
    resources: list[str],
    left: dict[str, list[str]],
    told: str,
) -> None:
    rehearsal.up(gang_seconds=0)
    machine.resources, machine.left = resources, left
    with pytest.raises(GangwayError, match=told) as failure:
        rehearsal.down()
    assert "gangway rehearse down --force --env dev --name played" in str(failure.value)
    assert rehearsal.state.exists


def test_down_by_force_destroys_nothing_first(rehearsal: Rehearsal, machine: PlayedMachine) -> None:
    rehearsal.up(gang_seconds=0)
    machine.calls.clear()
    rehearsal.down(force=True)
    assert machine.calls == ["supervisor.stop", "control_plane.down"]
    assert not rehearsal.state.path.exists()


@pytest.mark.parametrize("text", [json.dumps({"schema_version": 0}), "{torn"])
def test_down_takes_away_what_this_version_cannot_read(rehearsal: Rehearsal, text: str) -> None:
    rehearsal.state.folder(".")
    rehearsal.state.document_path.write_text(text, encoding="utf-8")
    with pytest.raises(GangwayError, match="gangway rehearse down --force --name played"):
        rehearsal.up()
    rehearsal.down(force=True)
    assert not rehearsal.state.path.exists()


def test_down_of_nothing_is_no_failure(rehearsal: Rehearsal, machine: PlayedMachine) -> None:
    rehearsal.down()
    assert machine.calls == []


@pytest.mark.parametrize("action", ["up", "preview", "refresh"])
def test_rejects_an_environment_without_a_stack_file(
    machine: PlayedMachine, tmp_path: Path, action: str
) -> None:
    nowhere = Rehearsal("nowhere", Console(quiet=True), root=tmp_path)
    with pytest.raises(UsageError, match=r"--env is 'nowhere'; allowed: dev, prod"):
        getattr(nowhere, action)()
    assert machine.calls == []


def test_a_rehearsal_is_ended_by_force_while_its_stack_file_is_broken(
    rehearsal: Rehearsal, machine: PlayedMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsal.up(gang_seconds=0)
    broken = Rehearsal("dev", Console(quiet=True), name="played", root=rehearsal.state.path.parent)

    def fails(environment: str) -> dict[str, Any]:
        message = "gangway:trainingJob.workers is 'two'"
        raise GangwayError(message)

    monkeypatch.setattr(places, "raw_settings", fails)
    assert all(broken.status().values())
    with pytest.raises(GangwayError, match="workers is 'two'"):
        broken.down()
    broken.down(force=True)
    assert not rehearsal.state.path.exists()


@pytest.fixture
def terminal() -> Iterator[None]:
    """Ctrl-C means what it means in a terminal, also where the tests run in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("terminal")
def test_ctrl_c_lets_the_engine_end_the_steps_it_is_at(
    rehearsal: Rehearsal, machine: PlayedMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rehearsal.up(gang_seconds=0)
    told, ended = threading.Event(), threading.Event()

    def destroy(*_: object, **__: object) -> None:
        _thread.interrupt_main()
        told.wait(timeout=10)
        ended.set()

    monkeypatch.setattr(Engine, "destroy", destroy)
    monkeypatch.setattr(engine, "interrupt", lambda state: told.set())
    with pytest.raises(KeyboardInterrupt):
        rehearsal.down()
    assert told.is_set()
    assert ended.is_set()
    assert rehearsal.state.exists


@pytest.mark.parametrize("action", ["up", "preview", "down"])
def test_after_a_destroy_that_did_not_end_what_exists_is_read_first(
    rehearsal: Rehearsal, machine: PlayedMachine, action: str
) -> None:
    rehearsal.up(gang_seconds=0)
    machine.fail["destroy"] = GangwayError("no")
    with pytest.raises(GangwayError, match="no"):
        rehearsal.down()
    machine.fail.clear()
    machine.calls.clear()
    getattr(rehearsal, action)(**({"gang_seconds": 0} if action == "up" else {}))
    engine_calls = [call for call in machine.calls if "." not in call]
    assert engine_calls == ["refresh", "destroy" if action == "down" else action]


def test_what_exists_is_read_once_only(rehearsal: Rehearsal, machine: PlayedMachine) -> None:
    rehearsal.up(gang_seconds=0)
    rehearsal.state.merge(**{driver.DESTROYING: True})
    rehearsal.preview()
    machine.calls.clear()
    rehearsal.preview()
    assert "refresh" not in machine.calls


@pytest.mark.parametrize("action", ["up", "preview", "down"])
def test_rejects_going_on_without_the_account_that_the_state_tells_of(
    rehearsal: Rehearsal,
    machine: PlayedMachine,
    monkeypatch: pytest.MonkeyPatch,
    action: str,
) -> None:
    rehearsal.up(gang_seconds=0)
    machine.calls.clear()

    def refuses(path: Path, *, holds_resources: bool) -> None:
        message = "the emulated AWS has ended"
        raise GangwayError(message)

    monkeypatch.setattr(aws_server, "is_running", lambda path: False)
    monkeypatch.setattr(aws_server, "refuse_lost", refuses)
    with pytest.raises(GangwayError, match="the emulated AWS has ended"):
        getattr(rehearsal, action)()
    assert machine.calls == []
