"""Where a rehearsal lies, and what is refused as its name, folder or environment."""

from pathlib import Path

import pytest

from infra.errors import GangwayError, UsageError
from infra.rehearsal import places


@pytest.mark.parametrize("folder", ["My Projects", "a,b", "it's", "x" * 300])
def test_rejects_a_folder_that_its_programs_cannot_take(tmp_path: Path, folder: str) -> None:
    with pytest.raises(UsageError, match=r"GANGWAY_REHEARSALS is .*name another"):
        places.state_folder("dev", None, tmp_path / folder)


@pytest.mark.parametrize("environment", ["", "DEV", "../dev"])
def test_rejects_what_cannot_be_an_environment_by_its_own_option(
    tmp_path: Path, environment: str
) -> None:
    with pytest.raises(UsageError, match=r"^--env is .*; allowed: dev, prod"):
        places.state_folder(environment, None, tmp_path)


@pytest.mark.parametrize(("name", "folder"), [(None, "dev"), ("mine", "mine")])
def test_a_rehearsal_lies_under_its_name_else_its_environments(
    tmp_path: Path, name: str | None, folder: str
) -> None:
    assert places.state_folder("dev", name, tmp_path).path == tmp_path / folder


def test_environments_are_those_with_a_stack_file() -> None:
    assert places.environments() == ["dev", "prod"]


def test_rejects_an_environment_without_a_stack_file() -> None:
    with pytest.raises(UsageError, match="--env is 'nowhere'; allowed: dev, prod"):
        places.raw_settings("nowhere")


def test_rejects_settings_that_are_none() -> None:
    raw = places.raw_settings("dev") | {"gangway:queues": "many"}
    with pytest.raises(GangwayError, match="gangway:queues"):
        places.parsed(raw, "dev")


def test_the_folder_of_all_rehearsals_can_be_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv(places.ROOT_VARIABLE, str(tmp_path))
    assert places.state_root() == tmp_path
    monkeypatch.delenv(places.ROOT_VARIABLE)
    assert places.state_root() == places.PROJECT_ROOT / ".gangway" / "rehearsals"
