import time

import pytest

from infra.rehearsal.aws.clock import CancelledError, Clock


def test_time_passes_by_the_factor() -> None:
    start = time.monotonic()

    Clock(factor=0.001).pass_time(50)

    assert 0.05 <= time.monotonic() - start < 1


def test_a_cancelled_run_waits_no_longer() -> None:
    clock = Clock(factor=1.0)
    clock.cancelled.set()

    with pytest.raises(CancelledError):
        clock.pass_time(1000)


@pytest.mark.parametrize(("factor", "patience"), [(0.0, 30.0), (1.0, 1200.0), (0.01, 30.0)])
def test_patience_is_scaled_but_never_shorter_than_the_floor(
    factor: float, patience: float
) -> None:
    assert Clock(factor=factor, timeout_floor_seconds=30.0).patience(1200.0) == patience


def test_settings_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GANGWAY_AWS_TIME_FACTOR", "0.5")
    monkeypatch.setenv("GANGWAY_AWS_TIMEOUT_SECONDS", "10")

    clock = Clock.from_environment()

    assert (clock.factor, clock.timeout_floor_seconds) == (0.5, 10.0)
