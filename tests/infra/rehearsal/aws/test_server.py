import json
import os
import signal
from pathlib import Path

import pytest

from infra.errors import GangwayError
from infra.rehearsal.aws import server

pytestmark = pytest.mark.enable_socket


def test_it_is_started_once_found_again_and_stopped(tmp_path: Path) -> None:
    first = server.start(tmp_path)
    try:
        assert server.start(tmp_path) == first
        assert server.running(tmp_path) == first
    finally:
        server.stop(tmp_path)
    assert first.process() is None
    server.stop(tmp_path)


def test_rejects_to_go_on_when_it_has_died_and_says_what_to_do(tmp_path: Path) -> None:
    process = server.start(tmp_path).process()
    assert process is not None
    process.send_signal(signal.SIGKILL)
    process.wait(10)

    with pytest.raises(
        GangwayError, match=f"run `gangway rehearse down --force --name {tmp_path.name}`"
    ):
        server.running(tmp_path)


def test_rejects_to_go_on_when_it_was_never_started(tmp_path: Path) -> None:
    with pytest.raises(GangwayError, match="run `gangway rehearse up`"):
        server.running(tmp_path)


def test_a_process_that_only_has_its_number_is_another(tmp_path: Path) -> None:
    (tmp_path / "aws").mkdir()
    record = {"port": 1, "pid": os.getpid(), "started": 1.0}
    (tmp_path / "aws" / "moto.json").write_text(json.dumps(record), "utf-8")

    with pytest.raises(GangwayError, match="has ended"):
        server.running(tmp_path)


@pytest.mark.parametrize(
    ("recorded", "holds_resources"), [(True, False), (True, True), (False, True)]
)
def test_rejects_an_empty_account_in_place_of_a_lost_one(
    tmp_path: Path, recorded: bool, holds_resources: bool
) -> None:
    if recorded:
        process = server.start(tmp_path).process()
        assert process is not None
        process.kill()
        process.wait(10)
    assert not server.is_running(tmp_path)
    with pytest.raises(GangwayError, match="its account is gone with it: run `gangway rehearse"):
        server.refuse_lost(tmp_path, holds_resources=holds_resources)


def test_a_first_start_has_lost_nothing(tmp_path: Path) -> None:
    server.refuse_lost(tmp_path, holds_resources=False)
