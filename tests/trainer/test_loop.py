import itertools

from trainer.data import make_task
from trainer.loop import CURVE_POINTS, Curve, add_point, task_facts


def a_curve(steps: int) -> Curve:
    curve: Curve = []
    for step in range(1, steps + 1):
        curve = add_point(curve, step, 1 / step)
    return curve


def test_a_short_curve_has_every_step() -> None:
    assert [point["step"] for point in a_curve(5)] == [1, 2, 3, 4, 5]


def test_a_long_curve_is_thinned_evenly_and_keeps_its_first_point() -> None:
    steps = [point["step"] for point in a_curve(1000)]
    assert steps[:3] == [1, 16, 32]
    assert CURVE_POINTS / 2 < len(steps) <= CURVE_POINTS + 2
    assert {later - earlier for earlier, later in itertools.pairwise(steps[1:])} == {16}


def test_the_data_set_is_described_with_its_best_loss() -> None:
    task = make_task(7, 64, 64)
    facts = task_facts(task)["data"]
    assert (facts["seed"], facts["best_loss"]) == (7, task.best_loss)
