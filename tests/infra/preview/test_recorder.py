"""The recorder: strict, realistic, repeatable, and honest about options and dependencies."""

from collections.abc import Callable

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
import pytest
from pulumi import ResourceOptions

from tests.support.recorder import Recording, RecordingError, inputs_of, names_of, record

CLUSTER = "urn:pulumi:dev::gangway::eks:index:Cluster::cluster"
VPC = "urn:pulumi:dev::gangway::aws:ec2/vpc:Vpc::vpc"


class Group(pulumi.ComponentResource):
    def __init__(self, opts: ResourceOptions | None = None) -> None:
        super().__init__("gangway:components:Group", "group", None, opts)
        self.vpc = aws.ec2.Vpc(
            "vpc", cidr_block="10.0.0.0/16", opts=ResourceOptions(parent=self, protect=True)
        )
        self.register_outputs({"vpcId": self.vpc.id})


def cluster_program() -> None:
    cluster = eks.Cluster("cluster", name="gangway-dev", skip_default_node_group=True)
    provider = kubernetes.Provider("cluster", kubeconfig=cluster.kubeconfig_json)
    nodes = aws.eks.NodeGroup(
        "gpu",
        cluster_name=cluster.eks_cluster.name,
        node_group_name_prefix="gpu-",
        node_role_arn="arn:aws:iam::111122223333:role/node",
        scaling_config={"min_size": 0, "max_size": 4, "desired_size": 0},
        subnet_ids=["subnet-1"],
        opts=ResourceOptions(
            delete_before_replace=False, ignore_changes=["scalingConfig.desiredSize"]
        ),
    )
    aws.autoscaling.Tag(
        "gpu-tag",
        autoscaling_group_name=nodes.resources[0].autoscaling_groups[0].name,
        tag={
            "key": "k8s.io/cluster-autoscaler/enabled",
            "value": "true",
            "propagate_at_launch": False,
        },
    )
    kubernetes.core.v1.Namespace(
        "training",
        metadata={"name": "training"},
        opts=ResourceOptions(provider=provider, depends_on=[nodes]),
    )
    pulumi.export("kubeconfig", cluster.kubeconfig_json)


@pytest.fixture(scope="module")
def cluster() -> Recording:
    return record(cluster_program)


def test_two_recordings_of_one_program_are_equal() -> None:
    assert record(cluster_program) == record(cluster_program)


def test_resources_stand_in_urn_order(cluster: Recording) -> None:
    urns = [resource.urn for resource in cluster]
    assert urns == sorted(urns)
    assert len(urns) == 5


def test_numbers_arrive_as_integers(cluster: Recording) -> None:
    scaling = inputs_of(cluster, "aws:eks/nodeGroup:NodeGroup")["scalingConfig"]
    assert scaling == {"desiredSize": 0, "maxSize": 4, "minSize": 0}
    assert all(isinstance(value, int) for value in scaling.values())


def test_options_are_recorded(cluster: Recording) -> None:
    nodes = cluster.one("aws:eks/nodeGroup:NodeGroup")
    assert nodes.ignore_changes == ("scalingConfig.desiredSize",)
    assert nodes.delete_before_replace is False
    assert nodes.protect is False


def test_an_unset_delete_before_replace_is_none(cluster: Recording) -> None:
    assert cluster.one("kubernetes:core/v1:Namespace").delete_before_replace is None


def test_the_control_plane_is_read_through_a_resource_reference(cluster: Recording) -> None:
    nodes = cluster.one("aws:eks/nodeGroup:NodeGroup")
    assert nodes.inputs["clusterName"] == "gangway-dev"
    assert nodes.property_dependencies["clusterName"] == (CLUSTER,)


def test_the_group_behind_a_node_group_has_a_name(cluster: Recording) -> None:
    name = inputs_of(cluster, "aws:autoscaling/tag:Tag")["autoscalingGroupName"]
    assert name.startswith("eks-gpu-")


def test_explicit_dependencies_are_told_from_those_of_properties(cluster: Recording) -> None:
    namespace = cluster.one("kubernetes:core/v1:Namespace")
    nodes = cluster.one("aws:eks/nodeGroup:NodeGroup")
    assert namespace.explicit_dependencies == (nodes.urn,)
    assert nodes.explicit_dependencies == ()
    assert nodes.depends_on == (CLUSTER,)


