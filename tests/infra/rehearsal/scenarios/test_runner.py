import pytest

from infra.rehearsal.scenarios.events import SECOND
from infra.rehearsal.scenarios.findings import Outcome, find, has_happened
from infra.rehearsal.scenarios.holdings import Gang
from infra.rehearsal.scenarios.runner import Recording, Runner
from infra.rehearsal.scenarios.scenario import (
    DEFAULT_SCHEDULER,
    VOLCANO,
    Await,
    Placed,
    Scenario,
    Step,
    Submit,
    Work,
)
from infra.rehearsal.scenarios.story import Story, StoryOptions, tell
from infra.rehearsal.scenarios.verdict import judge
from infra.rehearsal.scenarios.workloads import Half
from tests.support.stage import PlayedCluster, nothing

QUICK = {"look_seconds": 0.15, "work_seconds": 0.15}


def halves(gpus: int) -> list[Half]:
    return [Half(gpus=gpus, scheduler=scheduler) for scheduler in (DEFAULT_SCHEDULER, VOLCANO)]


def played(story: Story, cluster: PlayedCluster, onlooker=nothing) -> Recording:
    own = halves(story.scenario.gpus)
    return Runner(cluster, cluster, story.scenario, own, onlooker).play()


def findings(story: Story, recording: Recording):
    gangs = [work.gang for work in story.scenario.works]
    gpus = story.scenario.gpus
    verdicts = {
        name: judge(seen, gangs, gpus=gpus, until=recording.ended)
        for name, seen in recording.events.items()
    }
    return find(story.expectations, verdicts)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"gpus": 1},
        {"gpus": 4},
        {"gpus": 4, "workers": 3},
        {"workers": 1},
        {"workers": 3},
        {"job_fails": True},
        {"blocker_seconds": 0.3},
    ],
    ids=lambda options: ", ".join(f"{k} {v}" for k, v in options.items()) or "as told",
)
def test_the_story_plays_to_its_end_and_happens(options):
    story = tell(StoryOptions(**QUICK, **options))
    recording = played(story, PlayedCluster(gangs_whole=["volcano"]))
    assert recording.stopped is None
    seen = findings(story, recording)
    assert [f for f in seen if f.outcome is Outcome.DID_NOT_HAPPEN] == []
    assert has_happened(seen)


def test_a_scheduler_without_gangs_plays_to_the_end_and_the_story_does_not_happen():
    story = tell(StoryOptions(**QUICK))
    recording = played(story, PlayedCluster(gangs_whole=[]))
    assert recording.stopped is None
    assert not has_happened(findings(story, recording))


def test_a_clock_that_is_ahead_changes_no_verdict():
    story = tell(StoryOptions(**QUICK))
    ahead = 3600 * SECOND
    recording = played(story, PlayedCluster(gangs_whole=["volcano"], clock_ahead=ahead))
    assert has_happened(findings(story, recording))
    last = max(event.at for seen in recording.events.values() for event in seen)
    assert abs(recording.ended - last) < SECOND
    assert recording.clock_error < SECOND


def test_a_step_that_does_not_come_in_time_stops_the_play_and_keeps_what_was_seen():
    big = Work(gang=Gang(name="big", size=3), seconds=1)
    scenario = Scenario(
        gpus=1,
        name="too big",
        steps=(
            Step(action=Submit(works=("big",)), part=1, says="A job arrives."),
            Step(
                action=Await(
                    deadline_seconds=0.2, until=Placed(gang="big"), what="the placement of big"
                ),
                part=1,
                says="A job arrives.",
            ),
            Step(action=Submit(works=("big",)), part=2, says="Never."),
        ),
        works=(big,),
    )
    cluster = PlayedCluster(gangs_whole=["volcano"])
    recording = Runner(cluster, cluster, scenario, halves(1), nothing).play()
    assert recording.stopped == "the placement of big did not happen within 0.2 s"
    assert [mark.says for mark in recording.marks] == ["A job arrives."]
    assert len(recording.events["volcano"]) > 3


def test_the_onlooker_sees_the_play_grow():
    seen: list[Recording] = []
    story = tell(StoryOptions(**QUICK))
    recording = played(story, PlayedCluster(gangs_whole=["volcano"]), seen.append)
    counts = [len(shown.events["volcano"]) for shown in seen]
    assert counts == sorted(counts)
    assert counts[-1] == len(recording.events["volcano"])
    assert {mark.part for mark in recording.marks} == {1, 2, 3}


def test_a_gang_works_for_its_time_once_it_is_whole():
    story = tell(StoryOptions(**QUICK))
    recording = played(story, PlayedCluster(gangs_whole=["volcano"]))
    gangs = [work.gang for work in story.scenario.works]
    for seen in recording.events.values():
        job = judge(seen, gangs, gpus=2, until=recording.ended).gangs["train"]
        assert job.ended_at - job.complete_at >= QUICK["work_seconds"] * SECOND
