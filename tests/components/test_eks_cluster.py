"""The control plane, its key, its logs and who may enter."""

import dataclasses
import json
import re

import pulumi
import pytest

from components.eks_cluster import EksCluster, EksClusterArgs, role_key
from tests.support.recorder import RecordedResource, Recording, record

ADMIN = "arn:aws:iam::111122223333:role/platform/admin"
PREVIEW = "arn:aws:iam::111122223333:role/preview"
ARGS = EksClusterArgs(
    admin_role_arns=(ADMIN,),
    cluster_name="gangway-dev",
    preview_role_arns=(PREVIEW,),
    private_subnet_ids=["subnet-1", "subnet-2"],
    protect=False,
    public_access_cidrs=(),
    tags={"team": "ml"},
    version="1.35",
    vpc_id="vpc-1",
)
CLUSTER = "eks:index:Cluster"
KEY = "aws:kms/key:Key"
LOGS = "aws:cloudwatch/logGroup:LogGroup"
ENTRY = "aws:eks/accessEntry:AccessEntry"
ASSOCIATION = "aws:eks/accessPolicyAssociation:AccessPolicyAssociation"


def build(**changes: object) -> Recording:
    return record(lambda: EksCluster("cluster", dataclasses.replace(ARGS, **changes)) and None)


@pytest.fixture(scope="module")
def closed() -> Recording:
    return build()


@pytest.fixture(scope="module")
def guarded() -> Recording:
    return build(protect=True, public_access_cidrs=("198.18.0.0/24",), log_retention_days=365)


@pytest.fixture(scope="module")
def cluster(closed: Recording) -> RecordedResource:
    return closed.one(CLUSTER)


def test_the_cluster_has_the_name_and_version_asked_for(cluster: RecordedResource) -> None:
    assert (cluster.inputs["name"], cluster.inputs["version"]) == ("gangway-dev", "1.35")


def test_the_control_plane_stands_in_the_private_subnets(cluster: RecordedResource) -> None:
    assert cluster.inputs["vpcId"] == "vpc-1"
    assert cluster.inputs["privateSubnetIds"] == ["subnet-1", "subnet-2"]


def test_access_is_by_access_entries_only(cluster: RecordedResource) -> None:
    assert cluster.inputs["authenticationMode"] == "API"


def test_the_private_endpoint_is_on(cluster: RecordedResource) -> None:
    assert cluster.inputs["endpointPrivateAccess"] is True


def test_the_public_endpoint_is_off_when_no_network_is_listed(cluster: RecordedResource) -> None:
    assert cluster.inputs["endpointPublicAccess"] is False
    assert "publicAccessCidrs" not in cluster.inputs


def test_the_public_endpoint_answers_only_the_networks_listed(guarded: Recording) -> None:
    inputs = guarded.one(CLUSTER).inputs
    assert inputs["endpointPublicAccess"] is True
    assert inputs["publicAccessCidrs"] == ["198.18.0.0/24"]


@pytest.mark.parametrize("cidr", ["0.0.0.0/0", "::/0", "10.0.0.0/0"])
def test_rejects_an_api_server_open_to_everybody(cidr: str) -> None:
    message = f"public_access_cidrs has {cidr}, the whole internet"
    with pytest.raises(ValueError, match=re.escape(message)):
        dataclasses.replace(ARGS, public_access_cidrs=("198.18.0.0/24", cidr))


def test_rejects_a_single_subnet() -> None:
    with pytest.raises(ValueError, match="private_subnet_ids has 1 subnet; EKS needs 2 or more"):
        dataclasses.replace(ARGS, private_subnet_ids=["subnet-1"])


def test_rejects_a_role_that_is_both_administrator_and_reader() -> None:
    with pytest.raises(ValueError, match=f"both have {ADMIN}; EKS takes one access entry"):
        dataclasses.replace(ARGS, preview_role_arns=(ADMIN,))


@pytest.mark.parametrize(
    "log_type", ["api", "audit", "authenticator", "controllerManager", "scheduler"]
)
def test_the_control_plane_writes_every_log(cluster: RecordedResource, log_type: str) -> None:
    assert log_type in cluster.inputs["enabledClusterLogTypes"]


def test_an_old_version_does_not_slip_into_paid_support(cluster: RecordedResource) -> None:
    assert cluster.inputs["upgradePolicy"] == {"supportType": "STANDARD"}


@pytest.mark.parametrize("option", ["skipDefaultNodeGroup", "skipDefaultSecurityGroups"])
def test_nodes_and_their_security_group_are_not_left_to_the_library(
    cluster: RecordedResource, option: str
) -> None:
    assert cluster.inputs[option] is True


@pytest.mark.parametrize("option", ["corednsAddonOptions", "kubeProxyAddonOptions"])
def test_add_ons_are_not_declared_twice(cluster: RecordedResource, option: str) -> None:
    assert cluster.inputs[option]["enabled"] is False


def test_the_network_add_on_is_not_declared_twice(cluster: RecordedResource) -> None:
    assert cluster.inputs["useDefaultVpcCni"] is True


def test_eks_installs_no_unmanaged_copies(cluster: RecordedResource) -> None:
    assert cluster.inputs["bootstrapSelfManagedAddons"] is False


