"""A small program in the shape of the real one, for tests of the preview itself.

Its values are chosen for the tests: change them and figures in the tests change with them.
"""

import json
from typing import Any

import pulumi
import pulumi_aws as aws
import pulumi_eks as eks
import pulumi_kubernetes as kubernetes
from pulumi import ResourceOptions

REGISTRY_IMAGE = "public.ecr.aws/deep-learning-containers/pytorch:2.12-cu130-amzn2023"
VOLCANO = "scheduling.volcano.sh/v1beta1"


class Part(pulumi.ComponentResource):
    """A component as the real ones are, without arguments of its own."""

    def __init__(self, kind: str, name: str, opts: ResourceOptions | None = None) -> None:
        super().__init__(f"gangway:components:{kind}", name, None, opts)

    def inside(self, **options: Any) -> ResourceOptions:
        """Options of a child."""
        return ResourceOptions(parent=self, **options)


def network() -> tuple[aws.ec2.Vpc, list[aws.ec2.Subnet], Part]:
    part = Part("Network", "network")
    vpc = aws.ec2.Vpc("network", cidr_block="10.20.0.0/16", opts=part.inside())
    subnets = [
        aws.ec2.Subnet(
            f"network-private-{zone}",
            availability_zone_id=zone,
            cidr_block=f"10.20.{index * 16}.0/20",
            vpc_id=vpc.id,
            opts=part.inside(),
        )
        for index, zone in enumerate(("use1-az4", "use1-az6"))
    ]
    address = aws.ec2.Eip("network-nat", domain="vpc", opts=part.inside())
    aws.ec2.NatGateway(
        "network-nat", allocation_id=address.id, subnet_id=subnets[0].id, opts=part.inside()
    )
    aws.ec2.VpcEndpoint(
        "network-sts",
        service_name="com.amazonaws.us-east-1.sts",
        subnet_ids=[subnet.id for subnet in subnets],
        vpc_endpoint_type="Interface",
        vpc_id=vpc.id,
        opts=part.inside(),
    )
    part.register_outputs({})
    return vpc, subnets, part


def control_plane(vpc: aws.ec2.Vpc, subnets: list[aws.ec2.Subnet], after: Part) -> eks.Cluster:
    part = Part("EksCluster", "cluster", ResourceOptions(depends_on=[after]))
    key = aws.kms.Key("cluster", enable_key_rotation=True, opts=part.inside())
    logs = aws.cloudwatch.LogGroup(
        "cluster", name="/aws/eks/gangway-dev/cluster", opts=part.inside()
    )
    cluster = eks.Cluster(
        "cluster",
        authentication_mode=eks.AuthenticationMode.API,
        encryption_config_key_arn=key.arn,
        endpoint_private_access=True,
        endpoint_public_access=False,
        name="gangway-dev",
        private_subnet_ids=[subnet.id for subnet in subnets],
        skip_default_node_group=True,
        version="1.35",
        vpc_id=vpc.id,
        opts=part.inside(depends_on=[logs]),
    )
    part.register_outputs({})
    return cluster


def nodes(
    name: str, cluster: eks.Cluster, subnets: list[aws.ec2.Subnet], **given: Any
) -> tuple[aws.eks.NodeGroup, Part]:
    part = Part("NodeGroup", name)
    role = aws.iam.Role(
        name,
        assume_role_policy=json.dumps({"Version": "2012-10-17", "Statement": []}),
        opts=part.inside(),
    )
    template = aws.ec2.LaunchTemplate(
        name,
        block_device_mappings=[
            {
                "device_name": "/dev/xvda",
                "ebs": {
                    "encrypted": "true",
                    "volume_size": given.pop("disk"),
                    "volume_type": "gp3",
                },
            }
        ],
        opts=part.inside(),
    )
    group = aws.eks.NodeGroup(
        name,
        cluster_name=cluster.eks_cluster.name,
        launch_template={"id": template.id, "version": template.latest_version.apply(str)},
        node_group_name_prefix=f"{name}-",
        node_role_arn=role.arn,
        subnet_ids=[subnet.id for subnet in subnets],
        **given,
        opts=part.inside(ignore_changes=["scalingConfig.desiredSize"]),
    )
    aws.autoscaling.Tag(
        name,
        autoscaling_group_name=group.resources[0].autoscaling_groups[0].name,
        tag={
            "key": "k8s.io/cluster-autoscaler/enabled",
            "value": "true",
            "propagate_at_launch": False,
        },
        opts=part.inside(),
    )
    part.register_outputs({})
    return group, part


