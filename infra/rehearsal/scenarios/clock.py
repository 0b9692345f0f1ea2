"""One clock for events of several sources: how far another clock is from the API server's.

Every verdict counts in the API server's clock. A moment noted elsewhere (this machine's "now",
a second audit log) is moved onto it first, within bounds that requests seen by both sides give.
"""

from collections.abc import Iterable
from dataclasses import dataclass

from infra.errors import GangwayError
from infra.rehearsal.scenarios.events import SECOND, Micros


class ClocksDisagreeError(GangwayError):
    """No single offset explains what both clocks noted: one of them was set meanwhile."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Exchange:
    """One request: sent and answered by the other clock, received by the server's clock."""

    answered: Micros
    sent: Micros
    served: Micros


@dataclass(frozen=True, kw_only=True, slots=True)
class Offset:
    """Add `micros` to the other clock's moment to get the server's, right within `error`."""

    error: Micros
    micros: Micros

    def apply(self, moment: Micros) -> Micros:
        """The moment on the server's clock."""
        return moment + self.micros


def offset(exchanges: Iterable[Exchange]) -> Offset:
    """The offset that fits every exchange.

    The server received each request after it was sent and before it was answered, so each one
    bounds the offset; all of them together bound it best. Raises ClocksDisagreeError when no
    offset fits all.
    """
    known = list(exchanges)
    if not known:
        return Offset(error=0, micros=0)
    lowest = max(exchange.served - exchange.answered for exchange in known)
    highest = min(exchange.served - exchange.sent for exchange in known)
    if lowest > highest:
        message = (
            f"the clocks moved against each other by {(lowest - highest) / SECOND:.6f} s during "
            "the run: moments of the two cannot be compared, run it again"
        )
        raise ClocksDisagreeError(message)
    return Offset(error=(highest - lowest + 1) // 2, micros=(lowest + highest) // 2)
