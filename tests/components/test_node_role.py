"""The role of every node."""

import json

import pulumi
import pulumi_aws as aws
import pytest

from components.node_role import NodeRole, NodeRoleArgs
from tests.support.recorder import Recording, record

ROLE = "aws:iam/role:Role"
ATTACHMENT = "aws:iam/rolePolicyAttachment:RolePolicyAttachment"


def program() -> None:
    role = NodeRole("nodes", NodeRoleArgs(tags={"team": "ml"}))
    aws.iam.InstanceProfile("user", role=role.arn)
    pulumi.export("arn", role.arn)


@pytest.fixture(scope="module")
def recording() -> Recording:
    return record(program)


def policies(recording: Recording) -> set[str]:
    return {attachment.inputs["policyArn"] for attachment in recording.of_type(ATTACHMENT)}


@pytest.mark.parametrize(
    "policy",
    ["AmazonEC2ContainerRegistryPullOnly", "AmazonEKSWorkerNodePolicy", "AmazonEKS_CNI_Policy"],
)
def test_a_node_may_do_what_eks_asks_of_it(recording: Recording, policy: str) -> None:
    assert f"arn:aws:iam::aws:policy/{policy}" in policies(recording)


def test_a_node_may_do_nothing_else(recording: Recording) -> None:
    assert len(policies(recording)) == 3
    assert recording.of_type("aws:iam/rolePolicy:RolePolicy") == ()


def test_only_ec2_takes_the_role(recording: Recording) -> None:
    [statement] = json.loads(recording.one(ROLE).inputs["assumeRolePolicy"])["Statement"]
    assert statement["Principal"] == {"Service": "ec2.amazonaws.com"}


def test_the_arn_is_known_once_the_policies_are_attached(recording: Recording) -> None:
    user = recording.one("aws:iam/instanceProfile:InstanceProfile")
    attachments = {attachment.urn for attachment in recording.of_type(ATTACHMENT)}
    assert attachments <= set(user.depends_on)


def test_the_arn_is_the_roles(recording: Recording) -> None:
    arn = recording.one(ROLE).outputs["arn"]
    assert recording.exports["arn"] == arn
    assert recording.one("gangway:components:NodeRole").outputs["arn"] == arn


def test_the_role_is_tagged(recording: Recording) -> None:
    assert recording.one(ROLE).inputs["tags"] == {"team": "ml"}


def test_everything_belongs_to_the_component(recording: Recording) -> None:
    component = recording.one("gangway:components:NodeRole")
    assert recording.one(ROLE).parent == component.urn
    assert {attachment.parent for attachment in recording.of_type(ATTACHMENT)} == {component.urn}
