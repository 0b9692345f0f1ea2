import pytest

from infra.errors import UsageError
from infra.rehearsal.scenarios import expectations
from infra.rehearsal.scenarios.findings import Outcome, find, has_happened
from infra.rehearsal.scenarios.scenario import DEFAULT_SCHEDULER, VOLCANO, Remove, Submit
from infra.rehearsal.scenarios.story import Story, StoryOptions, tell
from infra.rehearsal.scenarios.verdict import judge
from tests.support.binding_log import at, events

ONE_BY_ONE = """
0.0 create blocker-0
0.1 bind blocker-0 n0
1.0 create train-0
1.0 create train-1
1.1 bind train-0 n1
1.2 refuse train-1
6.0 delete blocker-0
6.1 bind train-1 n0
10.0 succeed train-0
10.0 succeed train-1
11.0 create job-a-0
11.0 create job-b-0
11.1 bind job-a-0 n0
11.1 bind job-b-0 n1
11.2 create job-a-1
11.2 create job-b-1
11.3 refuse job-a-1
11.3 refuse job-b-1
20.0 delete job-a-1
20.0 delete job-b-1
20.1 delete job-a-0
20.1 delete job-b-0
"""

ALL_OR_NOTHING = """
0.0 create blocker-0
0.5 bind blocker-0 n0
1.0 create train-0
1.0 create train-1
2.0 refuse train-0
2.0 refuse train-1
6.0 delete blocker-0
6.500000 bind train-0 n1
6.500150 bind train-1 n0
10.5 succeed train-0
10.5 succeed train-1
11.0 create job-a-0
11.0 create job-a-1
11.0 create job-b-0
11.0 create job-b-1
12.0 bind job-a-0 n0
12.0 bind job-a-1 n1
12.1 refuse job-b-0
16.0 succeed job-a-0
16.0 succeed job-a-1
16.5 bind job-b-0 n0
16.5 bind job-b-1 n1
20.0 succeed job-b-0
20.0 succeed job-b-1
"""


def outcomes(story: Story, default: str = ONE_BY_ONE, volcano: str = ALL_OR_NOTHING):
    gangs = [work.gang for work in story.scenario.works]
    logs = {DEFAULT_SCHEDULER.name: default, VOLCANO.name: volcano}
    return find(
        story.expectations,
        {
            name: judge(events(log), gangs, gpus=story.scenario.gpus, until=at(21))
            for name, log in logs.items()
        },
    )


def missed(findings):
    return [(f.scheduler, f.part) for f in findings if f.outcome is Outcome.DID_NOT_HAPPEN]


def sizes(story: Story) -> dict[str, int]:
    return {work.gang.name: work.gang.size for work in story.scenario.works}


def test_the_story_happened_when_one_wastes_and_the_other_waits():
    findings = outcomes(tell(StoryOptions()))
    assert missed(findings) == []
    assert has_happened(findings)
    assert {f.part for f in findings} == {1, 2, 3}


def test_volcano_that_places_pod_by_pod_makes_the_story_fail_in_every_part():
    findings = outcomes(tell(StoryOptions()), volcano=ONE_BY_ONE)
    assert {part for name, part in missed(findings) if name == "volcano"} == {1, 2, 3}
    assert not has_happened(findings)


def test_a_default_scheduler_that_never_places_a_part_makes_the_story_fail():
    findings = outcomes(tell(StoryOptions()), default=ALL_OR_NOTHING)
    assert missed(findings) == [("default-scheduler", 1), ("default-scheduler", 3)]


def test_workers_bound_more_than_a_cycle_apart_did_not_start_together():
    late = ALL_OR_NOTHING.replace("6.500150 bind", "7.600000 bind")
    assert ("volcano", 2) in missed(outcomes(tell(StoryOptions()), volcano=late))


def test_a_job_that_starts_before_the_blocker_is_gone_is_no_gang_that_waits():
    early = ALL_OR_NOTHING.replace("6.500000 bind", "5.999999 bind")
    assert ("volcano", 1) in missed(outcomes(tell(StoryOptions()), volcano=early))


def test_rival_jobs_that_overlap_do_not_run_in_turn():
    overlapping = ALL_OR_NOTHING.replace("16.5 bind job-b-0", "15.9 bind job-b-0")
    assert missed(outcomes(tell(StoryOptions()), volcano=overlapping)) == [("volcano", 3)]


