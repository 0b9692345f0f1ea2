"""Ways through recorded data."""

import pytest

from infra.preview.checks import walk
from tests.support.recorded import recording, resource


@pytest.mark.parametrize(
    ("token", "name"),
    [
        ("aws:eks/nodeGroup:NodeGroup", "aws.eks.NodeGroup"),
        ("gangway:components:Network", "Network"),
        ("kubernetes:batch.volcano.sh/v1alpha1:Job", "Job"),
        ("pulumi:providers:kubernetes", "provider.kubernetes"),
        ("eks:index:Cluster", "eks.Cluster"),
    ],
)
def test_a_type_is_named_shortly(token: str, name: str) -> None:
    assert walk.short_type(token) == name


def test_strings_are_found_with_their_paths_in_sorted_order() -> None:
    data = {"b": ["x", {"c": "y"}], "a": "z", "n": 1}
    assert list(walk.strings(data)) == [("a", "z"), ("b[0]", "x"), ("b[1].c", "y")]


def test_a_release_is_no_manifest() -> None:
    recorded = recording(
        resource("kubernetes:core/v1:Namespace"), resource("kubernetes:helm.sh/v3:Release")
    )
    assert [item.type for item in walk.manifests(recorded)] == ["kubernetes:core/v1:Namespace"]


def test_a_long_text_is_cut_to_one_line() -> None:
    assert walk.one_line("a\n  b") == "a b"
    assert walk.one_line("x" * 200, limit=10) == "x" * 9 + "…"
