"""The whole stack of each environment: what exists, in which order, and what is exported."""

from collections import Counter
from pathlib import Path

import pytest

from infra.preview.recording import RecordedResource, Recording
from stacks import loader
from tests.support.environments import (
    ENVIRONMENTS,
    environment_settings,
    graph,
    recorded,
    recorded_with,
)
from tests.support.settings import settings

ZONES = {"dev": 2, "prod": 3}
NAT_GATEWAYS = {"dev": 1, "prod": 3}


def _expected_types(environment: str) -> dict[str, int]:
    zones, nats = ZONES[environment], NAT_GATEWAYS[environment]
    gpu_tags, system_tags = 11, 4
    return {
        "aws:autoscaling/tag:Tag": gpu_tags * zones + system_tags,
        "aws:cloudwatch/logGroup:LogGroup": 1,
        "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": 1,
        "aws:ec2/eip:Eip": nats,
        "aws:ec2/internetGateway:InternetGateway": 1,
        "aws:ec2/launchTemplate:LaunchTemplate": zones + 1,
        "aws:ec2/natGateway:NatGateway": nats,
        "aws:ec2/route:Route": zones + 1,
        "aws:ec2/routeTable:RouteTable": zones + 1,
        "aws:ec2/routeTableAssociation:RouteTableAssociation": 2 * zones,
        "aws:ec2/subnet:Subnet": 2 * zones,
        "aws:ec2/vpc:Vpc": 1,
        "aws:ec2/vpcEndpoint:VpcEndpoint": 1,
        "aws:eks/addon:Addon": 6,
        "aws:eks/nodeGroup:NodeGroup": zones + 1,
        "aws:eks/podIdentityAssociation:PodIdentityAssociation": 2,
        "aws:iam/role:Role": 3,
        "aws:iam/rolePolicy:RolePolicy": 2,
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment": 3,
        "aws:kms/alias:Alias": 1,
        "aws:kms/key:Key": 1,
        "aws:s3/bucket:Bucket": 1,
        "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": 1,
        "aws:s3/bucketOwnershipControls:BucketOwnershipControls": 1,
        "aws:s3/bucketPolicy:BucketPolicy": 1,
        "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": 1,
        (
            "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration"
        ): 1,
        "aws:s3/bucketVersioning:BucketVersioning": 1,
        "eks:index:Cluster": 1,
        "gangway:components:ClusterAddons": 2,
        "gangway:components:ClusterAutoscaler": 1,
        "gangway:components:EksCluster": 1,
        "gangway:components:Network": 1,
        "gangway:components:NodeGroup": zones + 1,
        "gangway:components:NodeRole": 1,
        "gangway:components:NvidiaDevicePlugin": 1,
        "gangway:components:Queue": 1,
        "gangway:components:ResultsBucket": 1,
        "gangway:components:TrainerIdentity": 1,
        "gangway:components:TrainingJob": 1,
        "gangway:components:Volcano": 1,
        "kubernetes:batch.volcano.sh/v1alpha1:Job": 1,
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicy": 1,
        "kubernetes:admissionregistration.k8s.io/v1:ValidatingAdmissionPolicyBinding": 1,
        "kubernetes:batch/v1:Job": 1,
        "kubernetes:core/v1:ConfigMap": 2,
        "kubernetes:core/v1:Namespace": 3,
        "kubernetes:core/v1:ServiceAccount": 2,
        "kubernetes:helm.sh/v3:Release": 3,
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRole": 2,
        "kubernetes:rbac.authorization.k8s.io/v1:ClusterRoleBinding": 2,
        "kubernetes:rbac.authorization.k8s.io/v1:Role": 1,
        "kubernetes:rbac.authorization.k8s.io/v1:RoleBinding": 1,
        "kubernetes:scheduling.volcano.sh/v1beta1:Queue": 1,
        "pulumi:providers:kubernetes": 2,
    }


