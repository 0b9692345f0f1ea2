import pytest

from infra.rehearsal.scenarios.clock import ClocksDisagreeError, Exchange, Offset, offset


def exchange(sent: int, served: int, answered: int) -> Exchange:
    return Exchange(answered=answered, sent=sent, served=served)


def test_one_exchange_bounds_the_offset_by_its_round_trip():
    assert offset([exchange(1000, 5100, 1200)]) == Offset(error=100, micros=4000)


def test_more_exchanges_narrow_the_offset():
    found = offset([exchange(1000, 5100, 1200), exchange(2000, 6090, 2110)])
    assert found.error < 100
    assert found.micros - found.error <= 3980 <= found.micros + found.error


def test_a_moment_is_moved_onto_the_servers_clock():
    assert Offset(error=0, micros=-250).apply(1000) == 750


def test_without_any_exchange_the_clocks_count_as_one():
    assert offset([]) == Offset(error=0, micros=0)


def test_rejects_clocks_that_moved_against_each_other():
    with pytest.raises(ClocksDisagreeError, match=r"moved against each other by 0\.001"):
        offset([exchange(0, 100, 200), exchange(1000, 2500, 1200)])
