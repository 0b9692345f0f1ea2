"""What happened to pods, as the API server saw it: the only input of every verdict."""

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, TypeAlias

Micros: TypeAlias = int
"""A moment or a length of time in whole microseconds, so that sums are exact."""

SECOND: Final = 1_000_000


@dataclass(frozen=True, kw_only=True, slots=True)
class PodName:
    """A pod's address; a pod made again under the same name is told apart by `Created`."""

    namespace: str
    name: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Created:
    """A pod was made, a worker of `gang` (empty when its labels name none)."""

    at: Micros
    gang: str
    pod: PodName


@dataclass(frozen=True, kw_only=True, slots=True)
class Bound:
    """A scheduler gave the pod a node; from here on it holds its GPUs."""

    at: Micros
    node: str
    pod: PodName


@dataclass(frozen=True, kw_only=True, slots=True)
class Refused:
    """A scheduler looked at the pod and found no place for it."""

    at: Micros
    message: str
    pod: PodName


@dataclass(frozen=True, kw_only=True, slots=True)
class GangRefused:
    """A gang scheduler looked at the whole gang and left it waiting."""

    at: Micros
    gang: str
    message: str
    namespace: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Started:
    """The pod's containers run."""

    at: Micros
    pod: PodName


@dataclass(frozen=True, kw_only=True, slots=True)
class Ended:
    """The pod's containers ended for good, which frees its GPUs."""

    at: Micros
    pod: PodName
    succeeded: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class Deleted:
    """Somebody deleted the pod; `final` when it was gone at once, without a grace period."""

    at: Micros
    final: bool
    pod: PodName


Event: TypeAlias = Created | Bound | Refused | GangRefused | Started | Ended | Deleted


def namespace_of(event: Event) -> str:
    """The namespace that the event happened in."""
    return event.namespace if isinstance(event, GangRefused) else event.pod.namespace


def to_micros(timestamp: str) -> Micros:
    """Microseconds since the epoch of a Kubernetes timestamp such as `2026-11-30T08:00:00.5Z`.

    Raises ValueError when it is none.
    """
    moment = datetime.fromisoformat(timestamp)
    since_epoch = moment - datetime(1970, 1, 1, tzinfo=UTC)
    return (since_epoch.days * 86_400 + since_epoch.seconds) * SECOND + since_epoch.microseconds


def to_timestamp(moment: Micros) -> str:
    """The moment in UTC with all six digits, as the audit log writes it."""
    seconds, micros = divmod(moment, SECOND)
    whole = datetime.fromtimestamp(seconds, tz=UTC)
    return f"{whole:%Y-%m-%dT%H:%M:%S}.{micros:06d}Z"
