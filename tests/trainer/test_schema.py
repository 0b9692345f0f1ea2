import copy
from typing import Any

import jsonschema
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.support.reports import job_report
from trainer.schema import load_schema, problems

SCHEMA = load_schema()
FULL = job_report()

ODD_VALUES = st.sampled_from(
    [None, True, False, 0, -1, 1, 1.0, 1.5, 101, "", "x", "success", "2026-11-30", [], [1], {}]
)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Every place in a document."""
    items: list[tuple[Any, Any]] = []
    if isinstance(value, dict):
        items = list(value.items())
    elif isinstance(value, list):
        items = list(enumerate(value))
    return [path, *(found for key, item in items for found in places(item, (*path, key)))]


def changed(document: Any, path: tuple[Any, ...], value: Any, *, remove: bool) -> Any:
    """A copy with one place replaced or taken away."""
    if not path:
        return value
    document = copy.deepcopy(document)
    inner = document
    for key in path[:-1]:
        inner = inner[key]
    if remove:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return document


def test_the_schema_is_a_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)


def test_a_full_report_fits() -> None:
    assert problems(FULL, SCHEMA) == []
    jsonschema.validate(FULL, SCHEMA)


@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(path=st.sampled_from(places(FULL)), value=ODD_VALUES, remove=st.booleans())
def test_our_check_agrees_with_jsonschema(path: tuple[Any, ...], value: Any, remove: bool) -> None:
    document = changed(FULL, path, value, remove=remove)
    expected = jsonschema.Draft202012Validator(SCHEMA).is_valid(document)
    assert (problems(document, SCHEMA) == []) is expected


@pytest.mark.parametrize(
    ("path", "value", "problem"),
    [
        (("started_at",), "30 Nov 2026 10:00", "report.started_at is .* does not match"),
        (("status",), "Unknown", r"report.status is 'Unknown', not one of"),
        (("gpu_seconds",), -1, "report.gpu_seconds is -1, below 0"),
        (("ranks", 0, "aws_metadata", "zone"), "", r"ranks\[0\].aws_metadata.zone has 0 char"),
        (("ranks", 0, "gpu_info"), {"devices": []}, r"gpu_info.devices has 0 items"),
        (("error",), "Unable to fetch", "report has 'error', which is not known"),
        (("training_results", "final_loss"), float("nan"), "final_loss is nan, not number"),
    ],
    ids=lambda value: ".".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_rejects_a_wrong_document_naming_the_place(
    path: tuple[Any, ...], value: Any, problem: str
) -> None:
    found = problems(changed(FULL, path, value, remove=False), SCHEMA)
    with pytest.raises(AssertionError, match=problem):
        raise AssertionError("; ".join(found))


def test_rejects_a_schema_that_uses_more_than_it_knows() -> None:
    with pytest.raises(NotImplementedError, match="'uniqueItems'"):
        problems([], {"uniqueItems": True})