def test_secrets_are_encrypted_by_our_key(closed: Recording, cluster: RecordedResource) -> None:
    assert cluster.inputs["encryptionConfigKeyArn"] == closed.one(KEY).outputs["arn"]


def test_the_key_is_rotated(closed: Recording) -> None:
    assert closed.one(KEY).inputs["enableKeyRotation"] is True


def test_a_deleted_key_can_be_taken_back_for_a_month(closed: Recording) -> None:
    assert closed.one(KEY).inputs["deletionWindowInDays"] == 30


def test_the_key_is_found_by_the_clusters_name(closed: Recording) -> None:
    alias = closed.one("aws:kms/alias:Alias").inputs
    assert alias["name"] == "alias/gangway-dev-secrets"
    assert alias["targetKeyId"] == closed.one(KEY).outputs["keyId"]


def test_logs_go_where_eks_writes_them(closed: Recording) -> None:
    assert closed.one(LOGS).inputs["name"] == "/aws/eks/gangway-dev/cluster"


def test_logs_are_kept_a_month_unless_told_otherwise(closed: Recording) -> None:
    assert closed.one(LOGS).inputs["retentionInDays"] == 30


def test_log_retention_is_what_was_asked_for(guarded: Recording) -> None:
    assert guarded.one(LOGS).inputs["retentionInDays"] == 365


def test_the_log_group_stands_before_eks_would_make_it(
    closed: Recording, cluster: RecordedResource
) -> None:
    assert closed.one(LOGS).urn in cluster.explicit_dependencies


@pytest.mark.parametrize("type_token", [CLUSTER, KEY])
def test_protection_guards_cluster_and_key(guarded: Recording, type_token: str) -> None:
    assert guarded.one(type_token).protect is True


@pytest.mark.parametrize("type_token", [CLUSTER, KEY])
def test_without_protection_everything_can_go(closed: Recording, type_token: str) -> None:
    assert closed.one(type_token).protect is False


def test_eks_itself_refuses_to_delete_a_protected_cluster(guarded: Recording) -> None:
    assert guarded.one(CLUSTER).inputs["deletionProtection"] is True


def test_eks_lets_an_unprotected_cluster_go(cluster: RecordedResource) -> None:
    assert cluster.inputs["deletionProtection"] is False


@pytest.mark.parametrize(
    ("role_arn", "name", "policy"),
    [
        (ADMIN, "cluster-111122223333/platform/admin", "AmazonEKSClusterAdminPolicy"),
        (PREVIEW, "cluster-111122223333/preview", "AmazonEKSAdminViewPolicy"),
    ],
    ids=["admin", "preview"],
)
def test_a_role_gets_its_policy_in_the_whole_cluster(
    closed: Recording, role_arn: str, name: str, policy: str
) -> None:
    association = closed.one(ASSOCIATION, name)
    assert association.inputs == {
        "accessScope": {"type": "cluster"},
        "clusterName": "gangway-dev",
        "policyArn": f"arn:aws:eks::aws:cluster-access-policy/{policy}",
        "principalArn": role_arn,
    }
    assert closed.one(ENTRY, name).urn in association.depends_on


@pytest.mark.parametrize(
    "name", ["cluster-111122223333/platform/admin", "cluster-111122223333/preview"]
)
def test_an_access_entry_is_for_people_and_pipelines_not_nodes(
    closed: Recording, name: str
) -> None:
    entry = closed.one(ENTRY, name).inputs
    assert entry["type"] == "STANDARD"
    assert "kubernetesGroups" not in entry


def test_without_roles_nobody_but_the_creator_enters() -> None:
    recording = build(admin_role_arns=(), preview_role_arns=())
    assert recording.of_type(ENTRY) == ()


def test_roles_that_differ_in_account_or_path_alone_have_names_of_their_own() -> None:
    assert role_key(ADMIN) == "111122223333/platform/admin"
    other_account = ADMIN.replace("111122223333", "444455556666")
    other_path = ADMIN.replace("platform/admin", "platform-admin")
    assert len({role_key(ADMIN), role_key(other_account), role_key(other_path)}) == 3


@pytest.mark.parametrize("type_token", [CLUSTER, KEY, LOGS, ENTRY])
def test_the_callers_tags_reach_every_part(closed: Recording, type_token: str) -> None:
    assert {r.inputs["tags"]["team"] for r in closed.of_type(type_token)} == {"ml"}


def test_outputs_name_cluster_group_and_kubeconfig(closed: Recording) -> None:
    outputs = closed.one("gangway:components:EksCluster").outputs
    assert outputs["cluster_name"] == "gangway-dev"
    assert outputs["cluster_security_group_id"].startswith("sg-")
    assert json.loads(outputs["kubeconfig_json"])["kind"] == "Config"


def test_the_kubeconfig_is_a_secret() -> None:
    def program() -> None:
        pulumi.export("kubeconfig", EksCluster("cluster", ARGS).kubeconfig_json)

    assert "kubeconfig" in record(program).secret_exports


def test_everything_belongs_to_the_component(closed: Recording) -> None:
    component = closed.one("gangway:components:EksCluster")
    assert {item.parent for item in closed if item is not component} == {component.urn}
