from infra.rehearsal.scenarios.findings import (
    Expectation,
    NotApplicable,
    Outcome,
    find,
    has_happened,
)
from infra.rehearsal.scenarios.verdict import judge

EMPTY = {"one": judge([], [], gpus=1, until=0)}


def expectation(answer):
    return Expectation(
        check=lambda verdict: answer, part=1, reason="so", scheduler="one", sentence="it waits"
    )


def outcomes(*answers):
    return [finding.outcome for finding in find([expectation(a) for a in answers], EMPTY)]


def test_an_answer_becomes_an_outcome_with_its_figures():
    [met, missed, moot] = find(
        [
            expectation(a)
            for a in ((True, "1 of 2"), (False, "2 of 2"), NotApplicable(why="one GPU"))
        ],
        EMPTY,
    )
    assert (met.outcome, met.observed) == (Outcome.HAPPENED, "1 of 2")
    assert (missed.outcome, missed.observed) == (Outcome.DID_NOT_HAPPEN, "2 of 2")
    assert (moot.outcome, moot.observed) == (Outcome.DOES_NOT_APPLY, "one GPU")
    assert met.reason == "so"


def happened(*answers):
    return has_happened(find([expectation(a) for a in answers], EMPTY))


def test_one_missed_expectation_is_no_story():
    assert not happened((True, ""), (False, ""))


def test_what_does_not_apply_neither_helps_nor_harms():
    assert happened((True, ""), NotApplicable(why=""))


def test_a_story_of_which_nothing_applies_did_not_happen():
    assert not happened(NotApplicable(why=""))
    assert not happened()
