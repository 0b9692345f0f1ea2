from typing import Any

import pytest

from infra.preview.aws_values import UNKNOWN_TEXT
from infra.rehearsal.aws.differences import differences, inputs_of, replaces, settled_on_input


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        pytest.param({"a": 1}, {"a": 1}, [], id="nothing"),
        pytest.param({}, {"a": 1}, [("a", "add")], id="added"),
        pytest.param({"a": 1}, {}, [("a", "delete")], id="taken away"),
        pytest.param(
            {"a": {"b": 1, "c": 2}}, {"a": {"b": 3, "c": 2}}, [("a.b", "update")], id="in"
        ),
        pytest.param({"a": [1, 2]}, {"a": [1, 3]}, [("a[1]", "update")], id="in a list"),
        pytest.param({"a": [1]}, {"a": [1, 2]}, [("a", "update")], id="a longer list"),
        pytest.param({"a": "x"}, {"a": UNKNOWN_TEXT}, [("a", "update")], id="not known yet"),
        pytest.param({"a": ["x"]}, {"a": [UNKNOWN_TEXT]}, [("a[0]", "update")], id="unknown in"),
        pytest.param({"a": '{"b": 1}'}, {"a": '{"b":1}'}, [], id="the same JSON"),
        pytest.param({"__defaults": []}, {"__defaults": ["name"]}, [], id="the provider's own"),
    ],
)
def test_differences(old: dict[str, Any], new: dict[str, Any], found: list[Any]) -> None:
    assert list(differences(old, new)) == found


@pytest.mark.parametrize(
    ("path", "is_replacing"),
    [
        ("launchTemplate.id", True),
        ("launchTemplate.version", False),
        ("subnetIds[0]", True),
        ("subnetIdsOther", False),
    ],
)
def test_a_path_replaces_with_what_it_lies_in(path: str, is_replacing: bool) -> None:
    assert replaces(path, frozenset({"launchTemplate.id", "subnetIds"})) is is_replacing


def test_another_order_of_a_set_is_not_another_value() -> None:
    assert settled_on_input(["b", "a"], ["a", "b"]) == ["a", "b"]
    assert settled_on_input(["b", "c"], ["a", "b"]) == ["b", "c"]


def test_inputs_hold_nothing_that_aws_filled_in() -> None:
    observed = {"vpcConfig": {"subnetIds": ["s"], "vpcId": "v"}, "arn": "a"}

    assert inputs_of(observed, {"vpcConfig": {"subnetIds": ["r"]}}) == {
        "vpcConfig": {"subnetIds": ["s"]}
    }
