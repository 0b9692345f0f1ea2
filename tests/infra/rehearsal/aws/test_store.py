from pathlib import Path

import pytest

from infra.rehearsal.aws.store import Store


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "aws" / "store.sqlite")


def test_a_record_is_there_for_whoever_opens_the_store_next(store: Store, tmp_path: Path) -> None:
    store.put("addon", "c:coredns", {"version": 1})

    assert Store(tmp_path / "aws" / "store.sqlite").get("addon", "c:coredns") == {"version": 1}


def test_rejects_a_name_that_is_taken_and_keeps_the_first(store: Store) -> None:
    assert store.add("addon", "c:coredns", {"first": True})
    assert not store.add("addon", "c:coredns", {"first": False})
    assert store.get("addon", "c:coredns") == {"first": True}


def test_records_of_a_kind_come_in_the_order_of_their_names(store: Store) -> None:
    for name in ("b", "a"):
        store.put("addon", name, {})
    store.put("node-group", "c", {})

    assert list(store.all("addon")) == ["a", "b"]
    assert store.kinds() == {"addon": 2, "node-group": 1}


def test_what_is_not_there_can_be_removed(store: Store) -> None:
    store.remove("addon", "none")

    assert store.get("addon", "none") is None