@pytest.fixture(params=ENVIRONMENTS)
def environment(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def test_the_environment_consists_of_exactly_these_resources(environment: str) -> None:
    found = Counter(resource.type for resource in recorded(environment))
    assert dict(found) == _expected_types(environment)


def test_nothing_stands_outside_a_component_but_the_way_into_the_cluster(environment: str) -> None:
    outside = {
        resource.type
        for resource in recorded(environment)
        if not resource.parent and not resource.component
    }
    assert outside == {"pulumi:providers:kubernetes"}


def test_dev_has_more_than_sixty_resources() -> None:
    assert len(recorded("dev")) >= 60


def _find(recording: Recording, wanted: str) -> list[RecordedResource]:
    """Resources by `type` or `type name`, the type by its last part."""
    kind, _, name = wanted.partition(" ")
    found = [
        resource
        for resource in recording
        if resource.type.rpartition(":")[2] == kind and name in ("", resource.name)
    ]
    assert found, f"nothing recorded as {wanted}"
    return found


ORDER = [
    # later, earlier, why
    ("Cluster", "Vpc", "the control plane lies in the network"),
    ("Cluster", "LogGroup", "EKS would make the log group itself, kept for ever"),
    ("Addon node-addons-vpc-cni", "Cluster", "add-ons are the cluster's"),
    ("NodeGroup system", "Addon node-addons-vpc-cni", "without the CNI no node becomes ready"),
    ("NodeGroup system", "Addon node-addons-kube-proxy", "pods need service addresses"),
    (
        "NodeGroup system",
        "Addon node-addons-eks-pod-identity-agent",
        "the first pod may ask for credentials",
    ),
    ("NodeGroup gpu-use1-az4", "Addon node-addons-vpc-cni", "GPU nodes need the CNI too"),
    ("NodeGroup system", "RolePolicyAttachment", "a node without its policies cannot join"),
    ("NodeGroup system", "Route", "a node without a way out cannot pull images"),
    ("Addon cluster-addons-coredns", "NodeGroup system", "CoreDNS waits 20 minutes for a node"),
    ("Addon cluster-addons-metrics-server", "NodeGroup system", "its pods need a node"),
    ("Release volcano", "NodeGroup system", "the init hook's pod needs an untainted node"),
    ("Release volcano", "Addon cluster-addons-coredns", "webhooks are found by name"),
    ("Release device-plugin", "Addon cluster-addons-coredns", "decision: after DNS"),
    ("Release autoscaler", "PodIdentityAssociation autoscaler", "pods get it when created"),
    ("Release autoscaler", "NodeGroup gpu-use1-az4", "at the end it must not scale them up"),
    ("Job volcano-readiness", "Release volcano", "the gate proves the release's webhooks"),
    ("Queue ml-queue", "Job volcano-readiness", "webhooks refuse until they answer"),
    ("Job training", "Queue ml-queue", "jobs are admitted to open queues only"),
    (
        "Job training",
        "ValidatingAdmissionPolicyBinding volcano",
        "the autoscaler sees a gang whole from its first pod on",
    ),
    ("Job training", "Job volcano-readiness", "the job passes the webhooks too"),
    ("Job training", "PodIdentityAssociation trainer", "pods get credentials when created"),
    ("Job training", "RolePolicy trainer", "the first upload must be allowed"),
    ("Job training", "Release device-plugin", "without it no GPU is offered"),
    ("Job training", "NodeGroup gpu-use1-az4", "at the end the job frees its GPUs first"),
    ("Job training", "Release autoscaler", "at the end nothing scales up for a dying job"),
    ("Job training", "BucketPolicy results", "no result travels before the bucket is closed"),
    ("Job training", "ConfigMap training-trainer", "the pods mount it"),
    ("Job training", "ServiceAccount training", "the pods run as it"),
    ("Namespace training", "NodeGroup gpu-use1-az4", "at the end pods go before their nodes"),
    ("Namespace training", "Addon cluster-addons-coredns", "its pods find each other by name"),
]


@pytest.mark.parametrize(
    ("later", "earlier"),
    [(later, earlier) for later, earlier, _ in ORDER],
    ids=[f"{later} after {earlier}" for later, earlier, _ in ORDER],
)
def test_is_created_after_and_destroyed_before(environment: str, later: str, earlier: str) -> None:
    recording, order = recorded(environment), graph(environment)
    for after in _find(recording, later):
        missing = [
            before.name
            for before in _find(recording, earlier)
            if not order.waits_for(after.urn, before.urn)
        ]
        assert missing == []


PARALLEL = [
    ("NodeGroup gpu-use1-az4", "NodeGroup system"),
    ("Release device-plugin", "Release volcano"),
    ("Bucket", "Cluster"),
    ("Namespace training", "Release volcano"),
    ("Key", "Vpc"),
]


@pytest.mark.parametrize(("one", "other"), PARALLEL, ids=[f"{a} beside {b}" for a, b in PARALLEL])
def test_is_created_side_by_side(one: str, other: str) -> None:
    (left,), (right,) = _find(recorded("dev"), one)[:1], _find(recorded("dev"), other)[:1]
    order = graph("dev")
    assert not order.waits_for(left.urn, right.urn)
    assert not order.waits_for(right.urn, left.urn)


JOB = "kubernetes:batch.volcano.sh/v1alpha1:Job"


def _provider(recording: Recording, name: str) -> RecordedResource:
    return recording.one("pulumi:providers:kubernetes", name)


def test_every_kubernetes_resource_goes_through_the_clusters_own_provider(environment: str) -> None:
    recording = recorded(environment)
    provider = _provider(recording, "kubernetes").urn
    astray = {
        resource.type
        for resource in recording
        if resource.package == "kubernetes" and resource.provider_urn != provider
    }
    assert astray == {JOB}


def test_the_training_job_is_applied_on_the_clients_side(environment: str) -> None:
    # Else the preview of another run is a dry run over the live Job, which Volcano refuses.
    recording = recorded(environment)
    provider = _provider(recording, "kubernetes-job")
    assert recording.one(JOB).provider_urn == provider.urn
    assert provider.inputs["enableServerSideApply"] == "false"


def test_the_stack_file_turns_the_default_kubernetes_provider_off(environment: str) -> None:
    raw = loader.load_stack_file(Path(f"Pulumi.{environment}.yaml"))
    assert raw["pulumi:disable-default-providers"] == ["kubernetes"]


@pytest.mark.parametrize("name", ["kubernetes", "kubernetes-job"])
def test_a_provider_takes_the_kubeconfig_of_the_cluster_as_a_secret(
    environment: str, name: str
) -> None:
    provider = _provider(recorded(environment), name)
    assert "kubeconfig" in provider.secret_inputs
    assert "eks" in provider.inputs["kubeconfig"]


def test_the_stack_exports_what_a_user_needs_next(environment: str) -> None:
    exports = recorded(environment).exports
    assert set(exports) == {
        "clusterName",
        "jobName",
        "kubeconfig",
        "kubeconfigCommand",
        "queueName",
        "resultsBucket",
        "resultsCommand",
        "statusCommand",
    }
    assert exports["kubeconfigCommand"] == (
        f"aws eks update-kubeconfig --region us-east-1 --name gangway-{environment}"
    )
    assert exports["statusCommand"] == "kubectl get vcjob,podgroup,pod --namespace training"
    assert exports["resultsCommand"] == f"gangway results --bucket {exports['resultsBucket']}"


def test_the_kubeconfig_is_exported_as_a_secret(environment: str) -> None:
    assert "kubeconfig" in recorded(environment).secret_exports


def test_production_is_protected_and_development_is_not() -> None:
    protected = {
        name: {resource.type for resource in recorded(name) if resource.protect}
        for name in ENVIRONMENTS
    }
    assert protected["dev"] == set()
    assert {"eks:index:Cluster", "aws:kms/key:Key"} <= protected["prod"]


def test_without_autoscaling_there_is_no_autoscaler() -> None:
    recording = recorded_with(
        settings({"autoscaling.enabled": False, "gpuNodes.minSizePerZone": 2})
    )
    assert recording.of_type("gangway:components:ClusterAutoscaler") == ()


def test_an_existing_vpc_is_used_and_none_is_made() -> None:
    recording = recorded_with(
        settings(
            {
                "network.existingVpc": {
                    "vpcId": "vpc-0aaa",
                    "privateSubnetIds": {"use1-az4": "subnet-0a", "use1-az6": "subnet-0b"},
                }
            }
        )
    )
    assert recording.of_type("aws:ec2/vpc:Vpc") == ()
    cluster = recording.one("eks:index:Cluster")
    assert cluster.inputs["vpcId"] == "vpc-0aaa"
    assert cluster.inputs["privateSubnetIds"] == ["subnet-0a", "subnet-0b"]


def test_a_child_queue_is_created_after_its_parent_whatever_their_order() -> None:
    recording = recorded_with(
        settings(
            {
                "autoscaling.enabled": False,
                "gpuNodes.minSizePerZone": 4,
                "queues": [{"name": "ml-queue", "parent": "team"}, {"name": "team"}],
            }
        )
    )
    child = recording.one("kubernetes:scheduling.volcano.sh/v1beta1:Queue", "ml-queue")
    parent = recording.one("kubernetes:scheduling.volcano.sh/v1beta1:Queue", "team")
    assert child.inputs["spec"]["parent"] == "team"
    assert parent.urn in child.depends_on


def test_recording_twice_gives_the_same(environment: str) -> None:
    assert recorded_with(environment_settings(environment)) == recorded(environment)
