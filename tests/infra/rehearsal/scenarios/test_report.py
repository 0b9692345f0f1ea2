import dataclasses
import itertools
import json

import pytest

from infra.rehearsal.scenarios.events import Bound, to_micros
from infra.rehearsal.scenarios.report import document, waits
from stacks.prices import load_prices
from tests.support.binding_log import at, events
from tests.support.recording import HALVES, RECORDING, STORY, recorded_document

RESULT = recorded_document()
DEFAULT, GANGS = RESULT["schedulers"]


def test_a_real_run_is_told_as_the_story():
    assert RESULT["happened"]
    assert [finding["outcome"] for finding in RESULT["findings"]] == ["happened"] * 8


def test_held_time_is_useful_or_wasted():
    for scheduler in RESULT["schedulers"]:
        seconds = scheduler["gpu_seconds"]
        assert seconds["held"] == pytest.approx(seconds["useful"] + seconds["wasted"])


def test_the_lanes_add_up_to_the_figures():
    for scheduler in RESULT["schedulers"]:
        spans = [span for lane in scheduler["lanes"] for span in lane["spans"]]
        for useful, kind in ((True, "useful"), (False, "wasted")):
            total = sum(s["end"] - s["start"] for s in spans if s["useful"] is useful)
            assert total == pytest.approx(scheduler["gpu_seconds"][kind], abs=1e-5)


def test_gangs_add_up_to_the_waste():
    for scheduler in RESULT["schedulers"]:
        total = sum(gang["wasted_gpu_seconds"] for gang in scheduler["gangs"])
        assert total == pytest.approx(scheduler["gpu_seconds"]["wasted"])


def test_dollars_are_the_wasted_seconds_at_the_price_of_the_file():
    price = load_prices("us-east-1").instances["g4dn.xlarge"]
    wasted = DEFAULT["gpu_seconds"]["wasted"]
    assert DEFAULT["wasted_usd"]["on_demand"] == pytest.approx(wasted / 3600 * price.on_demand.usd)
    assert DEFAULT["wasted_usd"]["spot_low"] == pytest.approx(wasted / 3600 * price.spot_low.usd)
    assert DEFAULT["wasted_usd"]["spot_high"] == pytest.approx(wasted / 3600 * price.spot_high.usd)


def test_the_moment_of_completion_has_its_microseconds():
    [job] = [gang for gang in GANGS["gangs"] if gang["name"] == "train"]
    seen = [e for e in RECORDING.events["volcano"] if isinstance(e, Bound)]
    last = max(e.at for e in seen if e.pod.name.startswith("train-"))
    assert job["complete_at"].endswith("Z")
    assert to_micros(job["complete_at"]) == last
    assert 0 <= job["spread_seconds"] < 1


def test_no_lane_holds_two_workers_at_once():
    for scheduler in RESULT["schedulers"]:
        for lane in scheduler["lanes"]:
            spans = sorted(lane["spans"], key=lambda span: span["start"])
            for one, other in itertools.pairwise(spans):
                assert one["end"] <= other["start"]


def test_parts_begin_in_their_order():
    starts = [part["at"] for part in RESULT["parts"]]
    assert [part["part"] for part in RESULT["parts"]] == [1, 2, 3]
    assert starts == sorted(starts)


def test_the_document_is_plain_json():
    assert json.loads(json.dumps(RESULT)) == RESULT


def test_a_play_that_was_stopped_did_not_happen():
    stopped = recorded_document(stopped="the placement did not happen within 30 s")
    assert not stopped["happened"]
    assert stopped["stopped"].startswith("the placement")


def test_waiting_workers_are_counted_until_they_are_placed():
    log = "0 create a-0\n0 create a-1\n2 bind a-0 n0\n5 bind a-1 n1"
    told = [(w.start, w.end, w.workers) for w in waits(events(log), at(9))]
    assert told == [(at(0), at(2), 2), (at(2), at(5), 1)]


def test_a_deleted_worker_waits_no_more():
    [wait] = waits(events("0 create a-0\n3 delete a-0"), at(9))
    assert (wait.start, wait.end) == (at(0), at(3))


def test_a_worker_never_placed_waits_to_the_end():
    [wait] = waits(events("1 create a-0"), at(9))
    assert (wait.end, wait.workers) == (at(9), 1)


def test_another_recording_gives_another_document():
    fewer = {name: seen[:10] for name, seen in RECORDING.events.items()}
    cut = document(
        STORY, dataclasses.replace(RECORDING, events=fewer), HALVES, load_prices("us-east-1")
    )
    assert not cut["happened"]
