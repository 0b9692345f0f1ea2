"""What the engine is given, and how its failures are told."""

import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from pulumi import automation

from infra.rehearsal import engine, processes
from infra.rehearsal.engine import CHARTS, ENGINE_MARK, Engine, failure
from infra.rehearsal.state import StateFolder
from infra.waiting import wait_until


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder.named("dev", tmp_path)


@pytest.fixture
def runner(state: StateFolder, tmp_path: Path) -> Engine:
    tools = {name: tmp_path / "tools" / name for name in (*engine.TOOLS, "kubectl")}
    return Engine(state, config={"aws:region": "us-east-1"}, environment="dev", tools=tools)


@pytest.fixture
def marked(state: StateFolder) -> Iterator["subprocess.Popen[bytes]"]:
    """A process that looks like an engine of this rehearsal."""
    state.folder(".")
    process = subprocess.Popen(
        [sys.executable, "-c", "import signal; signal.pause()"],
        env=os.environ | {ENGINE_MARK: str(state.path)},
    )
    wait_until(lambda: list(engine.left_engines(state)), what="the process", deadline_seconds=10)
    yield process
    process.kill()
    process.wait()


def test_nothing_of_the_users_cloud_settings_counts(
    runner: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KUBECONFIG", "/home/someone/.kube/config")
    monkeypatch.setenv("AWS_PROFILE", "production")
    variables = runner.variables()
    assert variables["KUBECONFIG"] == os.devnull
    assert variables["AWS_PROFILE"] == "default"
    assert variables["AWS_SHARED_CREDENTIALS_FILE"] == os.devnull
    assert Path(variables["AWS_CONFIG_FILE"]).read_text() == "[default]\n"


def test_the_emulated_provider_comes_first_on_the_path(runner: Engine, state: StateFolder) -> None:
    first = Path(runner.variables()["PATH"].split(os.pathsep)[0])
    assert first.is_relative_to(state.path)
    assert os.access(first / "pulumi-resource-aws", os.X_OK)
    assert os.access(first / "aws", os.X_OK)


def test_state_and_passphrase_stay_in_the_rehearsals_folder(
    runner: Engine, state: StateFolder
) -> None:
    variables = runner.variables()
    passphrase = Path(variables["PULUMI_CONFIG_PASSPHRASE_FILE"])
    assert variables["PULUMI_BACKEND_URL"] == f"file://{state.path}/pulumi/backend"
    assert passphrase.stat().st_mode & 0o077 == 0
    assert runner.variables()["PULUMI_CONFIG_PASSPHRASE_FILE"] == str(passphrase)


def test_the_configuration_is_written_over_and_its_salt_is_kept(
    runner: Engine, tmp_path: Path
) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text(yaml.safe_dump({"config": {"old": 1}, "encryptionsalt": "v1:x"}))
    runner._write_config(path)
    assert yaml.safe_load(path.read_text()) == {
        "config": {"aws:region": "us-east-1"},
        "encryptionsalt": "v1:x",
    }


def test_the_checkpoint_is_the_one_in_the_rehearsals_folder(
    runner: Engine, state: StateFolder
) -> None:
    assert not runner.checkpoint.exists
    stacks = state.folder("pulumi/backend/.pulumi/stacks/gangway")
    (stacks / "dev.json").write_text("{}")
    assert runner.checkpoint.exists


def test_an_engine_that_a_killed_driver_left_is_ended_and_its_lock_taken(
    runner: Engine, state: StateFolder, marked: "subprocess.Popen[bytes]"
) -> None:
    locks = state.folder("pulumi/backend/.pulumi/locks/dev")
    runner.clear_interrupted()
    assert marked.wait(timeout=10) != 0
    assert not locks.exists()


def test_engines_of_other_rehearsals_are_left_alone(
    marked: "subprocess.Popen[bytes]", tmp_path: Path
) -> None:
    other = StateFolder.named("other", tmp_path)
    assert list(engine.left_engines(other)) == []
    processes.stop(list(engine.left_engines(other)), grace_seconds=0)
    assert marked.poll() is None


def test_charts_lie_under_the_names_that_the_stack_looks_for(
    state: StateFolder, tmp_path: Path
) -> None:
    tools = {name: tmp_path / f"{name}-1.0.tgz" for name in CHARTS}
    for path in tools.values():
        path.write_bytes(b"chart")
    for _ in range(2):
        folder = engine.chart_directory(state, tools)
    assert {path.name for path in folder.iterdir()} == {path.name for path in tools.values()}
    assert all(path.read_bytes() == b"chart" for path in folder.iterdir())


@pytest.mark.parametrize("module", ["tests.support.no_such_module", "tests.support"])
def test_the_program_is_loaded_beforehand_and_told_of_later(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], module: str
) -> None:
    monkeypatch.setattr(engine, "PROGRAM", module)
    engine.load_program()
    for thread in threading.enumerate():
        if thread.name == "program":
            thread.join(timeout=10)
    assert capsys.readouterr().err == ""
    with pytest.raises((ModuleNotFoundError, AttributeError)):
        engine.program()


def test_only_the_engines_readers_fail_in_silence(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    engine.quiet_readers()
    for target in (consumer, worker):
        thread = threading.Thread(target=target)
        thread.start()
        thread.join()
    said = capsys.readouterr().err
    assert "a lost stream" not in said
    assert "a real failure" in said


def consumer() -> None:
    message = "a lost stream"
    raise ValueError(message)


def worker() -> None:
    message = "a real failure"
    raise ValueError(message)


def _error(stderr: str) -> automation.CommandError:
    return automation.CommandError(automation.CommandResult(stdout="", stderr=stderr, code=255))


def test_a_failure_is_told_by_its_reasons_each_once() -> None:
    told = failure(_error("trace"), ["update failed", "quota: 0", "quota: 0", "no such zone"])
    assert str(told) == "the engine refused: quota: 0; no such zone"


def test_a_failure_without_reasons_is_told_by_what_the_engine_said_last() -> None:
    told = failure(_error("much\nerror: no plugin found\nmore"), [])
    assert str(told) == "the engine refused: error: no plugin found"


def test_a_failure_of_the_program_is_told_without_its_trace() -> None:
    told = failure(_error(""), ['workers is 0; allowed: 1 or more: File "/x.py", line 3'])
    assert str(told) == "the engine refused: workers is 0; allowed: 1 or more"
