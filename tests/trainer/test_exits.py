import pytest

from trainer import exits


def test_every_cause_has_its_own_code() -> None:
    errors = exits.TrainerError.__subclasses__()
    codes = [error.exit_code for error in errors]
    assert len(codes) == len(set(codes))
    assert exits.ExitCode.OK not in codes


@pytest.mark.parametrize("code", list(exits.ExitCode)[1:], ids=str)
def test_codes_are_none_that_shells_or_kubernetes_use_for_something_else(
    code: exits.ExitCode,
) -> None:
    assert code == 128 + 15 or 64 <= code <= 78
