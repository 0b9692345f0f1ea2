"""The facts beside a resource's name."""

import json
from typing import Any

import pytest

from infra.preview.report.facts import facts
from tests.support.recorded import resource

POLICY = json.dumps({"Statement": [{"Action": [f"s3:A{number}" for number in range(5)]}]})
TRUST = json.dumps({"Statement": [{"Principal": {"Service": "ec2.amazonaws.com"}}]})


@pytest.mark.parametrize(
    ("type_token", "inputs", "told"),
    [
        pytest.param("aws:ec2/vpc:Vpc", {"cidrBlock": "10.0.0.0/16"}, ["10.0.0.0/16"], id="text"),
        pytest.param("aws:ec2/vpc:Vpc", {}, [], id="missing"),
        pytest.param(
            "aws:kms/key:Key", {"enableKeyRotation": True}, ["rotation: yes"], id="yes or no"
        ),
        pytest.param(
            "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
            {"policyArn": "arn:aws:iam::aws:policy/AmazonEKS_CNI_Policy"},
            ["AmazonEKS_CNI_Policy"],
            id="end of an arn",
        ),
        pytest.param(
            "kubernetes:scheduling.volcano.sh/v1beta1:Queue",
            {"spec": {"weight": 1, "capability": {"memory": "8Gi", "cpu": "4"}}},
            ["weight 1", "capability cpu 4, memory 8Gi"],
            id="mapping",
        ),
        pytest.param("aws:iam/role:Role", {"assumeRolePolicy": TRUST}, ["for ec2.amazonaws.com"]),
        pytest.param("aws:iam/role:Role", {"assumeRolePolicy": "{"}, [], id="broken trust"),
        pytest.param(
            "aws:iam/rolePolicy:RolePolicy",
            {"policy": POLICY},
            ["s3:A0, s3:A1, s3:A2 and 2 more"],
            id="actions",
        ),
        pytest.param(
            "kubernetes:core/v1:ConfigMap", {"metadata": {"namespace": "training"}}, ["training"]
        ),
    ],
)
def test_facts_come_from_the_inputs(
    type_token: str, inputs: dict[str, Any], told: list[str]
) -> None:
    assert list(facts(resource(type_token, "x", inputs))) == told


def test_options_that_matter_are_told() -> None:
    guarded = resource(
        "aws:ec2/eip:Eip",
        protect=True,
        ignore_changes=("tags",),
        delete_before_replace=True,
    )
    assert facts(guarded) == ("protected", "ignores tags", "deleted before replaced")
