"""Waiting for a condition with a deadline, the one place that sleeps."""

import time
from collections.abc import Callable
from typing import TypeVar

from infra.errors import GangwayError

Answer = TypeVar("Answer")


class DeadlineExceededError(GangwayError):
    """What was waited for did not come in time."""


def wait_until(
    probe: Callable[[], Answer | None],
    *,
    what: str,
    deadline_seconds: float,
    every_seconds: float = 0.2,
) -> Answer:
    """Return the first truthy answer of `probe`, asked every `every_seconds`.

    Raises DeadlineExceededError naming `what` when none came within `deadline_seconds`.
    """
    end = time.monotonic() + deadline_seconds
    while True:
        answer = probe()
        if answer:
            return answer
        if time.monotonic() >= end:
            message = f"{what} did not happen within {deadline_seconds:g} s"
            raise DeadlineExceededError(message)
        time.sleep(every_seconds)
