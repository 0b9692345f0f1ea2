"""Advice: what the settings themselves warn of reaches the report."""

import pytest

from infra.preview.checks import advice
from tests.support import settings as sample_settings
from tests.support.recorded import only_sentence, recording


@pytest.mark.parametrize(
    ("key", "sentence"),
    [
        ("cluster.adminRoleArns", "only the identity that creates the cluster"),
        ("cluster.previewRoleArns", "list its read-only role"),
        ("cluster.publicAccessCidrs", "answers inside the VPC only"),
    ],
)
def test_warns_of_an_empty_list(key: str, sentence: str) -> None:
    given = sample_settings.settings({key: []})
    said = only_sentence(advice.CHECK, "warning", recording(), given)
    assert said.startswith(f"gangway:{key} is empty")
    assert sentence in said


def test_complete_settings_are_fine() -> None:
    assert only_sentence(advice.CHECK, "ok", recording(), sample_settings.settings())


def test_without_settings_nothing_is_warned_of() -> None:
    assert only_sentence(advice.CHECK, "ok", recording())
