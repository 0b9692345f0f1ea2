"""AWS inputs against the API model, the control plane inside pulumi-eks's component included."""

from infra.preview.checks import aws_inputs
from tests.support.recorded import levels_and_sentences, only_sentence, recording, resource

CLUSTER = {
    "authenticationMode": "API",
    "endpointPrivateAccess": True,
    "endpointPublicAccess": False,
    "name": "gangway-dev",
    "privateSubnetIds": ["subnet-1", "subnet-2"],
    "version": "1.35",
}


def test_inputs_that_fit_are_fine() -> None:
    recorded = recording(
        resource("aws:ec2/vpc:Vpc", "v", {"cidrBlock": "10.0.0.0/16"}),
        resource("eks:index:Cluster", "cluster", CLUSTER, custom=False),
    )
    assert only_sentence(aws_inputs.CHECK, "ok", recorded) == aws_inputs.CHECK.claim


def test_rejects_a_value_outside_the_enumeration() -> None:
    recorded = recording(
        resource("aws:kms/key:Key", "cluster", {"keyUsage": "SECRETS"}),
    )
    sentence = only_sentence(aws_inputs.CHECK, "refused", recorded)
    assert 'aws.kms.Key "cluster": keyUsage is' in sentence


def test_rejects_a_control_plane_that_eks_would_not_take() -> None:
    inputs = CLUSTER | {"name": "-gangway"}
    recorded = recording(resource("eks:index:Cluster", "cluster", inputs, custom=False))
    assert 'eks.Cluster "cluster": name' in only_sentence(aws_inputs.CHECK, "refused", recorded)


def test_kubernetes_resources_are_not_asked_about() -> None:
    recorded = recording(resource("kubernetes:core/v1:Namespace", "training", {"nonsense": 1}))
    assert levels_and_sentences(aws_inputs.CHECK, recorded)[0][0] == "ok"


def test_secrets_are_encrypted_in_the_call_when_a_key_is_given() -> None:
    component = resource(
        "eks:index:Cluster", "cluster", CLUSTER | {"encryptionConfigKeyArn": "arn"}, custom=False
    )
    inputs = aws_inputs.control_plane_inputs(component)
    assert inputs["encryptionConfig"] == {"provider": {"keyArn": "arn"}, "resources": ["secrets"]}
