"""Shows whole gangs to Cluster Autoscaler, so that it buys every node that one lacks."""

from typing import Any, Final

import pulumi
import pulumi_kubernetes as k8s

POLICY_NAME: Final = "gangway-whole-gangs"
HIDING_REASON: Final = "Schedulable"
"""Volcano's reason for a pod that would fit if the rest of its gang did (its api package)."""


def policy_spec(scheduler_account: str) -> dict[str, Any]:
    """Refuse the reason `Schedulable` on pods from the account of Volcano's scheduler.

    The autoscaler counts pods marked `Unschedulable`, and of a bypassed scheduler those without
    any mark. Pods marked `Schedulable` it does not see: it would put the rest of the gang on the
    free nodes that those are meant for, and never buy the missing ones. A refused mark leaves the
    pod as it was; Volcano logs that and goes on.
    """
    hidden = f"condition.type == 'PodScheduled' && condition.reason == '{HIDING_REASON}'"
    return {
        "failurePolicy": "Ignore",
        "matchConditions": [
            {
                "name": "volcano-scheduler",
                "expression": f"request.userInfo.username == '{scheduler_account}'",
            }
        ],
        "matchConstraints": {
            "resourceRules": [
                {
                    "apiGroups": [""],
                    "apiVersions": ["v1"],
                    "operations": ["UPDATE"],
                    "resources": ["pods/status"],
                }
            ]
        },
        "validations": [
            {
                "expression": f"!object.status.conditions.exists(condition, {hidden})",
                "message": f"reason {HIDING_REASON} hides the pod from Cluster Autoscaler",
            }
        ],
    }


def declare(
    name: str, scheduler_account: str, opts: pulumi.ResourceOptions
) -> list[pulumi.Resource]:
    """The policy and its binding; only with both are Volcano's marks refused."""
    policy = k8s.admissionregistration.v1.ValidatingAdmissionPolicy(
        name, metadata={"name": POLICY_NAME}, spec=policy_spec(scheduler_account), opts=opts
    )
    binding = k8s.admissionregistration.v1.ValidatingAdmissionPolicyBinding(
        name,
        metadata={"name": POLICY_NAME},
        spec={"policyName": policy.metadata["name"], "validationActions": ["Deny"]},
        opts=opts,
    )
    return [policy, binding]
