"""Waits end with the first answer or with a sentence at their deadline."""

import pytest

from infra import waiting


def test_the_first_truthy_answer_is_returned() -> None:
    answers = iter([None, "", "ready"])
    found = waiting.wait_until(
        lambda: next(answers), what="an answer", deadline_seconds=5, every_seconds=0.001
    )
    assert found == "ready"


def test_rejects_a_wait_that_outlives_its_deadline_by_name() -> None:
    with pytest.raises(
        waiting.DeadlineExceededError, match=r"the queue to open did not happen within 0\.01 s"
    ):
        waiting.wait_until(
            lambda: None, what="the queue to open", deadline_seconds=0.01, every_seconds=0.001
        )


def test_a_probe_is_asked_once_even_with_no_time_left() -> None:
    assert waiting.wait_until(lambda: 1, what="it", deadline_seconds=0) == 1
