"""Access: an open API server is refused, missing names are warned of."""

from typing import Any

import pytest

from infra.preview.checks import access
from infra.preview.recording import Recording
from tests.support import settings as sample_settings
from tests.support.recorded import only_sentence, recording, resource


def cluster(**inputs: Any) -> Recording:
    return recording(resource("eks:index:Cluster", "cluster", inputs, custom=False))


@pytest.mark.parametrize(
    "inputs",
    [
        pytest.param({}, id="pulumi-eks's default"),
        pytest.param({"endpointPublicAccess": True}, id="no list"),
        pytest.param(
            {"endpointPublicAccess": True, "publicAccessCidrs": ["0.0.0.0/0"]}, id="everywhere"
        ),
    ],
)
def test_rejects_an_endpoint_open_to_the_internet(inputs: dict[str, Any]) -> None:
    said = only_sentence(access.CHECK, "refused", cluster(**inputs))
    assert "the public endpoint is open to 0.0.0.0/0" in said


@pytest.mark.parametrize(
    "inputs",
    [
        {"endpointPublicAccess": False},
        {"endpointPublicAccess": True, "publicAccessCidrs": ["198.18.0.0/24"]},
    ],
)
def test_a_closed_or_listed_endpoint_is_fine(inputs: dict[str, Any]) -> None:
    assert only_sentence(access.CHECK, "ok", cluster(**inputs), sample_settings.settings())


@pytest.mark.parametrize(
    ("key", "value", "other"),
    [
        ("cluster.protect", False, {"results.forceDestroy": False}),
        ("results.forceDestroy", True, {"cluster.protect": True}),
    ],
)
def test_warns_of_a_production_that_an_accident_deletes(
    key: str, value: bool, other: dict[str, bool]
) -> None:
    given = sample_settings.settings({key: value} | other, environment="prod")
    assert f"gangway:{key} is" in only_sentence(access.CHECK, "warning", recording(), given)


def test_development_may_be_deleted() -> None:
    given = sample_settings.settings({"cluster.protect": False, "results.forceDestroy": True})
    assert only_sentence(access.CHECK, "ok", recording(), given)
