import pytest

from infra.rehearsal.scenarios.events import (
    GangRefused,
    PodName,
    Started,
    namespace_of,
    to_micros,
    to_timestamp,
)


@pytest.mark.parametrize(
    "timestamp",
    ["2026-11-30T08:00:00.123456Z", "1970-01-01T00:00:00.000001Z", "2026-02-28T23:59:59.999999Z"],
)
def test_a_timestamp_keeps_every_microsecond(timestamp):
    assert to_timestamp(to_micros(timestamp)) == timestamp


def test_a_timestamp_without_a_fraction_is_a_whole_second():
    assert to_timestamp(to_micros("2026-11-30T08:00:00Z")) == "2026-11-30T08:00:00.000000Z"


def test_other_zones_are_the_same_moment():
    assert to_micros("2026-11-30T09:00:00+01:00") == to_micros("2026-11-30T08:00:00Z")


@pytest.mark.parametrize("text", ["", "yesterday", "2026-13-01T00:00:00Z"])
def test_rejects_what_is_no_timestamp(text):
    with pytest.raises(ValueError, match=r"isoformat|month"):
        to_micros(text)


def test_every_event_knows_its_namespace():
    pod = PodName(namespace="one", name="a-0")
    assert namespace_of(Started(at=0, pod=pod)) == "one"
    assert namespace_of(GangRefused(at=0, gang="a", message="", namespace="two")) == "two"
