import json
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from tests.support.pod_environment import environment
from trainer import rendezvous
from trainer.environment import World
from trainer.exits import ExitCode, RendezvousError
from trainer.rendezvous import Gang

pytestmark = pytest.mark.enable_socket


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port: int = server.getsockname()[1]
    return port


class Meeting:
    """Gangs of one world, each met in a thread of its own."""

    def __init__(self, size: int, timeout_seconds: str = "10") -> None:
        self.size = size
        self.port = str(free_port())
        self.timeout_seconds = timeout_seconds
        self.stop = threading.Event()
        self.errors: list[Exception] = []
        self.open = ExitStack()

    def world(self, rank: int) -> World:
        return environment(
            GANGWAY_RENDEZVOUS_PORT=self.port,
            GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS=self.timeout_seconds,
            RANK=str(rank),
            WORLD_SIZE=str(self.size),
        ).world

    def gang(self, rank: int, **hello: Any) -> Gang:
        facts = {"pod": f"pod-{rank}", "uid": "uid", "version": 0, **hello}
        gang = Gang(self.world(rank), facts)
        self.open.callback(gang.close)
        return gang

    def start(self, gang: Gang) -> threading.Thread:
        def meet() -> None:
            try:
                gang.meet(lambda: {"resume_key": "step-50"}, self.stop)
            except RendezvousError as error:
                self.errors.append(error)

        thread = threading.Thread(target=meet, daemon=True)
        thread.start()
        return thread

    def meet(self, *gangs: Gang) -> None:
        for thread in [self.start(gang) for gang in gangs]:
            thread.join(15)
            assert not thread.is_alive()


@pytest.fixture
def pair() -> Iterator[Meeting]:
    meeting = Meeting(2)
    with meeting.open:
        yield meeting


def eventually(probe: Any) -> bool:
    end = time.monotonic() + 5
    pause = threading.Event()
    while time.monotonic() < end:
        if probe():
            return True
        pause.wait(0.01)
    return False


def test_all_ranks_start_with_what_rank_0_says() -> None:
    meeting = Meeting(4)
    with meeting.open:
        gangs = [meeting.gang(rank) for rank in (3, 1, 0, 2)]
        meeting.meet(*gangs)
        assert {gang.start["resume_key"] for gang in gangs} == {"step-50"}
        assert all([one["rank"] for one in gang.hellos] == [0, 1, 2, 3] for gang in gangs)


def test_one_rank_alone_needs_nobody() -> None:
    meeting = Meeting(1)
    with meeting.open:
        gang = meeting.gang(0)
        meeting.meet(gang)
        assert [one["pod"] for one in gang.hellos] == ["pod-0"]
        assert gang.lost_peer() is None


def test_rejects_a_world_that_stays_incomplete() -> None:
    meeting = Meeting(3, timeout_seconds="2")
    with meeting.open:
        meeting.meet(meeting.gang(0), meeting.gang(2))
        sentences = sorted(str(error) for error in meeting.errors)
        assert "rank 2 did not start with its leader 127.0.0.1" in sentences[0]
        assert "not complete within 2 s: 2 of 3 ranks came, rank 1 missing" in sentences[1]
        assert {error.exit_code for error in meeting.errors} == {  # type: ignore[attr-defined]
            ExitCode.RENDEZVOUS_FAILED
        }


def test_a_rank_that_gave_up_is_not_called_missing() -> None:
    meeting = Meeting(3, timeout_seconds="2")
    with meeting.open:
        waiting = meeting.start(meeting.gang(0))
        assert eventually(lambda: _greets_and_leaves(meeting.port, size=3))
        waiting.join(10)
        sentence = str(meeting.errors[0])
        assert "2 of 3 ranks came, rank 2 missing, rank 1 left before the start" in sentence


def test_a_pod_that_comes_again_before_the_start_replaces_itself() -> None:
    meeting = Meeting(3)
    with meeting.open:
        leader = meeting.gang(0)
        waiting = meeting.start(leader)
        assert eventually(lambda: _greets_and_leaves(meeting.port, size=3))
        assert eventually(lambda: 1 in leader.came)
        meeting.meet(meeting.gang(1), meeting.gang(2))
        waiting.join(10)
        assert [one["pod"] for one in leader.hellos] == ["pod-0", "pod-1", "pod-2"]


