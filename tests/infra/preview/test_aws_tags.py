"""Tags that every AWS service refuses."""

import pytest

from infra.preview.aws_tags import tag_problems


@pytest.mark.parametrize(
    ("tags", "sentence"),
    [
        pytest.param({"aws:x": "y"}, "begins with aws:", id="reserved"),
        pytest.param({"k" * 129: "y"}, "a tag's key has 1 to 128", id="long key"),
        pytest.param({"": "y"}, "a tag's key has 1 to 128", id="empty key"),
        pytest.param({"k": "v" * 257}, "at most 256", id="long value"),
        pytest.param({str(n): "" for n in range(51)}, "at most 50", id="too many"),
    ],
)
def test_rejects(tags: dict[str, str], sentence: str) -> None:
    ((_, why),) = tag_problems({"tags": tags})
    assert sentence in why


def test_tags_at_their_limits_are_fine() -> None:
    assert list(tag_problems({"tags": {"k" * 128: "v" * 256}})) == []