def test_the_explicit_provider_is_recorded(cluster: Recording) -> None:
    provider = cluster.one("pulumi:providers:kubernetes")
    assert cluster.one("kubernetes:core/v1:Namespace").provider_urn == provider.urn
    assert cluster.one("aws:eks/nodeGroup:NodeGroup").provider_urn == ""


def test_secrets_are_resolved_and_remembered(cluster: Recording) -> None:
    provider = cluster.one("pulumi:providers:kubernetes")
    assert provider.secret_inputs == ("kubeconfig",)
    assert provider.inputs["kubeconfig"].startswith('{"apiVersion": "v1"')
    assert cluster.secret_exports == ("kubeconfig",)


def test_a_component_holds_its_children() -> None:
    recording = record(Group)
    group = recording.one("gangway:components:Group")
    assert group.component
    assert group.outputs["vpcId"].startswith("vpc-")
    assert names_of(recording.children(group.urn)) == ["vpc"]
    assert recording.children(group.urn)[0].protect is True
    assert recording.one("aws:ec2/vpc:Vpc").urn == (
        "urn:pulumi:dev::gangway::gangway:components:Group$aws:ec2/vpc:Vpc::vpc"
    )


def test_a_dependency_on_a_component_means_what_is_inside() -> None:
    def program() -> None:
        group = Group()
        aws.ec2.Eip("address", opts=ResourceOptions(depends_on=[group]))

    recording = record(program)
    assert recording.one("aws:ec2/eip:Eip").depends_on == (recording.one("aws:ec2/vpc:Vpc").urn,)


def test_configuration_reaches_the_program_and_does_not_stay() -> None:
    seen: list[str | None] = []

    def program() -> None:
        seen.append(pulumi.Config("gangway").get("key"))

    record(program, config={"gangway:key": "value"})
    record(program)
    assert seen == ["value", None]


def test_warnings_of_the_program_are_kept() -> None:
    assert record(lambda: pulumi.log.warn("mind the gap")).messages == ("mind the gap",)


def test_a_false_assertion_inside_apply_comes_out() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16")
        vpc.id.apply(lambda id_: pytest.fail(f"{id_} is wrong"))

    with pytest.raises(pytest.fail.Exception, match="is wrong"):
        record(program)


def test_an_error_leaves_the_next_recording_alone(cluster: Recording) -> None:
    with pytest.raises(ZeroDivisionError):
        record(lambda: pulumi.export("never", 1 // 0))
    assert record(cluster_program) == cluster


REFUSED: list[tuple[str, Callable[[], object], str]] = [
    (
        "unknown type",
        lambda: aws.glue.Trigger("t", actions=[], type="ON_DEMAND"),
        "resource type aws:glue/trigger:Trigger",
    ),
    ("lookup", lambda: aws.ec2.get_vpc(id="vpc-1"), "calls aws:ec2/getVpc:getVpc"),
    ("lookup by output", lambda: aws.ec2.get_vpc_output(id="vpc-1"), "calls aws:ec2/getVpc"),
    ("read", lambda: aws.ec2.Vpc.get("vpc", "vpc-1"), "reads aws:ec2/vpc:Vpc 'vpc-1'"),
    (
        "same name twice",
        lambda: [aws.ec2.Vpc("vpc"), aws.ec2.Vpc("vpc")],
        "'vpc' is declared twice",
    ),
    (
        "custom resource of an unknown group",
        lambda: kubernetes.apiextensions.CustomResource(
            "x", api_version="example.org/v1", kind="Thing"
        ),
        "kubernetes:example.org/v1:Thing",
    ),
    (
        "method of a remote component",
        lambda: eks.Cluster("cluster").get_kubeconfig(profile_name="p"),
        "calls the method eks:index:Cluster/getKubeconfig",
    ),
]


@pytest.mark.parametrize(
    ("program", "sentence"),
    [pytest.param(program, sentence, id=title) for title, program, sentence in REFUSED],
)
def test_rejects_what_it_cannot_answer(program: Callable[[], object], sentence: str) -> None:
    with pytest.raises(RecordingError, match=sentence.replace("(", r"\(")):
        record(lambda: program() and None)


def test_rejects_asking_for_the_only_one_of_many(cluster: Recording) -> None:
    with pytest.raises(RecordingError, match=r"0 resources of type aws:ec2/vpc:Vpc; recorded: non"):
        cluster.one("aws:ec2/vpc:Vpc")


def test_needs_no_aws_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION", "HOME", "KUBECONFIG"):
        monkeypatch.delenv(name, raising=False)
    assert len(record(cluster_program)) == 5
