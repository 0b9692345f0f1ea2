import re
import sys
from pathlib import Path

import pytest

from infra.errors import MissingToolError, UsageError
from infra.rehearsal import frameworks


def a_python(folder: Path, exit_code: int) -> None:
    program = folder / "bin" / "python"
    program.parent.mkdir(parents=True)
    program.write_text(f"#!/bin/sh\nexit {exit_code}\n", encoding="utf-8")
    program.chmod(0o755)


def test_no_interpreter_where_nothing_was_installed(tmp_path: Path) -> None:
    assert frameworks.interpreter("pytorch", tmp_path) is None


def test_an_interpreter_with_the_framework_is_found(tmp_path: Path) -> None:
    a_python(tmp_path / "torch", exit_code=0)
    assert frameworks.interpreter("pytorch", tmp_path) == tmp_path / "torch/bin/python"


def test_an_interpreter_without_the_framework_is_none(tmp_path: Path) -> None:
    a_python(tmp_path / "tensorflow", exit_code=1)
    assert frameworks.interpreter("tensorflow", tmp_path) is None


def test_what_is_installed_is_not_installed_again(tmp_path: Path) -> None:
    a_python(tmp_path / "torch", exit_code=0)
    assert frameworks.install("pytorch", tmp_path) == tmp_path / "torch/bin/python"
    assert [path.name for path in tmp_path.iterdir()] == ["torch"]


def test_a_rehearsal_without_a_framework_says_so_in_one_line(tmp_path: Path) -> None:
    line = frameworks.absence("tensorflow", tmp_path)
    assert line
    assert line.startswith("tensorflow is not installed: `apt-get install python3-venv`")
    assert line.endswith("the training pods wait some seconds and succeed")
    assert "\n" not in line


def test_a_rehearsal_with_its_framework_says_nothing(tmp_path: Path) -> None:
    a_python(tmp_path / "torch", exit_code=0)
    assert frameworks.absence("pytorch", tmp_path) is None


def test_rejects_an_unknown_framework() -> None:
    with pytest.raises(UsageError, match=r"'jax'; it must be pytorch or tensorflow"):
        frameworks.interpreter("jax")


def test_rejects_to_install_pytorch_without_the_system_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    absent = frameworks.Framework(
        base=(Path(sys.executable),),
        folder="torch",
        module="no_such_module",
        packages=(),
        system_packages=("python3-torch", "python3-venv"),
        system_site=True,
    )
    monkeypatch.setitem(frameworks.FRAMEWORKS, "pytorch", absent)
    with pytest.raises(MissingToolError, match="apt-get install python3-torch python3-venv"):
        frameworks.install("pytorch", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_installation_that_fails_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    a_python(tmp_path / "base", exit_code=7)
    broken = frameworks.Framework(
        base=(tmp_path / "base/bin/python",), folder="tensorflow", module="x", packages=()
    )
    monkeypatch.setitem(frameworks.FRAMEWORKS, "tensorflow", broken)
    with pytest.raises(MissingToolError, match=r"tensorflow was not installed: .* no reason"):
        frameworks.install("tensorflow", tmp_path)


def test_boto3_is_the_version_of_the_project() -> None:
    text = (frameworks.REPOSITORY / "requirements.txt").read_text(encoding="utf-8")
    found = re.search(r"^boto3==\S+", text, re.MULTILINE)
    assert found
    assert found[0] == frameworks.BOTO3
