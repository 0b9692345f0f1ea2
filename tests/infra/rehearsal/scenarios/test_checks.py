import pytest

from infra.rehearsal.scenarios import checks
from infra.rehearsal.scenarios.findings import NotApplicable
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.verdict import judge
from tests.support.binding_log import at, events

GANGS = (
    Gang(name="a", size=2),
    Gang(name="b", size=2),
    Gang(name="x", size=1, blocker=True),
)
BLOCKED = "0 create x-0\n0 create a-0\n0 create a-1\n0.1 bind x-0 n0\n"


def judged(log: str, until: float = 30):
    return judge(events(log), GANGS, gpus=2, until=at(until))


@pytest.mark.parametrize(
    ("length", "text"),
    [(161, "161 µs"), (12_345, "12.3 ms"), (1_500_000, "1.50 s"), (0, "0 µs")],
)
def test_a_length_of_time_is_told_in_its_own_unit(length, text):
    assert checks.seconds(length) == text


def test_a_worker_placed_after_the_blocker_went_was_not_held_in_vain_before():
    log = BLOCKED + "1 refuse a-0\n1 refuse a-1\n5 delete x-0\n6 bind a-0 n0"
    assert checks.holds_none("a", "x")(judged(log)) == (True, "0 of 2 workers held a GPU")
    met, _ = checks.holds_some("a", "x")(judged(log))
    assert not met


def test_a_gang_that_was_whole_beside_the_blocker_held_nothing_in_vain():
    log = BLOCKED + "1 bind a-0 n1\n1 bind a-1 n2\n5 delete x-0"
    assert checks.holds_some("a", "x")(judged(log))[0] is False


def test_a_blocker_that_never_came_shows_nothing():
    answer = checks.holds_none("a", "x")(judged("0 create a-0\n0 create a-1\n1 refuse a-0"))
    assert isinstance(answer, NotApplicable)


def test_a_gang_that_never_started_did_not_wait_for_the_release():
    log = BLOCKED + "1 refuse a-0\n5 delete x-0"
    assert checks.waits_for_release("a", "x")(judged(log)) == (False, "the gang never started")


def test_a_worker_bound_before_the_release_did_not_wait_for_it():
    log = BLOCKED + "1 bind a-0 n1\n5 delete x-0\n6 bind a-1 n0"
    assert not checks.waits_for_release("a", "x")(judged(log))[0]
    later = log.replace("1 bind a-0", "5.5 bind a-0")
    waited, text = checks.waits_for_release("a", "x")(judged(later))
    assert (waited, text) == (True, "whole 1.00 s after the blocker went")


def test_a_gang_that_still_runs_has_not_finished():
    log = "0 create a-0\n0 create a-1\n1 bind a-0 n\n1 bind a-1 m"
    assert checks.finishes("a", fails=False)(judged(log)) == (False, "it did not end")


@pytest.mark.parametrize(("verb", "fails"), [("succeed", False), ("fail", True)])
def test_a_gang_finishes_as_it_was_told_to(verb, fails):
    log = f"0 create a-0\n0 create a-1\n1 bind a-0 n\n1 bind a-1 m\n2 {verb} a-0\n2 {verb} a-1"
    assert checks.finishes("a", fails=fails)(judged(log))[0]
    assert not checks.finishes("a", fails=not fails)(judged(log))[0]


def test_workers_bound_in_one_moment_started_together():
    log = "0 create a-0\n0 create a-1\n1 bind a-0 n\n1.5 bind a-1 m"
    assert checks.starts_together("a", at(0.5))(judged(log))[0]
    assert not checks.starts_together("a", at(0.4))(judged(log))[0]


def test_gangs_that_finish_in_either_order_run_in_turn():
    made = "".join(f"0 create {pod}\n" for pod in ("a-0", "a-1", "b-0", "b-1"))
    run = "{1} bind {0}-0 n\n{1} bind {0}-1 m\n{2} succeed {0}-0\n{2} succeed {0}-1\n"
    log = made + run.format("b", 1, 3) + run.format("a", 4, 6)
    met, text = checks.runs_in_turn("a", "b")(judged(log))
    assert met
    assert text == "b first, then a 1.00 s after it ended"


def test_only_a_deadlock_of_these_gangs_counts():
    made = "".join(f"0 create {pod}\n" for pod in ("a-0", "a-1", "b-0", "b-1"))
    verdict = judged(made + "1 bind a-0 n\n2 bind b-0 m\n9 delete a-0\n9 delete b-0")
    assert checks.deadlocks("b", "a")(verdict)[0]
    assert not checks.deadlocks("a", "x")(verdict)[0]
