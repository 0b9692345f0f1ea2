"""Imports without the garbage collector."""

import gc
from collections.abc import Iterator

import pytest

from infra.importing import uncollected


@pytest.fixture(autouse=True)
def _thawed() -> Iterator[None]:
    yield
    gc.unfreeze()
    gc.enable()


def test_nothing_is_collected_meanwhile_and_everything_afterwards() -> None:
    with uncollected():
        assert not gc.isenabled()
    assert gc.isenabled()


def test_what_was_imported_is_not_looked_at_again() -> None:
    before = gc.get_freeze_count()
    with uncollected():
        made = [[] for _ in range(1000)]  # type: ignore[var-annotated]
    assert gc.get_freeze_count() >= before + len(made)


def test_a_failed_import_does_not_leave_the_collector_off() -> None:
    with pytest.raises(ImportError), uncollected():
        raise ImportError
    assert gc.isenabled()
