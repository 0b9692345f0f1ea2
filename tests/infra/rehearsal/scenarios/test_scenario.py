import pytest

from infra.rehearsal.scenarios.events import GangRefused
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.scenario import (
    Answered,
    Over,
    Passed,
    Placed,
    Settled,
    View,
    Work,
)
from tests.support.binding_log import at, events

WORKS = (
    Work(gang=Gang(name="a", size=2), seconds=1),
    Work(gang=Gang(name="b", size=2), seconds=1),
)
MADE = "0 create a-0\n0 create a-1\n"


def view(log: str, now: float = 10, since: float = 0, more: tuple[GangRefused, ...] = ()) -> View:
    return View(events=[*events(log), *more], gpus=2, now=at(now), since=at(since), works=WORKS)


@pytest.mark.parametrize(
    ("log", "expected"),
    [
        ("", False),
        ("0 create a-0\n1 bind a-0 n", False),
        (MADE + "1 bind a-0 n", False),
        (MADE + "1 bind a-0 n\n1 refuse a-1", True),
        (MADE + "1 refuse a-0\n1 refuse a-1", True),
        (MADE + "1 bind a-0 n\n1 bind a-1 m", True),
    ],
    ids=["nothing", "one of two made", "one unanswered", "part", "none", "whole"],
)
def test_a_gang_is_answered_when_each_worker_is_placed_or_refused(log, expected):
    assert Answered(gang="a").holds(view(log)) is expected


def test_a_gang_refused_before_it_has_workers_is_answered():
    refused = GangRefused(at=at(1), gang="a", message="not enough", namespace="ns")
    assert Answered(gang="a").holds(view("", more=(refused,)))
    assert not Answered(gang="b").holds(view("", more=(refused,)))


def test_a_refused_gang_whose_workers_exist_waits_for_each_workers_answer():
    refused = GangRefused(at=at(1), gang="a", message="not enough", namespace="ns")
    assert not Answered(gang="a").holds(view(MADE, more=(refused,)))


def test_a_gang_is_placed_once_all_its_workers_are():
    assert not Placed(gang="a").holds(view(MADE + "1 bind a-0 n"))
    assert Placed(gang="a").holds(view(MADE + "1 bind a-0 n\n1 bind a-1 m"))


def test_a_gang_that_is_over_already_counts_as_placed():
    log = MADE + "1 bind a-0 n\n1 bind a-1 m\n2 delete a-0\n2 delete a-1"
    assert Placed(gang="a").holds(view(log))


def test_a_gang_is_over_when_it_was_whole_and_holds_nothing_more():
    whole = MADE + "1 bind a-0 n\n1 bind a-1 m\n2 succeed a-0\n"
    assert not Over(gang="a").holds(view(whole))
    assert Over(gang="a").holds(view(whole + "3 fail a-1"))
    assert not Over(gang="a").holds(view(MADE + "1 bind a-0 n\n2 delete a-0"))


RIVALS = MADE + "0 create b-0\n0 create b-1\n"


def test_rivals_are_settled_by_a_deadlock_or_by_their_ends():
    half_placed = RIVALS + "1 bind a-0 n\n1 bind b-0 m\n"
    settled = Settled(gangs=("a", "b"))
    assert settled.holds(view(half_placed))
    assert not settled.holds(view(RIVALS + "1 bind a-0 n\n1 bind a-1 m"))
    in_turn = "1 bind {0}-0 n\n1 bind {0}-1 m\n2 succeed {0}-0\n2 succeed {0}-1\n"
    assert settled.holds(view(RIVALS + in_turn.format("a") + in_turn.format("b")))


def test_a_deadlock_that_is_over_settles_nothing():
    log = RIVALS + "1 bind a-0 n\n1 bind b-0 m\n5 delete b-0"
    assert not Settled(gangs=("a", "b")).holds(view(log))


def test_time_passes_on_the_servers_clock():
    assert Passed(seconds=4).holds(view("", now=10, since=6))
    assert not Passed(seconds=4).holds(view("", now=10, since=6.000001))
