import json
import os
import stat
from pathlib import Path

import pytest

from infra.errors import GangwayError, UsageError
from infra.rehearsal.state import BusyError, OlderStateError, StateFolder, write_atomically


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder.named("dev", tmp_path)


def test_sections_merge_and_the_others_stay(state: StateFolder) -> None:
    state.merge(moto={"endpoint": "http://127.0.0.1:1"})
    state.merge(kubernetes={"token": "t"})
    assert state.section("moto") == {"endpoint": "http://127.0.0.1:1"}
    assert state.section("kubernetes") == {"token": "t"}
    assert state.document()["schema_version"] == 1


def test_the_document_is_readable_by_its_owner_only(state: StateFolder) -> None:
    state.merge(kubernetes={"token": "t"})
    assert stat.S_IMODE(state.document_path.stat().st_mode) == 0o600


def test_a_folder_without_a_document_is_empty(state: StateFolder) -> None:
    assert not state.exists
    assert state.section("kubernetes") == {}


def test_rejects_a_folder_of_another_schema_naming_it_and_the_way_out(state: StateFolder) -> None:
    state.folder(".")
    state.document_path.write_text(json.dumps({"schema_version": 0}), encoding="utf-8")
    with pytest.raises(
        OlderStateError, match=r"dev .*schema 0.*reads 1.*rehearse down --force --name dev"
    ):
        state.document()


def test_rejects_a_torn_document_in_one_sentence(state: StateFolder) -> None:
    state.folder(".")
    state.document_path.write_text('{"schema', encoding="utf-8")
    with pytest.raises(OlderStateError, match="not readable"):
        state.document()


def test_rejects_a_second_driver_with_the_first_ones_pid(state: StateFolder) -> None:
    again = StateFolder(state.path)
    with (
        state.driven(),
        pytest.raises(BusyError, match=rf"dev is being driven by process {os.getpid()}"),
        again.driven(),
    ):
        pass


def test_a_rehearsal_can_be_driven_again_after_its_driver(state: StateFolder) -> None:
    with state.driven():
        pass
    with StateFolder(state.path).driven():
        assert (state.path / "driver.pid").read_text(encoding="utf-8") == str(os.getpid())
    assert not (state.path / "driver.pid").exists()


@pytest.mark.parametrize("name", ["", "Dev", "a/b", "-a", "a" * 41])
def test_rejects_a_name_that_is_no_folder_name(name: str) -> None:
    with pytest.raises(UsageError, match="lower-case letters"):
        StateFolder.named(name)


def test_rejects_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "dev").write_text("a file in the way", encoding="utf-8")
    with pytest.raises(GangwayError, match=r"cannot write .*dev"):
        StateFolder.named("dev", tmp_path).folder("logs")


def test_an_atomic_write_leaves_no_draft(tmp_path: Path) -> None:
    write_atomically(tmp_path / "a" / "b", "text")
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["b"]
