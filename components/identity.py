"""IAM policy documents as text, and who may assume a role through EKS Pod Identity."""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final

POLICY_VERSION: Final = "2012-10-17"
"""The policy language; without it variables and newer conditions are read as plain text."""

Statement = Mapping[str, Any]


def policy_document(statements: Sequence[Statement]) -> str:
    """A policy with these statements, always in the same order of keys."""
    return json.dumps({"Version": POLICY_VERSION, "Statement": list(statements)}, sort_keys=True)


def service_trust(service: str) -> str:
    """Let an AWS service assume the role, for example `ec2.amazonaws.com`."""
    return policy_document(
        [{"Effect": "Allow", "Principal": {"Service": service}, "Action": "sts:AssumeRole"}]
    )


def pod_identity_trust(*, namespace: str, service_account: str, cluster_name: str) -> str:
    """Let the pods of one service account of one cluster assume the role.

    EKS adds these request tags itself (EKS user guide, pod identity session tags), so an
    association for another service account gets nothing from this role.
    """
    tags = {
        "aws:RequestTag/eks-cluster-name": cluster_name,
        "aws:RequestTag/kubernetes-namespace": namespace,
        "aws:RequestTag/kubernetes-service-account": service_account,
    }
    statement = {
        "Effect": "Allow",
        "Principal": {"Service": "pods.eks.amazonaws.com"},
        "Action": ["sts:AssumeRole", "sts:TagSession"],
        "Condition": {"StringEquals": tags},
    }
    return policy_document([statement])
