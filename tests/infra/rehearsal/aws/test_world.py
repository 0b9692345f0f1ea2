from collections.abc import Iterator
from typing import Any

import pytest
from botocore.exceptions import ClientError

from infra.errors import GangwayError
from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.refusals import NotReadyError
from infra.rehearsal.aws.world import Instance, Taint, World
from infra.rehearsal.state import StateFolder
from tests.infra.rehearsal.aws.conftest import Engine, Made, trust
from tests.infra.rehearsal.aws.test_refusals import node_group

GPU: dict[str, Any] = {
    "amiType": "AL2023_x86_64_NVIDIA",
    "capacityType": "SPOT",
    "instanceTypes": ["g4dn.xlarge", "g4dn.2xlarge"],
    "labels": {"nvidia.com/gpu.present": "true"},
    "taints": [{"key": "nvidia.com/gpu", "value": "present", "effect": "NO_SCHEDULE"}],
    "nodeGroupNamePrefix": "gpu-",
}


class FakeApi:
    """A control plane where every instance becomes a node, or none does."""

    def __init__(self, world: World, *, joins: bool = True, available: int = 0) -> None:
        self.world, self.joins, self.available = world, joins, available
        self.applied: list[Any] = []
        self.deleted: list[str] = []

    def items(self, path: str) -> list[Any]:
        assert path == "/api/v1/nodes"
        ready = {"conditions": [{"type": "Ready", "status": "True"}]}
        found = self.world.instances() if self.joins else ()
        return [{"spec": {"providerID": one.provider_id}, "status": ready} for one in found]

    def apply(self, collection: str, manifest: Any, *, manager: str) -> None:
        assert manager == "eks"
        self.applied.append(manifest)

    def delete(self, path: str) -> None:
        self.deleted.append(path)

    def find(self, path: str) -> Any:
        return {"spec": {"replicas": 2}, "status": {"availableReplicas": self.available}}


def use(monkeypatch: pytest.MonkeyPatch, api: FakeApi) -> FakeApi:
    monkeypatch.setattr(Account, "kubernetes", api)
    return api


@pytest.fixture
def world(aws: Engine) -> World:
    return World.open(aws.folder)


def of(world: World, group: Made) -> tuple[Instance, ...]:
    return tuple(one for one in world.instances() if one.node_group == group["nodeGroupName"])


def group_name(group: Made) -> str:
    name: str = group["resources"][0]["autoscalingGroups"][0]["name"]
    return name


