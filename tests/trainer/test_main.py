from pathlib import Path

import pytest

from tests.support.pod_environment import variables
from trainer import __main__ as entry
from trainer.exits import ExitCode


@pytest.fixture
def termination_log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    path = tmp_path / "termination-log"
    path.write_text("", encoding="utf-8")
    monkeypatch.setattr(entry, "tell", lambda message: path.write_text(message, encoding="utf-8"))
    return path


def test_a_wrong_environment_is_a_configuration_problem_told_to_kubectl(
    termination_log: Path,
) -> None:
    code = entry.run([], variables(GANGWAY_EPOCHS="none"))
    assert code is ExitCode.CONFIGURATION
    assert "GANGWAY_EPOCHS is 'none'" in termination_log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments", [["--script"], ["--script", "a", "b"], ["--"], ["train.py"]], ids=" ".join
)
def test_rejects_arguments_it_does_not_know(arguments: list[str], termination_log: Path) -> None:
    assert entry.run(arguments, variables()) is ExitCode.CONFIGURATION
    assert "unknown arguments" in termination_log.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    "arguments", [[], ["--script", "a.py"], ["--", "x"], ["--", "x", "--y"]], ids=" ".join
)
def test_the_three_forms_are_known(arguments: list[str]) -> None:
    assert entry.usable(arguments)


def test_the_termination_message_goes_where_the_kubelet_reads_it(tmp_path: Path) -> None:
    path = tmp_path / "termination-log"
    path.write_text("", encoding="utf-8")
    entry.tell("rank 1 is gone", path)
    assert path.read_text(encoding="utf-8") == "rank 1 is gone"


def test_without_such_a_place_nothing_is_made(tmp_path: Path) -> None:
    entry.tell("rank 1 is gone", tmp_path / "none")
    assert list(tmp_path.iterdir()) == []
