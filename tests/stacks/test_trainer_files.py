"""Files for the training pods."""

from pathlib import Path

import pytest

from stacks import trainer_files


def test_the_trainer_package_is_read_whole() -> None:
    files = trainer_files.trainer_files()
    assert {path.name for path in Path("trainer").glob("*.py")} <= set(files)
    assert "__main__.py" in files


def test_no_scripts_are_mounted_when_none_are_set() -> None:
    assert trainer_files.user_files(None) == {}


def test_scripts_are_read_relative_to_the_project(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(trainer_files, "ROOT", tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.py").write_text("x = 1\n")
    (tmp_path / "mine" / "notes.txt").write_text("not mounted")
    assert trainer_files.user_files("mine") == {"train.py": "x = 1\n"}


def test_rejects_a_missing_folder(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"scriptDirectory is '.*none', which is no folder"):
        trainer_files.user_files(str(tmp_path / "none"))


def test_rejects_a_folder_without_scripts(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"holds 0 files ending in \.json or \.py"):
        trainer_files.user_files(str(tmp_path))


def test_rejects_scripts_too_large_to_mount(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("#" * (trainer_files.LARGEST_BYTES + 1))
    with pytest.raises(ValueError, match="with 900001 bytes together; allowed"):
        trainer_files.user_files(str(tmp_path))
