import sys
from pathlib import Path

import pytest

from tests.support.pod_environment import environment, variables
from trainer.processes import Processes, process_environments, training_command


def environments(**changes: str) -> list[dict[str, str]]:
    given = variables(**changes)
    return process_environments(environment(**changes), given, None)


def run(tmp_path: Path, script: str, count: int = 1) -> Processes:
    processes = Processes(["/bin/sh", "-c", script], tmp_path)
    processes.start([{"PATH": "/bin:/usr/bin", "N": str(index)} for index in range(count)])
    return processes


def test_the_built_in_task_is_our_own_module() -> None:
    assert training_command([]) == [sys.executable, "-m", "trainer.worker"]


def test_a_script_is_given_to_our_module() -> None:
    assert training_command(["--script", "/x.py"])[1:] == ["-m", "trainer.worker", "/x.py"]


def test_a_users_command_is_taken_as_it_is() -> None:
    assert training_command(["--", "torchrun", "x.py"]) == ["torchrun", "x.py"]


def test_pytorch_has_one_process_per_gpu_with_its_own_rank() -> None:
    found = environments(RANK="1", LIMIT_GPUS="4")
    assert [one["RANK"] for one in found] == ["4", "5", "6", "7"]
    assert [one["LOCAL_RANK"] for one in found] == ["0", "1", "2", "3"]
    assert {one["WORLD_SIZE"] for one in found} == {"8"}


def test_a_pod_without_gpus_has_one_process() -> None:
    assert len(environments(LIMIT_GPUS="0")) == 1


def test_tensorflow_has_one_process_for_all_gpus() -> None:
    (found,) = environments(GANGWAY_FRAMEWORK="tensorflow", LIMIT_GPUS="4")
    assert found["LOCAL_WORLD_SIZE"] == "1"


def test_a_gang_on_one_machine_talks_over_its_loopback() -> None:
    assert environments(MASTER_ADDR="127.0.0.1")[0]["GLOO_SOCKET_IFNAME"] == "lo"
    assert "GLOO_SOCKET_IFNAME" not in environments(MASTER_ADDR="gang-master-0.gang")[0]


def test_the_checkpoint_to_resume_from_is_passed_on() -> None:
    (found,) = process_environments(environment(), variables(), "logs/checkpoints/x")
    assert found["GANGWAY_RESUME_KEY"] == "logs/checkpoints/x"


def test_events_are_read_once_and_only_whole(tmp_path: Path) -> None:
    script = (
        'echo \'{"event": "progress", "step": 1}\' >> "$GANGWAY_EVENTS_FILE";'
        ' echo "no json" >> "$GANGWAY_EVENTS_FILE";'
        ' printf \'{"event": "cut\' >> "$GANGWAY_EVENTS_FILE"'
    )
    processes = run(tmp_path, script, count=2)
    assert processes.wait(10)
    expected = {"event": "progress", "step": 1}
    assert processes.events() == [(0, expected), (1, expected)]
    assert processes.events() == []


def test_exit_codes_are_those_of_the_processes(tmp_path: Path) -> None:
    processes = run(tmp_path, "exit $N", count=2)
    assert processes.wait(10)
    assert processes.exit_codes() == [0, 1]


def test_a_process_that_listens_ends_by_itself(tmp_path: Path) -> None:
    script = (
        'trap "exit 7" TERM; echo \'{"event": "ready"}\' >> "$GANGWAY_EVENTS_FILE";'
        " while :; do sleep 0.05; done"
    )
    processes = run(tmp_path, script)
    while not processes.events():
        assert not processes.wait(0.05)
    processes.end(10)
    assert processes.exit_codes() == [7]


def test_a_process_that_does_not_listen_is_ended(tmp_path: Path) -> None:
    script = (
        'trap "" TERM; echo \'{"event": "ready"}\' >> "$GANGWAY_EVENTS_FILE";'
        " while :; do sleep 0.05; done"
    )
    processes = run(tmp_path, script)
    while not processes.events():
        assert not processes.wait(0.05)
    processes.end(0.2)
    assert processes.exit_codes() == [-9]


def test_a_process_that_is_deaf_to_signals_sees_the_stop_file(tmp_path: Path) -> None:
    script = 'trap "" TERM; while [ ! -e "$GANGWAY_STOP_FILE" ]; do sleep 0.02; done; exit 5'
    processes = run(tmp_path, script)
    assert not processes.wait(0.1)
    processes.end(10)
    assert processes.exit_codes() == [5]


@pytest.mark.parametrize("seconds", [0.0, 0.1])
def test_waiting_ends_at_its_deadline(tmp_path: Path, seconds: float) -> None:
    processes = run(tmp_path, "exec sleep 30")
    assert processes.wait(seconds) is False
    processes.end(5)
    assert processes.exit_codes() == [-15]
