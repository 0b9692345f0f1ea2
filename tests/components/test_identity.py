"""Policy documents and who may assume a role."""

import json

from components import identity


def test_a_policy_document_states_the_language_version() -> None:
    statement = {"Effect": "Allow", "Action": "s3:GetObject", "Resource": "*"}
    assert json.loads(identity.policy_document([statement])) == {
        "Version": "2012-10-17",
        "Statement": [statement],
    }


def test_the_order_of_keys_does_not_change_a_document() -> None:
    one = identity.policy_document([{"Effect": "Allow", "Action": "a:B"}])
    other = identity.policy_document([{"Action": "a:B", "Effect": "Allow"}])
    assert one == other


def test_a_service_is_trusted_to_assume_and_nothing_else() -> None:
    [statement] = json.loads(identity.service_trust("ec2.amazonaws.com"))["Statement"]
    assert statement == {
        "Action": "sts:AssumeRole",
        "Effect": "Allow",
        "Principal": {"Service": "ec2.amazonaws.com"},
    }


def pod_statement() -> dict[str, object]:
    text = identity.pod_identity_trust(
        namespace="training", service_account="trainer", cluster_name="gangway-dev"
    )
    [statement] = json.loads(text)["Statement"]
    return dict(statement)


def test_pod_identity_may_assume_and_tag_the_session() -> None:
    statement = pod_statement()
    assert statement["Effect"] == "Allow"
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert statement["Action"] == ["sts:AssumeRole", "sts:TagSession"]


def test_pod_identity_is_held_to_one_service_account_of_one_cluster() -> None:
    assert pod_statement()["Condition"] == {
        "StringEquals": {
            "aws:RequestTag/eks-cluster-name": "gangway-dev",
            "aws:RequestTag/kubernetes-namespace": "training",
            "aws:RequestTag/kubernetes-service-account": "trainer",
        }
    }
