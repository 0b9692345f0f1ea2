import os
import signal
import sys
from dataclasses import replace
from pathlib import Path

import psutil
import pytest

from infra.errors import GangwayError
from infra.rehearsal import processes
from infra.rehearsal.processes import ProcessRecord
from infra.waiting import wait_until

SLEEPER = "import time; print('up', flush=True); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); {SLEEPER}"
PARENT = (
    f"import subprocess, sys; child = subprocess.Popen([sys.executable, '-c', {SLEEPER!r}]); "
    "print(child.pid, flush=True); child.wait()"
)


def _started(tmp_path: Path, code: str) -> tuple[ProcessRecord, Path]:
    log = tmp_path / "log"
    environment = os.environ | {processes.MARK: str(tmp_path)}
    process = processes.start(
        "sleeper", [sys.executable, "-c", code], log=log, environment=environment
    )
    wait_until(log.read_text, what="the start", deadline_seconds=20, every_seconds=0.02)
    record = ProcessRecord.of("sleeper", process.pid)
    assert record is not None
    return record, log


@pytest.mark.parametrize("code", [SLEEPER, STUBBORN], ids=["obedient", "ignores SIGTERM"])
def test_a_stopped_process_is_gone(tmp_path: Path, code: str) -> None:
    record, _ = _started(tmp_path, code)
    assert record.is_alive
    processes.stop([record], grace_seconds=0.5)
    assert not record.is_alive


def test_a_stop_takes_the_whole_group(tmp_path: Path) -> None:
    record, log = _started(tmp_path, PARENT)
    child = ProcessRecord.of("child", int(log.read_text(encoding="utf-8").split()[0]))
    assert child is not None
    processes.stop([record], grace_seconds=2)
    wait_until(lambda: not child.is_alive, what="the child's end", deadline_seconds=5)


def test_a_pid_of_another_start_time_is_a_stranger(tmp_path: Path) -> None:
    record, _ = _started(tmp_path, SLEEPER)
    stranger = replace(record, start_time=record.start_time - 10)
    processes.stop([stranger], grace_seconds=0.1)
    assert record.is_alive
    processes.stop([record], grace_seconds=2)


def test_a_process_is_found_by_its_mark(tmp_path: Path) -> None:
    record, _ = _started(tmp_path, SLEEPER)
    assert record.pid in [found.pid for found in processes.belonging_to(tmp_path)]
    assert record.pid not in [found.pid for found in processes.belonging_to(tmp_path / "other")]
    processes.stop([record], grace_seconds=2)
    assert processes.belonging_to(tmp_path) == []


def test_a_killed_process_is_not_alive_while_nobody_has_waited_for_it(tmp_path: Path) -> None:
    record, _ = _started(tmp_path, SLEEPER)
    processes.signal_group(record, signal.SIGKILL)
    wait_until(lambda: not record.is_alive, what="its end", deadline_seconds=5)


def test_rejects_a_program_that_does_not_exist(tmp_path: Path) -> None:
    with pytest.raises(GangwayError, match=r"nothing does not start: No such file .*nowhere"):
        processes.start("nothing", [tmp_path / "nowhere"], log=tmp_path / "log")


def test_a_record_survives_the_state_folder() -> None:
    record = ProcessRecord(name="a", pid=1, start_time=2.5)
    assert ProcessRecord.from_json(record.to_json()) == record


def test_the_end_of_a_log_explains_in_one_line(tmp_path: Path) -> None:
    log = tmp_path / "log"
    assert processes.last_lines(log) == "no log"
    log.write_text("a\nb\n\nc\n", encoding="utf-8")
    assert processes.last_lines(log, 2) == "c"
    assert processes.last_lines(log, 3) == "b | c"


def test_a_whole_session_steps_back(tmp_path: Path) -> None:
    record, _ = _started(tmp_path, SLEEPER)
    processes.step_back(record.pid)
    assert os.getpriority(os.PRIO_PROCESS, record.pid) == processes.PATIENT_NICE
    session = Path(f"/proc/{record.pid}/autogroup")
    if session.exists():
        assert session.read_text(encoding="ascii").split()[-1] == str(processes.PATIENT_NICE)
    processes.stop([record], grace_seconds=2)


def test_a_process_that_is_gone_need_not_step_back(tmp_path: Path) -> None:
    record, _ = _started(tmp_path, SLEEPER)
    processes.stop([record], grace_seconds=2)
    processes.step_back(record.pid)


class Starting(psutil.Process):
    """A process whose program is being put in place: its environment is empty for some looks."""

    looks = 3

    def environ(self) -> dict[str, str]:
        Starting.looks -= 1
        return {} if Starting.looks >= 0 else {processes.MARK: "/the/folder"}


@pytest.mark.parametrize(("patience_seconds", "found"), [(5.0, True), (0.0, False)])
def test_a_process_that_is_just_starting_is_waited_for_when_asked(
    monkeypatch: pytest.MonkeyPatch, patience_seconds: float, found: bool
) -> None:
    monkeypatch.setattr(Starting, "looks", 3)
    monkeypatch.setattr(psutil, "Process", Starting)
    folder = Path("/the/folder")
    assert processes.is_marked(os.getpid(), folder, patience_seconds=patience_seconds) is found
