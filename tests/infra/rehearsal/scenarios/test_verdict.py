from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.verdict import Deadlock, Usage, Verdict, dollars, judge
from tests.support.binding_log import at, events

A = Gang(name="a", size=2)
B = Gang(name="b", size=2)
BLOCKER = Gang(name="blocker", size=1, blocker=True)

PARTIAL = """
0.0 create blocker-0
0.1 bind blocker-0 n0
1.0 create a-0
1.0 create a-1
1.5 bind a-0 n1
1.6 refuse a-1
9.0 delete blocker-0
9.25 bind a-1 n0
14.0 succeed a-0
14.5 succeed a-1
"""

TOGETHER = """
0.0 create blocker-0
0.1 bind blocker-0 n0
1.0 create a-0
1.0 create a-1
1.6 refuse a-0
1.6 refuse a-1
9.0 delete blocker-0
9.250000 bind a-0 n1
9.250125 bind a-1 n0
14.0 succeed a-0
14.0 succeed a-1
"""

DEADLOCK = """
0.0 create a-0
0.0 create b-0
0.0 create a-1
0.0 create b-1
0.5 bind a-0 n0
0.6 bind b-0 n1
0.7 refuse a-1
0.8 refuse b-1
10.6 delete a-0
10.7 delete b-0
"""

IN_TURN = """
0.5 bind a-0 n0
0.5 bind a-1 n1
5.0 succeed a-0
5.0 succeed a-1
5.5 bind b-0 n0
5.5 bind b-1 n1
9.0 succeed b-0
9.0 succeed b-1
"""


def judged(log: str, *gangs: Gang, gpus: int = 2, until: float = 20.0) -> Verdict:
    created = "\n".join(
        f"0.0 create {gang.name}-{index}" for gang in gangs for index in range(gang.size)
    )
    logged = log if "create" in log else f"{created}\n{log}"
    return judge(events(logged), gangs, gpus=gpus, until=at(until))


def test_a_partial_gang_wastes_what_it_holds_until_its_last_worker_is_bound():
    verdict = judged(PARTIAL, A, BLOCKER)
    assert verdict.gangs["a"].wasted == at(9.25 - 1.5)
    assert verdict.wasted == at(7.75)
    assert verdict.wasted_gpu_seconds == 7.75


def test_a_gang_is_complete_at_the_exact_moment_of_its_last_binding():
    assert judged(TOGETHER, A, BLOCKER).gangs["a"].complete_at == at(9.250125)


def test_the_spread_is_the_time_between_the_first_and_the_last_binding():
    assert judged(TOGETHER, A, BLOCKER).gangs["a"].spread == 125
    assert judged(PARTIAL, A, BLOCKER).gangs["a"].spread == at(7.75)


def test_bindings_some_microseconds_apart_waste_just_these_microseconds():
    assert judged(TOGETHER, A, BLOCKER).wasted == 125


def test_a_worker_that_finishes_first_leaves_the_others_useful():
    verdict = judged(PARTIAL, A, BLOCKER)
    assert verdict.gangs["a"].useful == at(14.0 - 9.25) + at(14.5 - 9.25)
    assert verdict.gangs["a"].succeeded


def test_a_worker_that_is_lost_makes_the_rest_of_the_gang_waste():
    verdict = judged("1 bind a-0 n0\n1 bind a-1 n1\n5 delete a-0\n8 delete a-1", A)
    assert verdict.gangs["a"].useful == at(4) * 2
    assert verdict.gangs["a"].wasted == at(3)
    assert not verdict.gangs["a"].succeeded


def test_a_failed_worker_makes_the_rest_of_the_gang_waste():
    verdict = judged("1 bind a-0 n0\n1 bind a-1 n1\n5 fail a-0\n6 fail a-1", A)
    assert verdict.wasted == at(1)


def test_a_gang_that_never_gets_its_last_worker_is_never_complete():
    verdict = judged("1 bind a-0 n0", A, until=6)
    assert verdict.gangs["a"].complete_at is None
    assert verdict.gangs["a"].spread is None
    assert verdict.gangs["a"].ended_at is None
    assert verdict.wasted == at(5)


def test_a_gang_of_one_wastes_nothing():
    verdict = judged("1 bind a-0 n0\n4 succeed a-0", Gang(name="a", size=1))
    assert (verdict.wasted, verdict.useful) == (0, at(3))


