import copy

import pytest

from infra.rehearsal.scenarios.drawing import Box, Label, Pointer
from infra.rehearsal.scenarios.picture import describe, draw, gang_colors
from tests.support.recording import recorded_document

RESULT = recorded_document()
DRAWING = draw(RESULT)


def labels(drawing=DRAWING):
    return [shape.text for shape in drawing.shapes if isinstance(shape, Label)]


def tips(drawing=DRAWING):
    return [shape.tip for shape in drawing.shapes if isinstance(shape, Box | Pointer) if shape.tip]


def test_every_span_is_drawn_with_its_exact_moments():
    for scheduler in RESULT["schedulers"]:
        for lane in scheduler["lanes"]:
            for span in lane["spans"]:
                told = f"{span['worker']}: {span['start']:.6f} s to {span['end']:.6f} s"
                assert any(tip.startswith(told) for tip in tips())


def test_only_wasted_spans_are_striped():
    drawn = [s for s in DRAWING.shapes if isinstance(s, Box) and "-worker-" in s.tip]
    assert {box.stripes is not None for box in drawn if "wasted" in box.tip} == {True}
    assert {box.stripes is not None for box in drawn if "useful" in box.tip} == {False}


def test_waste_and_deadlock_are_told_in_figures():
    [default, _] = RESULT["schedulers"]
    assert any(f"wasted {default['gpu_seconds']['wasted']:.2f} of" in text for text in labels())
    assert f"deadlock for {default['deadlocks'][0]['seconds']:.2f} s" in labels()


def test_a_pointer_marks_the_moment_all_workers_were_bound():
    complete = [
        gang["complete_at"]
        for scheduler in RESULT["schedulers"]
        for gang in scheduler["gangs"]
        if gang["complete_at"] and not gang["blocker"]
    ]
    pointers = [shape for shape in DRAWING.shapes if isinstance(shape, Pointer)]
    assert len(pointers) == len(complete) == 4
    assert all(any(moment in pointer.tip for pointer in pointers) for moment in complete)


def test_nothing_is_drawn_outside_the_sheet():
    for shape in DRAWING.shapes:
        if isinstance(shape, Box):
            assert shape.x >= 0
            assert shape.x + shape.width <= DRAWING.width + 0.01
            assert shape.y + shape.height <= DRAWING.height


@pytest.mark.parametrize("seconds", [0.0, 0.4, 25.0, 90.0, 4000.0])
def test_a_play_of_any_length_has_an_axis(seconds):
    empty = copy.deepcopy(RESULT) | {"seconds": seconds}
    for scheduler in empty["schedulers"]:
        scheduler["lanes"] = [{"gpu": lane["gpu"], "spans": []} for lane in scheduler["lanes"]]
        scheduler |= {"waiting": [], "deadlocks": [], "gangs": []}
    empty["parts"] = []
    empty["schedulers"][0]["gangs"] = RESULT["schedulers"][0]["gangs"][:0]
    ticks = [text for text in labels(draw(empty)) if text.endswith(" s") and text[:-2].isdigit()]
    assert 1 <= len(ticks) <= 17


def test_a_gang_has_one_colour_and_blockers_are_grey():
    colors = gang_colors(RESULT)
    assert len({colors["train"], colors["job-a"], colors["job-b"], colors["blocker"]}) == 4
    assert colors["blocker"] == "#64748b"


def test_the_picture_is_told_in_words_too():
    words = describe(RESULT)
    assert "Default scheduler" in words
    assert f"{RESULT['schedulers'][0]['gpu_seconds']['wasted']:.2f} GPU-seconds wasted" in words
