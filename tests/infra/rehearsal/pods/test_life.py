import os
import sys
from pathlib import Path

import pytest

from infra.rehearsal import processes
from infra.rehearsal.pods.launch import Launch
from infra.rehearsal.pods.life import FIRST_BACK_OFF_SECONDS, ContainerLife
from infra.rehearsal.processes import ProcessRecord
from infra.waiting import wait_until


def _run(tmp_path: Path, code: str, policy: str) -> ContainerLife:
    life = ContainerLife({"name": "c", "image": "i"}, tmp_path / "c.log")
    assert life.may_start()
    life.start(
        Launch(
            command=[sys.executable, "-c", code],
            environment=dict(os.environ),
            directory=tmp_path,
            ports={},
            serving_port=None,
        )
    )
    wait_until(
        lambda: life.look(policy) and not life.state.is_running,
        what="the container's end",
        deadline_seconds=20,
        every_seconds=0.02,
    )
    return life


@pytest.mark.parametrize(
    ("code", "exit_code"),
    [("", 0), ("raise SystemExit(75)", 75), ("import os; os.kill(os.getpid(), 9)", 137)],
    ids=["success", "its own code", "killed"],
)
def test_an_ended_container_keeps_its_exit_code(tmp_path: Path, code: str, exit_code: int) -> None:
    life = _run(tmp_path, code, "Never")
    assert life.state.exit_code == exit_code
    assert not life.may_start()


def test_a_container_that_is_to_run_again_waits_first_and_longer_each_time(
    tmp_path: Path,
) -> None:
    life = _run(tmp_path, "raise SystemExit(1)", "Always")
    assert not life.may_start()
    assert life.state.waiting_message.startswith(f"back-off {FIRST_BACK_OFF_SECONDS:g}s")
    assert life.state.restarts == 1


def _started(tmp_path: Path, *, is_patient: bool = False) -> tuple[ContainerLife, ProcessRecord]:
    life = ContainerLife({"name": "c", "image": "i"}, tmp_path / "c.log")
    life.start(
        Launch(
            command=[sys.executable, "-c", "import time; time.sleep(60)"],
            environment=dict(os.environ),
            directory=tmp_path,
            ports={},
            serving_port=None,
            is_patient=is_patient,
        )
    )
    assert life.record is not None
    return life, life.record


@pytest.mark.parametrize("is_patient", [True, False])
def test_a_patient_container_has_the_lower_priority(tmp_path: Path, is_patient: bool) -> None:
    life, record = _started(tmp_path, is_patient=is_patient)
    own = os.getpriority(os.PRIO_PROCESS, 0)
    expected = processes.PATIENT_NICE if is_patient else own
    assert os.getpriority(os.PRIO_PROCESS, record.pid) == expected
    life.stop(5)


def test_a_stopped_container_has_no_process(tmp_path: Path) -> None:
    life, record = _started(tmp_path)
    life.stop(5)
    assert not record.is_alive
    assert life.record is None
