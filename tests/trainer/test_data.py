import itertools

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer import data

BEGINNING = data.Position()
SMALL = data.make_task(3, training_samples=640, validation_samples=256)


def run(
    world: int, batch_size: int, start: data.Position = BEGINNING, epochs: int = 2
) -> list[list[data.Batch]]:
    return [
        list(
            data.batches(
                SMALL, start=start, epochs=epochs, batch_size=batch_size, rank=rank, world=world
            )
        )
        for rank in range(world)
    ]


def test_a_seed_always_makes_the_same_task() -> None:
    assert data.make_task(3, 640, 256) == SMALL


def test_another_seed_makes_another_task() -> None:
    assert data.make_task(4, 640, 256).training.targets != SMALL.training.targets


def test_the_best_loss_is_that_of_the_noise() -> None:
    assert SMALL.best_loss == pytest.approx(data.NOISE**2, rel=0.3)


def test_predicting_the_mean_is_far_from_the_best_loss() -> None:
    targets = SMALL.validation.targets
    mean = sum(targets) / len(targets)
    variance = sum((value - mean) ** 2 for value in targets) / len(targets)
    assert variance > 10 * data.LOSS_FACTOR * SMALL.best_loss


def test_the_first_weights_follow_the_seed() -> None:
    assert data.initial_parameters(1) == data.initial_parameters(1)
    assert data.initial_parameters(1) != data.initial_parameters(2)


@settings(deadline=None, max_examples=25)
@given(world=st.integers(1, 8), batch_size=st.integers(1, 64))
def test_the_ranks_together_take_what_one_process_takes_alone(world: int, batch_size: int) -> None:
    ranks = run(world, batch_size)
    (alone,) = run(1, batch_size * world)
    together = [
        list(itertools.chain.from_iterable(batch.indices for batch in step))
        for step in zip(*ranks, strict=True)
    ]
    assert together == [batch.indices for batch in alone]


def test_no_sample_is_seen_twice_in_an_epoch() -> None:
    seen = [index for rank in run(2, 64, epochs=1) for batch in rank for index in batch.indices]
    assert len(seen) == len(set(seen)) == 640


def test_epochs_have_different_orders() -> None:
    assert data.epoch_order(SMALL, 0) != data.epoch_order(SMALL, 1)


def test_a_run_goes_on_where_it_stopped() -> None:
    (whole,) = run(1, 128)
    (rest,) = run(1, 128, start=whole[2].after)
    assert rest == whole[3:]


def test_a_smaller_world_goes_on_where_a_larger_one_stopped() -> None:
    large = run(2, 64, epochs=1)
    done = {index for rank in large for batch in rank[:3] for index in batch.indices}
    (rest,) = run(1, 64, start=large[0][2].after, epochs=1)
    left = {index for batch in rest for index in batch.indices}
    assert left == set(range(640)) - done


def test_the_last_step_that_is_too_small_is_left_out() -> None:
    (alone,) = run(1, 600, epochs=2)
    assert [batch.after for batch in alone] == [data.Position(1, 0), data.Position(2, 0)]


def test_a_finished_run_has_no_step_left() -> None:
    assert run(1, 64, start=data.Position(2, 0)) == [[]]