def test_a_restarted_gang_counts_the_latest_life_of_each_worker():
    verdict = judged(
        "0 create a-0\n0 create a-1\n1 bind a-0 n0\n1 bind a-1 n1\n4 fail a-0\n5 delete a-1\n"
        "6 create a-0\n6 create a-1\n7 bind a-0 n0\n9 bind a-1 n1\n12 succeed a-0\n12 succeed a-1",
        A,
    )
    assert verdict.gangs["a"].wasted == at(1) + at(2)
    assert verdict.gangs["a"].complete_at == at(1)
    assert verdict.gangs["a"].succeeded


def test_a_pod_that_is_being_deleted_holds_its_gpu_until_it_is_gone():
    verdict = judged("1 bind a-0 n0\n3 leave a-0\n7 delete a-0", Gang(name="a", size=1))
    assert verdict.gangs["a"].ended_at == at(7)


def test_two_gangs_that_hold_half_each_are_deadlocked_until_somebody_steps_in():
    verdict = judged(DEADLOCK, A, B)
    assert verdict.deadlocks == (Deadlock(end=at(10.6), gangs=("a", "b"), start=at(0.6)),)
    assert verdict.wasted == at(10.1) * 2
    assert verdict.useful == 0


def test_a_deadlock_without_an_end_lasts_until_the_moment_of_judging():
    verdict = judged(DEADLOCK, A, B, until=5)
    assert verdict.deadlocks[0].end == at(5)


def test_one_partial_gang_that_waits_for_a_blocker_is_no_deadlock():
    assert judged(PARTIAL, A, BLOCKER).deadlocks == ()


def test_two_partial_gangs_with_room_for_one_of_them_are_no_deadlock():
    assert judged("1 bind a-0 n0\n1 bind b-0 n1", A, B, gpus=3).deadlocks == ()


def test_two_partial_gangs_that_wait_for_a_whole_one_are_no_deadlock():
    whole = Gang(name="c", size=2)
    log = "1 bind c-0 n2\n1 bind c-1 n3\n2 bind a-0 n0\n2 bind b-0 n1"
    assert judged(log, A, B, whole, gpus=4).deadlocks == ()


def test_three_gangs_can_deadlock_too():
    third = Gang(name="c", size=2)
    log = "1 bind a-0 n0\n1 bind b-0 n1\n2 bind c-0 n2"
    assert judged(log, A, B, third, gpus=3, until=4).deadlocks[-1].gangs == ("a", "b", "c")


def test_gangs_that_run_one_after_the_other_waste_nothing():
    verdict = judged(IN_TURN, A, B)
    assert verdict.wasted == 0
    assert verdict.deadlocks == ()
    assert verdict.interleaved == ()


def test_gangs_whose_placements_alternate_are_interleaved_even_when_both_complete():
    log = "1 bind a-0 n0\n2 bind b-0 n1\n3 bind a-1 n2\n4 bind b-1 n3"
    verdict = judged(log, A, B, gpus=4)
    assert verdict.interleaved == (("a", "b"),)
    assert verdict.deadlocks == ()


def test_a_blocker_placed_between_two_workers_interleaves_nothing():
    assert judged("1 bind a-0 n0\n2 bind blocker-0 n1\n3 bind a-1 n2", A, BLOCKER).interleaved == ()


def test_usage_tells_the_gpus_held_at_every_moment_of_change():
    assert judged("1 bind a-0 n0\n3 bind a-1 n1\n6 succeed a-0\n7 succeed a-1", A).usage == (
        Usage(at=at(1), useful=0, wasted=1),
        Usage(at=at(3), useful=2, wasted=0),
        Usage(at=at(6), useful=1, wasted=0),
        Usage(at=at(7), useful=0, wasted=0),
    )


def test_workers_with_several_gpus_count_each_of_them():
    pair = Gang(name="a", size=2, gpus_per_worker=4)
    assert judged("1 bind a-0 n0\n3 bind a-1 n1\n4 succeed a-0\n4 succeed a-1", pair).wasted == (
        at(2) * 4
    )


def test_events_in_any_order_give_the_same_verdict():
    shuffled = events(PARTIAL)[::-1]
    assert judge(shuffled, (A, BLOCKER), gpus=2, until=at(20)) == judged(PARTIAL, A, BLOCKER)


def test_pods_of_gangs_that_were_not_named_do_not_count():
    assert judged("0 create x-0\n1 bind x-0 n0", A).holdings == ()


def test_dollars_follow_from_gpu_time_and_the_price_of_an_hour():
    assert dollars(at(3600), 0.526) == 0.526
    assert dollars(at(36), 0.5) == 0.005