def _greets_and_leaves(port: str, size: int) -> bool:
    hello = {"rank": 1, "size": size, "uid": "uid", "version": 0, "pod": "early"}
    try:
        with socket.create_connection(("127.0.0.1", int(port)), timeout=1) as connection:
            connection.sendall(json.dumps({"hello": hello}).encode() + b"\n")
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    "hello", [{"uid": "another"}, {"version": 1}], ids=["another job", "another attempt"]
)
def test_a_pod_of_another_run_is_not_let_in(hello: dict[str, Any]) -> None:
    meeting = Meeting(2, timeout_seconds="1")
    with meeting.open:
        meeting.meet(meeting.gang(0), meeting.gang(1, **hello))
        assert len(meeting.errors) == 2


def test_noise_on_the_port_is_not_taken_for_a_rank(pair: Meeting) -> None:
    leader = pair.gang(0)
    waiting = pair.start(leader)

    def noise() -> bool:
        try:
            with socket.create_connection(("127.0.0.1", int(pair.port)), timeout=1) as connection:
                connection.sendall(b"GET / HTTP/1.1\r\n")
        except OSError:
            return False
        return True

    assert eventually(noise)
    pair.meet(pair.gang(1))
    waiting.join(10)
    assert not pair.errors


def test_a_wish_to_end_ends_the_wait(pair: Meeting) -> None:
    waiting = pair.start(pair.gang(0))
    began = time.monotonic()
    pair.stop.set()
    waiting.join(5)
    assert not waiting.is_alive()
    assert time.monotonic() - began < 5
    assert pair.errors


def test_a_rank_that_goes_is_known_to_the_others_at_once(pair: Meeting) -> None:
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    assert leader.lost_peer() is None
    follower.close()
    assert eventually(lambda: leader.lost_peer() == "rank 1 (pod-1) is gone")


def test_a_rank_that_failed_is_lost_before_it_goes(pair: Meeting) -> None:
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    handing = threading.Thread(target=lambda: follower.hand_over({"status": "failed"}, 10))
    handing.start()
    assert eventually(lambda: leader.lost_peer() == "rank 1 (pod-1) failed")
    leader.dismiss()
    handing.join(10)


def test_a_rank_that_is_asked_to_end_tells_the_others(pair: Meeting) -> None:
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    assert leader.leaving_peer() is None
    follower.announce_leave()
    assert eventually(lambda: leader.leaving_peer() == "rank 1 (pod-1)")


def test_a_rank_that_finished_is_not_lost(pair: Meeting) -> None:
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    follower.hand_over({"status": "success"}, 0.0)
    follower.close()
    assert eventually(lambda: leader.links[1].lost and leader.links[1].report)
    assert leader.lost_peer() is None


def test_a_leader_that_goes_is_known_to_the_others_at_once(pair: Meeting) -> None:
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    leader.close()
    assert eventually(lambda: follower.lost_peer() == "the leader 127.0.0.1 is gone")


def test_a_silent_rank_is_lost(pair: Meeting, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendezvous, "HEARTBEAT_SECONDS", 30.0)
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    monkeypatch.setattr(rendezvous, "SILENCE_SECONDS", 0.05)
    assert eventually(lambda: leader.lost_peer() == "rank 1 (pod-1) is gone")


def test_the_others_leave_only_after_rank_0_has_their_documents(pair: Meeting) -> None:
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    safe: list[bool] = []
    handing = threading.Thread(target=lambda: safe.append(follower.hand_over({"rank": 1}, 10)))
    handing.start()
    assert leader.collect({"rank": 0}, 10) == [{"rank": 0}, {"rank": 1}]
    assert safe == []
    leader.dismiss()
    handing.join(10)
    assert safe == [True]


def test_a_document_is_not_safe_when_rank_0_goes_first(pair: Meeting) -> None:
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    leader.close()
    assert follower.hand_over({"rank": 1}, 10) is False


def test_a_lost_rank_is_not_waited_for_at_the_end(pair: Meeting) -> None:
    leader, follower = pair.gang(0), pair.gang(1)
    pair.meet(leader, follower)
    follower.close()
    assert leader.collect({"rank": 0}, 10) == [{"rank": 0}]