def test_a_job_that_should_succeed_and_fails_is_no_story():
    failing = ALL_OR_NOTHING.replace("10.5 succeed train-1", "10.5 fail train-1")
    assert missed(outcomes(tell(StoryOptions()), volcano=failing)) == [("volcano", 2)]


def test_a_job_that_is_told_to_fail_is_expected_to():
    failing = {
        "default": ONE_BY_ONE.replace("succeed train", "fail train"),
        "volcano": ALL_OR_NOTHING.replace("succeed train", "fail train"),
    }
    findings = outcomes(tell(StoryOptions(job_fails=True)), **failing)
    assert missed(findings) == []
    assert any(f.sentence == "the job fails" for f in findings)


def test_a_blocker_that_is_gone_before_the_job_was_looked_at_shows_nothing_in_part_one():
    gone = ALL_OR_NOTHING.replace("6.0 delete blocker-0", "1.5 succeed blocker-0")
    findings = outcomes(tell(StoryOptions(blocker_seconds=1)), volcano=gone)
    [first] = [f for f in findings if f.part == 1 and f.scheduler == "volcano"]
    assert first.outcome is Outcome.DOES_NOT_APPLY
    assert "before the scheduler had looked at the job" in first.observed


def test_a_blocker_that_ends_by_itself_is_not_removed_before():
    steps = tell(StoryOptions(blocker_seconds=5)).scenario.steps
    removed = [s.action.works for s in steps if isinstance(s.action, Remove)]
    assert ("blocker",) not in removed


def test_two_gpus_are_the_story_as_told_everywhere():
    assert sizes(tell(StoryOptions())) == {"train": 2, "blocker": 1, "job-a": 2, "job-b": 2}
    assert tell(StoryOptions()).not_shown == ()


def test_four_gpus_get_a_blocker_that_leaves_one_and_rivals_of_three():
    assert sizes(tell(StoryOptions(gpus=4))) == {"train": 2, "blocker": 3, "job-a": 3, "job-b": 3}


@pytest.mark.parametrize("gpus", range(2, 17))
def test_rivals_placed_in_turn_are_never_whole(gpus):
    size = sizes(tell(StoryOptions(gpus=gpus)))["job-a"]
    assert -(-gpus // 2) < size <= gpus


@pytest.mark.parametrize("gpus", range(2, 17))
def test_the_blocker_leaves_one_gpu_less_than_the_job_needs(gpus):
    story = sizes(tell(StoryOptions(gpus=gpus, workers=gpus)))
    assert gpus - story["blocker"] == story["train"] - 1


def test_one_gpu_shows_a_job_that_can_never_start_and_says_what_it_cannot_show():
    story = tell(StoryOptions(gpus=1))
    assert sizes(story) == {"train": 2}
    assert [text[:6] for text in story.not_shown] == ["Part 2", "Part 3"]
    held = "0 create train-0\n0 create train-1\n1 bind train-0 n0\n1 refuse train-1"
    free = "0 create train-0\n0 create train-1\n1 refuse train-0\n1 refuse train-1"
    assert has_happened(outcomes(story, default=held, volcano=free))


def test_a_gang_of_one_cannot_be_placed_in_part():
    story = tell(StoryOptions(workers=1))
    assert story.not_shown[0].startswith("Part 1 does not apply to a job of one worker")
    assert {expectation.part for expectation in story.expectations} == {2, 3}


def test_every_expectation_has_its_reason():
    told = [
        *expectations.of_blocked_job(fails=False, workers=2),
        *expectations.of_oversized_job(),
        *expectations.of_rivals(),
    ]
    assert all(expectation.reason for expectation in told)


def test_works_are_removed_at_the_end_of_their_part():
    steps = tell(StoryOptions()).scenario.steps
    submitted = {name for s in steps if isinstance(s.action, Submit) for name in s.action.works}
    removed = {name for s in steps if isinstance(s.action, Remove) for name in s.action.works}
    assert submitted == removed


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"gpus": 0}, r"--gpus is 0; give a number from 1 to 16"),
        ({"workers": 17}, r"--workers is 17; give a number from 1 to 16"),
        ({"blocker_seconds": 0.0}, r"--blocker-seconds is 0; give more than 0"),
    ],
)
def test_rejects_numbers_that_no_story_can_be_told_with(options, message):
    with pytest.raises(UsageError, match=message):
        StoryOptions(**options)
