from pathlib import Path

import pytest

from trainer.exits import ConfigurationError
from trainer.worker import from_script


def a_script(folder: Path, text: str) -> Path:
    path = folder / "train.py"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_users_script_is_loaded_with_its_neighbours(tmp_path: Path) -> None:
    (tmp_path / "gangway_test_neighbour.py").write_text("ANSWER = 42\n", encoding="utf-8")
    text = (
        "from gangway_test_neighbour import ANSWER\n"
        "def train(context):\n    return {'answer': ANSWER}\n"
    )
    train = from_script(a_script(tmp_path, text))
    assert train(None) == {"answer": 42}  # type: ignore[arg-type]


def test_rejects_a_script_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"train\.py is not in the pod"):
        from_script(tmp_path / "train.py")


def test_rejects_a_script_without_train(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"has no function train\(context\)"):
        from_script(a_script(tmp_path, "train = 3\n"))


def test_rejects_a_file_that_is_not_python(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text("x", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="is not a Python file"):
        from_script(path)
