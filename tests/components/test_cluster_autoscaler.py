"""Cluster Autoscaler: its rights, its identity, its values."""

import dataclasses
import json
import re
from typing import Any

import pulumi
import pytest

from components import charts, versions
from components.cluster_autoscaler import (
    ClusterAutoscaler,
    ClusterAutoscalerArgs,
    helm_values,
    policy,
)
from tests.support.recorder import Recording, record

ARGS = ClusterAutoscalerArgs(
    chart=charts.ChartSource(pin=versions.CLUSTER_AUTOSCALER_CHART),
    cluster_name="gangway-dev",
    region="us-east-1",
    tags={"team": "ml"},
)
ROLE = "aws:iam/role:Role"
ROLE_POLICY = "aws:iam/rolePolicy:RolePolicy"
ASSOCIATION = "aws:eks/podIdentityAssociation:PodIdentityAssociation"
RELEASE = "kubernetes:helm.sh/v3:Release"
WRITES = {
    "autoscaling:SetDesiredCapacity",
    "autoscaling:TerminateInstanceInAutoScalingGroup",
}


@pytest.fixture(scope="module")
def recording() -> Recording:
    def program() -> None:
        args = dataclasses.replace(ARGS, cluster_name=pulumi.Output.from_input("gangway-dev"))
        ClusterAutoscaler("autoscaler", args)

    return record(program)


@pytest.fixture(scope="module")
def values(recording: Recording) -> dict[str, Any]:
    return dict(recording.one(RELEASE).inputs["values"])


def statements(text: str) -> list[dict[str, Any]]:
    return list(json.loads(text)["Statement"])


def flags(**changes: object) -> dict[str, Any]:
    return dict(helm_values(dataclasses.replace(ARGS, **changes))["extraArgs"])


