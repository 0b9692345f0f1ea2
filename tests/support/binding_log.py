"""Short lines to events, so that a test shows a recorded run at a glance.

0.0 create a-0      a pod of gang a (the name up to the last dash)
0.2 bind a-0 n1     on node n1
0.3 refuse a-1      the scheduler found no place
5.0 succeed a-0     or: fail a-0, delete a-0 (gone at once), leave a-0 (with a grace period)
"""

from infra.rehearsal.scenarios.events import (
    SECOND,
    Bound,
    Created,
    Deleted,
    Ended,
    Event,
    Micros,
    PodName,
    Refused,
)


def at(seconds: float) -> Micros:
    """The moment so many seconds after the log's start."""
    return round(seconds * SECOND)


def events(log: str, namespace: str = "ns") -> list[Event]:
    """The events of a log in short lines."""
    return [_event(line.split(), namespace) for line in log.splitlines() if line.strip()]


def _event(words: list[str], namespace: str) -> Event:
    moment, verb, name, *rest = words
    pod = PodName(namespace=namespace, name=name)
    when = at(float(moment))
    match verb:
        case "create":
            return Created(at=when, gang=name.rsplit("-", 1)[0], pod=pod)
        case "bind":
            return Bound(at=when, node=rest[0], pod=pod)
        case "refuse":
            return Refused(at=when, message="0/2 nodes are available", pod=pod)
        case "succeed" | "fail":
            return Ended(at=when, pod=pod, succeeded=verb == "succeed")
        case "delete" | "leave":
            return Deleted(at=when, final=verb == "delete", pod=pod)
    raise AssertionError(words)