def workloads(provider: kubernetes.Provider, after: list[pulumi.Resource]) -> None:
    part = Part("Volcano", "volcano", ResourceOptions(providers=[provider]))
    release = kubernetes.helm.v3.Release(
        "volcano",
        chart="volcano",
        create_namespace=True,
        name="volcano",
        namespace="volcano-system",
        repository_opts={"repo": "https://volcano-sh.github.io/helm-charts"},
        values={"basic": {"image_registry": "docker.io", "image_pull_policy": "IfNotPresent"}},
        version="1.15.0",
        opts=part.inside(depends_on=after),
    )
    part.register_outputs({})
    part = Part("Queue", "ml-queue", ResourceOptions(providers=[provider]))
    queue = kubernetes.apiextensions.CustomResource(
        "ml-queue",
        api_version=VOLCANO,
        kind="Queue",
        metadata={"name": "ml-queue"},
        spec={"capability": {"cpu": "30", "memory": "120Gi", "nvidia.com/gpu": "8"}, "weight": 1},
        opts=part.inside(depends_on=[release]),
    )
    part.register_outputs({})
    training(provider, queue)


def training(provider: kubernetes.Provider, queue: pulumi.CustomResource) -> None:
    part = Part("TrainingJob", "gang-train", ResourceOptions(providers=[provider]))
    namespace = kubernetes.core.v1.Namespace(
        "training", metadata={"name": "training"}, opts=part.inside()
    )
    container = {
        "image": REGISTRY_IMAGE,
        "name": "trainer",
        "resources": {"limits": {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": "1"}},
    }
    pod = {"containers": [container], "restartPolicy": "Never"}
    kubernetes.apiextensions.CustomResource(
        "gang-train",
        api_version="batch.volcano.sh/v1alpha1",
        kind="Job",
        metadata={"name": "gang-train", "namespace": "training"},
        spec={
            "minAvailable": 2,
            "queue": queue.metadata["name"],
            "schedulerName": "volcano",
            "tasks": [{"name": "worker", "replicas": 2, "template": {"spec": pod}}],
        },
        opts=part.inside(
            delete_before_replace=True, depends_on=[namespace, queue], replace_on_changes=["spec"]
        ),
    )
    part.register_outputs({})


def sample() -> None:
    """Network, control plane, system and GPU nodes, Volcano, queue, job, bucket."""
    vpc, subnets, part = network()
    cluster = control_plane(vpc, subnets, part)
    provider = kubernetes.Provider("cluster", kubeconfig=cluster.kubeconfig_json)
    system, _ = nodes(
        "system",
        cluster,
        subnets,
        capacity_type="ON_DEMAND",
        disk=50,
        instance_types=["t3.medium"],
        scaling_config={"desired_size": 2, "max_size": 3, "min_size": 2},
    )
    gpu = [
        nodes(
            f"gpu-{zone}",
            cluster,
            [subnet],
            capacity_type="SPOT",
            disk=100,
            instance_types=["g4dn.xlarge", "g4dn.2xlarge"],
            scaling_config={"desired_size": 0, "max_size": 4, "min_size": 0},
        )
        for zone, subnet in zip(("use1-az4", "use1-az6"), subnets, strict=True)
    ]
    bucket = aws.s3.Bucket("results", force_destroy=True)
    aws.s3.BucketPolicy(
        "results",
        bucket=bucket.id,
        policy=bucket.arn.apply(
            lambda arn: json.dumps(
                {
                    "Version": "2012-10-17",
                    "Statement": [
                        {
                            "Action": "s3:*",
                            "Condition": {"Bool": {"aws:SecureTransport": "false"}},
                            "Effect": "Deny",
                            "Principal": "*",
                            "Resource": [arn, f"{arn}/*"],
                        }
                    ],
                }
            )
        ),
    )
    workloads(provider, [system, *(group for group, _ in gpu)])
    pulumi.export("clusterName", cluster.eks_cluster.name)
    pulumi.export("kubeconfig", cluster.kubeconfig_json)
