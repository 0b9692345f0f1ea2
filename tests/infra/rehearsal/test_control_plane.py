"""Which components count as ended while a control plane starts."""

import os
from pathlib import Path

import pytest

from infra.rehearsal import control_plane, processes
from infra.rehearsal.state import StateFolder


@pytest.fixture
def state(tmp_path: Path) -> StateFolder:
    return StateFolder.named("dev", tmp_path)


def record(state: StateFolder, component: str, text: str) -> None:
    pids = state.folder(f"kwok/clusters/{control_plane.CLUSTER}/pids")
    (pids / f"{component}.pid").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(
    ("text", "ended"),
    [("", []), (str(2**22 + 1), ["etcd"])],
    ids=["its file is just being written", "its process is gone"],
)
def test_a_component_has_ended_once_its_process_was_known_and_is_gone(
    state: StateFolder, text: str, ended: list[str]
) -> None:
    record(state, "etcd", text)
    assert control_plane._ended(state) == ended


def test_a_component_that_runs_has_not_ended(
    state: StateFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(processes, "is_marked", lambda pid, folder, *, patience_seconds: True)
    record(state, "etcd", str(os.getpid()))
    assert control_plane._ended(state) == []
    assert list(control_plane.records(state)) == ["etcd"]
