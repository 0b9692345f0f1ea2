"""The trainer's role: one service account, one prefix, nothing to delete."""

import json
from typing import Any

import pulumi_kubernetes as k8s
import pytest

from components.trainer_identity import TrainerIdentity, TrainerIdentityArgs, role_policy
from tests.support.recorder import Recording, record

ARN = "arn:aws:s3:::results-1"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"


def args(**changes: Any) -> TrainerIdentityArgs:
    values: dict[str, Any] = {
        "bucket_arn": ARN,
        "cluster_name": "gangway-dev",
        "namespace": "training",
        "prefix": "logs/",
        "service_account": "trainer",
    }
    return TrainerIdentityArgs(**values | changes)


@pytest.fixture(scope="module")
def recording() -> Recording:
    def program() -> None:
        identity = TrainerIdentity("trainer", args(tags={"team": "ml"}))
        k8s.core.v1.ConfigMap("reader", data={"role": identity.role_arn})

    return record(program)


def statements() -> dict[str, dict[str, Any]]:
    return {item["Sid"]: item for item in json.loads(role_policy(ARN, "logs/"))["Statement"]}


def test_results_are_written_below_the_prefix_only() -> None:
    assert statements()["WriteResults"]["Action"] == ["s3:AbortMultipartUpload", "s3:PutObject"]
    assert statements()["WriteResults"]["Resource"] == f"{ARN}/logs/*"


def test_only_checkpoints_are_read_back() -> None:
    assert statements()["ReadCheckpoints"]["Action"] == "s3:GetObject"
    assert statements()["ReadCheckpoints"]["Resource"] == f"{ARN}/logs/checkpoints/*"


def test_only_checkpoints_are_listed() -> None:
    listing = statements()["FindCheckpoints"]
    assert (listing["Action"], listing["Resource"]) == ("s3:ListBucket", ARN)
    assert listing["Condition"] == {"StringLike": {"s3:prefix": "logs/checkpoints/*"}}


def test_nothing_else_is_allowed() -> None:
    assert set(statements()) == {"WriteResults", "ReadCheckpoints", "FindCheckpoints"}


def test_role_trusts_pods_of_one_account_of_one_cluster(recording: Recording) -> None:
    role = recording.one("aws:iam/role:Role").inputs
    trust = json.loads(role["assumeRolePolicy"])["Statement"][0]
    assert trust["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert trust["Action"] == ["sts:AssumeRole", "sts:TagSession"]
    assert trust["Condition"]["StringEquals"] == {
        "aws:RequestTag/eks-cluster-name": "gangway-dev",
        "aws:RequestTag/kubernetes-namespace": "training",
        "aws:RequestTag/kubernetes-service-account": "trainer",
    }


def test_policy_is_the_roles(recording: Recording) -> None:
    policy = recording.one("aws:iam/rolePolicy:RolePolicy").inputs
    assert policy["policy"] == role_policy(ARN, "logs/")
    assert policy["role"] == recording.one("aws:iam/role:Role").outputs["name"]


def test_association_joins_role_and_account(recording: Recording) -> None:
    assert recording.one(ASSOCIATION).inputs == {
        "clusterName": "gangway-dev",
        "namespace": "training",
        "roleArn": recording.one("aws:iam/role:Role").outputs["arn"],
        "serviceAccount": "trainer",
        "tags": {"team": "ml"},
    }


def test_association_waits_for_the_policy(recording: Recording) -> None:
    policy = recording.one("aws:iam/rolePolicy:RolePolicy")
    assert policy.urn in recording.one(ASSOCIATION).depends_on


def test_who_takes_the_role_waits_for_the_association(recording: Recording) -> None:
    reader = recording.one("kubernetes:core/v1:ConfigMap")
    assert recording.one(ASSOCIATION).urn in reader.depends_on


@pytest.mark.parametrize("prefix", ["", "logs", "/", "*/"])
def test_rejects_a_prefix_that_opens_more_than_a_folder(prefix: str) -> None:
    with pytest.raises(ValueError, match="allowed: a folder that ends with /"):
        args(prefix=prefix)
