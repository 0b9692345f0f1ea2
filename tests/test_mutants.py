"""The mutants of `make mutants` stay in step with the code that they undo."""

from pathlib import Path

import pytest

from tests.support.mutants import MUTANTS, Mutant, is_current


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.what for mutant in MUTANTS])
def test_what_a_mutant_undoes_stands_exactly_once(mutant: Mutant) -> None:
    assert is_current(mutant)


@pytest.mark.parametrize("mutant", MUTANTS, ids=[mutant.what for mutant in MUTANTS])
def test_the_tests_a_mutant_is_tried_against_exist(mutant: Mutant) -> None:
    assert Path(mutant.tests).is_file()


def test_there_are_at_least_twenty_five_mutants() -> None:
    assert len({(mutant.path, mutant.old) for mutant in MUTANTS}) >= 25