@pytest.mark.parametrize("field", ["scale_down_unneeded_minutes", "scan_interval_seconds"])
def test_rejects_a_wait_of_nothing(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is 0; allowed: 1 or more"):
        dataclasses.replace(ARGS, **{field: 0})


@pytest.mark.parametrize(
    "image", ["cluster-autoscaler", "registry:5000/cluster-autoscaler", "autoscaler:latest"]
)
def test_rejects_an_image_that_is_not_pinned(image: str) -> None:
    message = f"image is '{image}'; name it with a full tag"
    with pytest.raises(ValueError, match=re.escape(message)):
        dataclasses.replace(ARGS, image=image)


def test_rejects_living_on_any_node() -> None:
    with pytest.raises(ValueError, match="node_selector is empty; allowed: labels of nodes that"):
        dataclasses.replace(ARGS, node_selector={})


def test_it_resizes_only_the_groups_of_its_own_cluster() -> None:
    [write] = [item for item in statements(policy("gangway-dev")) if WRITES & {*item["Action"]}]
    assert write["Condition"] == {
        "StringEquals": {"aws:ResourceTag/k8s.io/cluster-autoscaler/gangway-dev": "owned"}
    }


def test_it_changes_nothing_without_a_condition() -> None:
    free = [item for item in statements(policy("gangway-dev")) if "Condition" not in item]
    actions = [action for item in free for action in [item["Action"]]]
    flat = [name for item in actions for name in ([item] if isinstance(item, str) else item)]
    assert all(re.fullmatch(r"\w+:(Describe|Get)\w+", name) for name in flat)


def test_it_reads_node_groups_of_its_own_cluster_only() -> None:
    [read] = [
        item
        for item in statements(policy("gangway-dev"))
        if item["Action"] == "eks:DescribeNodegroup"
    ]
    assert read["Resource"] == "arn:aws:eks:*:*:nodegroup/gangway-dev/*"


@pytest.mark.parametrize(
    "action",
    [
        "autoscaling:DescribeAutoScalingGroups",
        "autoscaling:DescribeAutoScalingInstances",
        "autoscaling:DescribeLaunchConfigurations",
        "autoscaling:DescribeScalingActivities",
        "autoscaling:DescribeTags",
        "ec2:DescribeImages",
        "ec2:DescribeInstanceTypes",
        "ec2:DescribeLaunchTemplateVersions",
        "ec2:GetInstanceTypesFromInstanceRequirements",
    ],
)
def test_it_may_read_what_it_plans_by(action: str) -> None:
    assert any(action in item["Action"] for item in statements(policy("gangway-dev")))


def test_the_policy_is_attached_to_the_role(recording: Recording) -> None:
    attached = recording.one(ROLE_POLICY).inputs
    assert attached["policy"] == policy("gangway-dev")
    assert attached["role"] == recording.one(ROLE).outputs["name"]


def test_only_its_own_service_account_takes_the_role(recording: Recording) -> None:
    [statement] = statements(recording.one(ROLE).inputs["assumeRolePolicy"])
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    tags = statement["Condition"]["StringEquals"]
    association = recording.one(ASSOCIATION).inputs
    assert tags["aws:RequestTag/kubernetes-namespace"] == association["namespace"]
    assert tags["aws:RequestTag/kubernetes-service-account"] == association["serviceAccount"]
    assert tags["aws:RequestTag/eks-cluster-name"] == association["clusterName"]


def test_the_association_is_for_the_service_account_that_the_chart_makes(
    recording: Recording, values: dict[str, Any]
) -> None:
    account = values["rbac"]["serviceAccount"]
    association = recording.one(ASSOCIATION).inputs
    assert account == {"create": True, "name": association["serviceAccount"]}
    assert recording.one(RELEASE).inputs["namespace"] == association["namespace"]


def test_the_association_gives_the_role(recording: Recording) -> None:
    assert recording.one(ASSOCIATION).inputs["roleArn"] == recording.one(ROLE).outputs["arn"]


@pytest.mark.parametrize("type_token", [ASSOCIATION, ROLE_POLICY])
def test_a_pod_starts_only_when_its_identity_stands(recording: Recording, type_token: str) -> None:
    assert recording.one(type_token).urn in recording.one(RELEASE).explicit_dependencies


@pytest.mark.parametrize("type_token", [ASSOCIATION, ROLE])
def test_what_can_be_tagged_is(recording: Recording, type_token: str) -> None:
    assert recording.one(type_token).inputs["tags"] == {"team": "ml"}


def test_the_release_is_pinned(recording: Recording) -> None:
    release = recording.one(RELEASE).inputs
    assert (release["name"], release["version"]) == ("cluster-autoscaler", "9.59.0")


def test_its_objects_have_the_short_name(values: dict[str, Any]) -> None:
    assert values["fullnameOverride"] == "cluster-autoscaler"


def test_groups_are_found_by_the_clusters_tag(values: dict[str, Any]) -> None:
    assert values["autoDiscovery"] == {"clusterName": "gangway-dev"}
    assert values["cloudProvider"] == "aws"


def test_the_region_comes_from_us_not_from_the_metadata_service(values: dict[str, Any]) -> None:
    assert values["awsRegion"] == "us-east-1"


def test_it_stays_on_system_nodes_and_tolerates_nothing(values: dict[str, Any]) -> None:
    assert values["nodeSelector"] == {"gangway.dev/node-role": "system"}
    assert "tolerations" not in values


def test_it_works_while_cluster_dns_does_not(values: dict[str, Any]) -> None:
    assert values["dnsPolicy"] == "Default"


def test_the_image_follows_the_clusters_minor_version(values: dict[str, Any]) -> None:
    assert values["image"] == {
        "repository": "registry.k8s.io/autoscaling/cluster-autoscaler",
        "tag": versions.CLUSTER_AUTOSCALER_IMAGE_TAG,
    }


def test_the_image_comes_from_the_mirror_when_there_is_one() -> None:
    args = dataclasses.replace(ARGS, registry_mirrors={"registry.k8s.io": "mirror.example/k8s"})
    image = helm_values(args)["image"]
    assert image["repository"] == "mirror.example/k8s/autoscaling/cluster-autoscaler"


def test_the_pod_is_no_root_and_keeps_the_default_seccomp_profile(values: dict[str, Any]) -> None:
    context = values["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context["runAsUser"] == context["runAsGroup"] == 65534
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}


def test_the_container_gains_no_rights_and_writes_no_file(values: dict[str, Any]) -> None:
    assert values["containerSecurityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
    }


def test_it_asks_for_what_it_needs(values: dict[str, Any]) -> None:
    assert values["resources"]["requests"] == {"cpu": "100m", "memory": "300Mi"}
    assert values["resources"]["limits"] == {"memory": "600Mi"}


def test_one_gang_is_not_spread_over_zones() -> None:
    assert flags()["balance-similar-node-groups"] is False


def test_the_group_that_wastes_least_grows() -> None:
    assert flags()["expander"] == "least-waste"


def test_gangs_are_seen_whole_and_at_once() -> None:
    assert flags()["bypassed-scheduler-names"] == "volcano"


@pytest.mark.parametrize("flag", ["skip-nodes-with-local-storage", "skip-nodes-with-system-pods"])
def test_no_emptied_gpu_node_is_kept_for_the_pods_it_carries(flag: str) -> None:
    assert flags()[flag] is False


@pytest.mark.parametrize("flag", ["scale-down-unneeded-time", "scale-down-delay-after-add"])
def test_an_idle_node_goes_after_the_minutes_asked_for(flag: str) -> None:
    assert flags(scale_down_unneeded_minutes=5)[flag] == "5m"


def test_defaults_of_its_clock() -> None:
    assert flags()["scale-down-unneeded-time"] == "10m"
    assert flags()["scan-interval"] == "10s"


def test_it_looks_as_often_as_asked() -> None:
    assert flags(scan_interval_seconds=3)["scan-interval"] == "3s"


def test_the_output_is_the_roles_arn(recording: Recording) -> None:
    outputs = recording.one("gangway:components:ClusterAutoscaler").outputs
    assert outputs["role_arn"] == recording.one(ROLE).outputs["arn"]


def test_everything_belongs_to_the_component(recording: Recording) -> None:
    component = recording.one("gangway:components:ClusterAutoscaler")
    assert {item.parent for item in recording if item is not component} == {component.urn}
