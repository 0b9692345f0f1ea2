"""The policy by which the autoscaler sees whole gangs."""

import pulumi
import pytest

from components import whole_gangs
from tests.support.recorder import Recording, record

ACCOUNT = "system:serviceaccount:volcano-system:volcano-scheduler"
POLICY = "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy"
SPEC = whole_gangs.policy_spec(ACCOUNT)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record(
        lambda: whole_gangs.declare("gangs", ACCOUNT, pulumi.ResourceOptions())  # type: ignore[arg-type, return-value]
    )


def test_only_volcanos_scheduler_is_held_to_it() -> None:
    (condition,) = SPEC["matchConditions"]
    assert condition["expression"] == f"request.userInfo.username == '{ACCOUNT}'"


def test_only_marks_on_pods_are_looked_at() -> None:
    (rule,) = SPEC["matchConstraints"]["resourceRules"]
    assert (rule["resources"], rule["operations"]) == (["pods/status"], ["UPDATE"])


def test_the_mark_that_hides_a_pod_is_refused() -> None:
    (validation,) = SPEC["validations"]
    assert "condition.type == 'PodScheduled'" in validation["expression"]
    assert "condition.reason == 'Schedulable'" in validation["expression"]
    assert validation["expression"].startswith("!")


def test_an_expression_that_fails_holds_nobody_up() -> None:
    assert SPEC["failurePolicy"] == "Ignore"


def test_the_binding_denies(recording: Recording) -> None:
    assert recording.one(f"{POLICY}Binding").inputs["spec"] == {
        "policyName": "gangway-whole-gangs",
        "validationActions": ["Deny"],
    }
    assert recording.one(POLICY).urn in recording.one(f"{POLICY}Binding").depends_on
