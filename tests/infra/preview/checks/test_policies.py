"""Policy documents and kubeconfigs."""

import json
from typing import Any

import pytest

from infra.preview.checks import policies
from infra.preview.recording import RecordedResource
from tests.support.recorded import only_sentence, recording, resource

ALLOW = {"Effect": "Allow", "Action": "s3:PutObject", "Resource": "*"}


def role(document: Any) -> RecordedResource:
    text = document if isinstance(document, str) else json.dumps(document)
    return resource("aws:iam/rolePolicy:RolePolicy", "trainer", {"policy": text})


def of(*statements: dict[str, Any]) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": list(statements)}


def test_a_whole_document_is_fine() -> None:
    assert only_sentence(policies.CHECK, "ok", recording(role(of(ALLOW))))


@pytest.mark.parametrize(
    ("document", "sentence"),
    [
        pytest.param("{", "policy is no JSON", id="no JSON"),
        pytest.param({"Statement": []}, 'has no "Version": "2012-10-17"', id="no version"),
        pytest.param(
            {"Version": "2012-10-17", "Statement": {}}, "no list of statements", id="no list"
        ),
        pytest.param(of(ALLOW | {"Effect": "allow"}), "Effect is 'allow'", id="effect"),
        pytest.param(of({"Effect": "Deny"}), "statement 0 names no action", id="no action"),
        pytest.param(of(ALLOW | {"Principal": "*"}), "allows everybody", id="everybody"),
    ],
)
def test_rejects_a_document_that_aws_would_not_take(document: Any, sentence: str) -> None:
    said = only_sentence(policies.CHECK, "refused", recording(role(document)))
    assert said.startswith('aws.iam.RolePolicy "trainer": policy')
    assert sentence in said


@pytest.mark.parametrize(
    ("inputs", "sentence"),
    [
        pytest.param({}, "has no kubeconfig", id="missing"),
        pytest.param({"kubeconfig": "apiVersion: v1"}, "is no JSON", id="no JSON"),
        pytest.param({"kubeconfig": "{}"}, "not of kind Config", id="other kind"),
    ],
)
def test_rejects_a_kubeconfig_that_does_not_parse(inputs: dict[str, Any], sentence: str) -> None:
    provider = resource("pulumi:providers:kubernetes", "cluster", inputs)
    assert sentence in only_sentence(policies.CHECK, "refused", recording(provider))