def test_a_node_groups_instances_are_what_its_group_holds(
    aws: Engine, world: World, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    group = node_group(aws, cluster, node_role, network, **GPU)
    scaling = aws.account.client("autoscaling")

    assert of(world, group) == ()

    scaling.set_desired_capacity(AutoScalingGroupName=group_name(group), DesiredCapacity=2)
    instances = of(world, group)
    assert len(instances) == 2

    one = instances[0]
    assert one.type == "g4dn.xlarge"
    assert (one.zone, one.zone_id, one.region) == ("us-east-1d", "use1-az4", "us-east-1")
    assert (one.cluster, one.capacity_type) == (cluster.id, "SPOT")
    assert one.labels == {"nvidia.com/gpu.present": "true"}
    assert one.taints == (Taint(key="nvidia.com/gpu", value="present", effect="NoSchedule"),)
    assert one.provider_id == f"aws:///us-east-1d/{one.id}"

    scaling.terminate_instance_in_auto_scaling_group(
        InstanceId=one.id, ShouldDecrementDesiredCapacity=True
    )
    assert [left.id for left in of(world, group)] == [instances[1].id]


def test_a_reclaimed_spot_instance_is_followed_by_another(
    aws: Engine, world: World, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    sizes = {"minSize": 0, "maxSize": 4, "desiredSize": 2}
    group = node_group(aws, cluster, node_role, network, **GPU, scalingConfig=sizes)
    first, second = of(world, group)

    world.interrupt(first.id)

    left = {one.id for one in of(world, group)}
    assert first.id not in left
    assert second.id in left
    assert len(left) == 2


def test_instances_whose_role_lacks_the_worker_policy_never_join(
    aws: Engine, world: World, cluster: Made, network: dict[str, Made]
) -> None:
    role = aws.create("aws:iam/role:Role", "bare", assumeRolePolicy=trust("ec2.amazonaws.com"))
    sizes = {"minSize": 1, "maxSize": 1, "desiredSize": 1}

    group = node_group(aws, cluster, role, network, scalingConfig=sizes)

    assert of(world, group) == ()


def test_a_refresh_sees_the_size_that_the_autoscaler_set(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    group = node_group(aws, cluster, node_role, network, **GPU)
    aws.account.client("autoscaling").set_desired_capacity(
        AutoScalingGroupName=group_name(group), DesiredCapacity=3
    )

    assert group.refreshed().inputs["scalingConfig"]["desiredSize"] == 3


def test_a_node_group_shows_no_change_after_a_refresh(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    group = node_group(aws, cluster, node_role, network, **GPU, tags={"Name": "gpu"})

    fresh = group.refreshed()

    assert fresh.state == group.state
    assert not fresh.diff(**group.inputs).changes


def test_a_node_group_goes_with_its_instances(
    aws: Engine, world: World, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    sizes = {"minSize": 1, "maxSize": 2, "desiredSize": 2}
    group = node_group(aws, cluster, node_role, network, scalingConfig=sizes)

    group.delete()

    assert group.read() is None
    assert of(world, group) == ()
    cluster.delete()
    network["a"].delete()


def test_what_replaces_a_node_group(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    group = node_group(aws, cluster, node_role, network, **GPU)

    assert group.diff(instanceTypes=["g4dn.2xlarge"]).replaces == ["instanceTypes"]
    assert group.diff(labels={"a": "b"}).replaces == []
    assert not group.diff(instanceTypes=["g4dn.2xlarge"]).delete_before_replace


def test_the_group_carries_the_tags_that_eks_sets(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    group = node_group(aws, cluster, node_role, network)
    made = aws.create(
        "aws:autoscaling/tag:Tag",
        autoscalingGroupName=group_name(group),
        tag={
            "key": "k8s.io/cluster-autoscaler/node-template/label/a",
            "value": "b",
            "propagateAtLaunch": False,
        },
    )
    found = aws.account.client("autoscaling").describe_auto_scaling_groups(
        AutoScalingGroupNames=[group_name(group)]
    )["AutoScalingGroups"][0]["Tags"]
    tags = {tag["Key"]: tag["Value"] for tag in found}

    assert tags[f"k8s.io/cluster-autoscaler/{cluster.id}"] == "owned"
    assert tags["k8s.io/cluster-autoscaler/enabled"] == "true"
    assert tags["eks:nodegroup-name"] == group["nodeGroupName"]
    assert made.refreshed()["tag"]["value"] == "b"
    made.delete()
    assert made.read() is None


def test_a_node_group_is_active_when_its_instances_are_nodes(
    monkeypatch: pytest.MonkeyPatch,
    aws: Engine,
    world: World,
    cluster: Made,
    node_role: Made,
    network: dict[str, Made],
) -> None:
    use(monkeypatch, FakeApi(world))
    sizes = {"minSize": 1, "maxSize": 2, "desiredSize": 2}

    group = node_group(aws, cluster, node_role, network, scalingConfig=sizes)

    assert group["status"] == "ACTIVE"


def test_a_node_group_without_nodes_fails_and_exists(
    monkeypatch: pytest.MonkeyPatch,
    aws: Engine,
    world: World,
    cluster: Made,
    node_role: Made,
    network: dict[str, Made],
) -> None:
    use(monkeypatch, FakeApi(world, joins=False))
    sizes = {"minSize": 1, "maxSize": 1, "desiredSize": 1}

    with pytest.raises(NotReadyError, match="Instances failed to join") as caught:
        node_group(aws, cluster, node_role, network, scalingConfig=sizes)

    assert aws.account.store.get("node-group", caught.value.resource_id)


def test_a_half_made_node_group_is_finished_by_whoever_looks_next(
    aws: Engine, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    group = node_group(aws, cluster, node_role, network)
    scaling = aws.account.client("autoscaling")
    scaling.delete_auto_scaling_group(AutoScalingGroupName=group_name(group), ForceDelete=True)

    assert group.refreshed()["status"] == "ACTIVE"


def addon(aws: Engine, cluster: Made, name: str, **inputs: Any) -> Made:
    return aws.create("aws:eks/addon:Addon", clusterName=cluster.id, addonName=name, **inputs)


def test_an_addon_of_daemons_is_active_without_a_node(
    monkeypatch: pytest.MonkeyPatch, aws: Engine, world: World, cluster: Made
) -> None:
    api = use(monkeypatch, FakeApi(world))

    made = addon(aws, cluster, "vpc-cni", configurationValues='{"enableNetworkPolicy": "true"}')

    assert [manifest["kind"] for manifest in api.applied] == ["DaemonSet"]
    assert made["addonVersion"].startswith("v1.")
    made.delete()
    assert api.deleted == ["/apis/apps/v1/namespaces/kube-system/daemonsets/aws-node"]


def test_coredns_is_active_when_its_replicas_are_available(
    monkeypatch: pytest.MonkeyPatch, aws: Engine, world: World, cluster: Made
) -> None:
    api = use(monkeypatch, FakeApi(world, available=2))
    settings = '{"nodeSelector": {"gangway.dev/node-role": "system"}, "replicaCount": 2}'

    made = addon(aws, cluster, "coredns", configurationValues=settings)

    pods = api.applied[0]["spec"]["template"]["spec"]
    assert pods["nodeSelector"] == {"gangway.dev/node-role": "system"}
    assert made.refreshed().state == made.state


def test_coredns_without_a_node_times_out_and_exists(
    monkeypatch: pytest.MonkeyPatch, aws: Engine, world: World, cluster: Made
) -> None:
    use(monkeypatch, FakeApi(world, available=0))

    with pytest.raises(NotReadyError, match="InsufficientNumberOfReplicas"):
        addon(aws, cluster, "coredns")

    assert aws.account.store.get("addon", f"{cluster.id}:coredns")


def test_pods_get_the_role_of_their_service_account(
    aws: Engine, world: World, cluster: Made, node_role: Made
) -> None:
    made = aws.create(
        "aws:eks/podIdentityAssociation:PodIdentityAssociation",
        clusterName=cluster.id,
        namespace=f"training-{aws.number}",
        serviceAccount="trainer",
        roleArn=node_role["arn"],
    )

    role = world.pod_identity_role(f"training-{aws.number}", "trainer")
    given = world.credentials(f"training-{aws.number}", "trainer", "pod-0")

    assert role == given.role_arn == node_role["arn"]
    assert given.access_key_id
    assert world.pod_identity_role(f"training-{aws.number}", "default") is None
    assert made.refreshed().state == made.state


def test_rejects_credentials_for_a_service_account_without_a_role(world: World) -> None:
    with pytest.raises(GangwayError, match="no pod identity association"):
        world.credentials("nowhere", "nobody", "pod-0")


def test_a_cluster_is_what_it_was_and_goes_without_a_trace(
    aws: Engine, world: World, cluster: Made, node_role: Made
) -> None:
    aws.create(
        "aws:eks/accessEntry:AccessEntry",
        clusterName=cluster.id,
        principalArn=node_role["arn"],
        kubernetesGroups=["gangway:preview"],
    )
    addon(aws, cluster, "kube-proxy")

    fresh = cluster.refreshed()

    assert fresh.state == cluster.state
    assert not fresh.diff(**cluster.inputs).changes
    assert cluster["vpcConfig"]["clusterSecurityGroupId"].startswith("sg-")
    cluster.delete()
    names = [*aws.account.store.all("addon"), *aws.account.store.all("access-entry")]
    assert not any(name.startswith(f"{cluster.id}:") for name in names)


@pytest.fixture
def control_plane(aws: Engine) -> Iterator[dict[str, str]]:
    published = {"endpoint": "https://127.0.0.1:1", "ca_pem_base64": "Y2E=", "token": "token"}
    StateFolder(aws.folder).merge(kubernetes=published)
    yield published
    StateFolder(aws.folder).merge(kubernetes={})


def test_the_clusters_answer_is_the_local_control_planes(
    cluster: Made, control_plane: dict[str, str]
) -> None:
    fresh = cluster.refreshed()

    assert fresh["endpoint"] == control_plane["endpoint"]
    assert fresh["certificateAuthority"] == {"data": control_plane["ca_pem_base64"]}


def test_what_is_left_over_is_named_by_kind(aws: Engine, world: World) -> None:
    kind, names = "aws:ec2/launchTemplate:LaunchTemplate", [f"left-{n}" for n in range(20)]
    templates = [aws.create(kind, name) for name in names]

    assert {one["name"] for one in templates} <= set(world.leftovers()["launch template"])


def test_instances_are_spread_over_the_groups_zones(
    aws: Engine, world: World, cluster: Made, node_role: Made, network: dict[str, Made]
) -> None:
    sizes = {"minSize": 2, "maxSize": 4, "desiredSize": 2}
    subnets = [network["a"].id, network["b"].id]

    group = node_group(aws, cluster, node_role, network, scalingConfig=sizes, subnetIds=subnets)

    assert {one.zone_id for one in of(world, group)} == {"use1-az4", "use1-az6"}


@pytest.mark.parametrize(
    ("capacity", "words"), [(5, "above max value 4"), (0, "below min value 1")]
)
def test_rejects_a_desired_capacity_outside_the_groups_limits(
    aws: Engine,
    cluster: Made,
    node_role: Made,
    network: dict[str, Made],
    capacity: int,
    words: str,
) -> None:
    sizes = {"minSize": 1, "maxSize": 4, "desiredSize": 1}
    group = node_group(aws, cluster, node_role, network, scalingConfig=sizes)

    with pytest.raises(ClientError, match=words):
        aws.account.client("autoscaling").set_desired_capacity(
            AutoScalingGroupName=group_name(group), DesiredCapacity=capacity
        )
