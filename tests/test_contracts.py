"""Where one part names what another part must know: each pair joined in one test."""

import json
from typing import Any

import pytest

from components import gang, gpu, training_environment
from tests.support.environments import ENVIRONMENTS, recorded, recorded_with
from tests.support.settings import settings
from trainer import environment as consumer
from trainer import exits

EXTRA_TAINT = {"key": "team", "value": "ml", "effect": "NoSchedule"}


@pytest.fixture(params=ENVIRONMENTS)
def environment(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def _taints(recording: Any) -> set[tuple[str, str, str]]:
    """Taints of the GPU node groups in Kubernetes spelling."""
    to_kubernetes = {eks: kubernetes for kubernetes, eks in gpu.EKS_TAINT_EFFECTS.items()}
    return {
        (taint["key"], taint.get("value", ""), to_kubernetes[taint["effect"]])
        for group in recording.of_type("aws:eks/nodeGroup:NodeGroup")
        for taint in group.inputs.get("taints", [])
    }


def _job(recording: Any) -> dict[str, Any]:
    spec: dict[str, Any] = recording.one("kubernetes:batch.volcano.sh/v1alpha1:Job").inputs["spec"]
    return spec


def _pod_specs(recording: Any) -> list[dict[str, Any]]:
    return [task["template"]["spec"] for task in _job(recording)["tasks"]]


def _tolerates(toleration: dict[str, Any], taint: tuple[str, str, str]) -> bool:
    key, value, effect = taint
    return (
        toleration.get("key") in (None, key)
        and toleration.get("effect") in (None, effect)
        and (toleration.get("operator") == "Exists" or toleration.get("value") == value)
    )


def _gpu_pods_tolerations(recording: Any) -> dict[str, list[list[dict[str, Any]]]]:
    """Who must run on GPU nodes -> its tolerations."""
    plugin = recording.one("kubernetes:helm.sh/v3:Release", "device-plugin").inputs["values"]
    agent = json.loads(
        recording.one("aws:eks/addon:Addon", "cluster-addons-eks-node-monitoring-agent").inputs[
            "configurationValues"
        ]
    )
    return {
        "device plugin": [plugin["tolerations"]],
        "training job": [spec["tolerations"] for spec in _pod_specs(recording)],
        "node monitoring's GPU part": [agent["dcgmAgent"]["tolerations"]],
    }


@pytest.mark.parametrize("extra", [[], [EXTRA_TAINT]], ids=["gpu-taint", "extra-taint"])
def test_every_taint_is_tolerated_by_all_that_run_on_gpu_nodes(extra: list[object]) -> None:
    recording = recorded_with(settings({"gpuNodes.extraTaints": extra}))
    taints = _taints(recording)
    assert len(taints) == 1 + len(extra)
    strangers = [
        (who, taint)
        for who, templates in _gpu_pods_tolerations(recording).items()
        for tolerations in templates
        for taint in taints
        if not any(_tolerates(toleration, taint) for toleration in tolerations)
    ]
    assert strangers == []


def test_system_nodes_have_no_taint(environment: str) -> None:
    system = recorded(environment).one("aws:eks/nodeGroup:NodeGroup", "system")
    assert not system.inputs.get("taints")


def test_tolerations_are_in_kubernetes_spelling_and_taints_in_eks_spelling() -> None:
    recording = recorded("dev")
    tolerations = {
        toleration["effect"] for spec in _pod_specs(recording) for toleration in spec["tolerations"]
    }
    taints = {
        taint["effect"]
        for group in recording.of_type("aws:eks/nodeGroup:NodeGroup")
        for taint in group.inputs.get("taints", [])
    }
    assert tolerations <= set(gpu.EKS_TAINT_EFFECTS)
    assert taints <= set(gpu.EKS_TAINT_EFFECTS.values())


def _tags(recording: Any, group: str) -> dict[str, str]:
    return {
        resource.inputs["tag"]["key"]: resource.inputs["tag"]["value"]
        for resource in recording.of_type("aws:autoscaling/tag:Tag")
        if resource.name.startswith(f"{group}-")
    }


@pytest.mark.parametrize("extra", [[], [EXTRA_TAINT]], ids=["gpu-taint", "extra-taint"])
def test_the_autoscaler_is_told_every_taint_of_a_group(extra: list[object]) -> None:
    recording = recorded_with(settings({"gpuNodes.extraTaints": extra}))
    told = _tags(recording, "gpu-use1-az4")
    prefix = "k8s.io/cluster-autoscaler/node-template/taint/"
    assert {
        (key.removeprefix(prefix), value) for key, value in told.items() if key.startswith(prefix)
    } == {(key, f"{value}:{effect}") for key, value, effect in _taints(recording)}


def test_the_autoscaler_is_told_every_label_of_a_group(environment: str) -> None:
    recording = recorded(environment)
    group = recording.one("aws:eks/nodeGroup:NodeGroup", "gpu-use1-az4")
    prefix = "k8s.io/cluster-autoscaler/node-template/label/"
    told = {
        key.removeprefix(prefix): value
        for key, value in _tags(recording, "gpu-use1-az4").items()
        if key.startswith(prefix)
    }
    assert told == group.inputs["labels"]


def test_the_autoscaler_is_told_the_gpus_of_a_node_that_does_not_exist_yet() -> None:
    told = _tags(recorded("dev"), "gpu-use1-az4")
    assert told[f"k8s.io/cluster-autoscaler/node-template/resources/{gpu.GPU_RESOURCE}"] == "1"


def test_the_autoscaler_looks_for_the_tags_that_the_groups_carry(environment: str) -> None:
    recording = recorded(environment)
    name = recording.exports["clusterName"]
    values = recording.one("kubernetes:helm.sh/v3:Release", "autoscaler").inputs["values"]
    assert values["autoDiscovery"]["clusterName"] == name
    told = _tags(recording, "gpu-use1-az4")
    assert {"k8s.io/cluster-autoscaler/enabled", f"k8s.io/cluster-autoscaler/{name}"} <= set(told)


def test_the_device_plugin_finds_gpu_nodes_by_the_label_they_carry(environment: str) -> None:
    recording = recorded(environment)
    values = recording.one("kubernetes:helm.sh/v3:Release", "device-plugin").inputs["values"]
    gpu_groups = [
        group
        for group in recording.of_type("aws:eks/nodeGroup:NodeGroup")
        if group.name != "system"
    ]
    wanted = values.get("nodeSelector") or {gpu.GPU_PRESENT_LABEL: "true"}
    assert wanted
    for group in gpu_groups:
        assert wanted.items() <= group.inputs["labels"].items()
    system = recording.one("aws:eks/nodeGroup:NodeGroup", "system")
    assert gpu.GPU_PRESENT_LABEL not in system.inputs["labels"]


def test_the_job_takes_its_queue_from_the_queue_itself(environment: str) -> None:
    recording = recorded(environment)
    queue = recording.one("kubernetes:scheduling.volcano.sh/v1beta1:Queue", "ml-queue")
    job = recording.one("kubernetes:batch.volcano.sh/v1alpha1:Job")
    assert job.inputs["spec"]["queue"] == queue.inputs["metadata"]["name"]
    assert queue.urn in job.property_dependencies["spec"]


def test_the_queue_names_every_resource_that_the_job_asks_for(environment: str) -> None:
    recording = recorded(environment)
    queue = recording.one("kubernetes:scheduling.volcano.sh/v1beta1:Queue", "ml-queue")
    asked = {
        name
        for spec in _pod_specs(recording)
        for container in spec["containers"]
        for name in container["resources"]["requests"]
    }
    assert asked <= set(queue.inputs["spec"]["capability"])


def test_the_job_runs_on_the_instance_types_of_the_fleet_only(environment: str) -> None:
    recording = recorded(environment)
    fleet = recording.one("aws:eks/nodeGroup:NodeGroup", "gpu-use1-az4").inputs["instanceTypes"]
    for spec in _pod_specs(recording):
        (term,) = spec["affinity"]["nodeAffinity"][
            "requiredDuringSchedulingIgnoredDuringExecution"
        ]["nodeSelectorTerms"]
        assert term["matchExpressions"] == [
            {"key": "node.kubernetes.io/instance-type", "operator": "In", "values": fleet}
        ]


def test_volcanos_profile_follows_the_autoscaler() -> None:
    with_it = recorded("dev").one("kubernetes:helm.sh/v3:Release", "volcano").inputs["values"]
    standing = recorded_with(settings({"autoscaling.enabled": False, "gpuNodes.minSizePerZone": 2}))
    without = standing.one("kubernetes:helm.sh/v3:Release", "volcano").inputs["values"]
    assert "enqueue" not in with_it["custom"]["scheduler_config_override"]
    assert "enqueue" in (without["custom"].get("scheduler_config_override") or "enqueue")


def test_pods_and_identity_name_the_same_account(environment: str) -> None:
    recording = recorded(environment)
    association = recording.one("aws:eks/podIdentityAssociation:PodIdentityAssociation", "trainer")
    account = recording.one("kubernetes:core/v1:ServiceAccount", "training")
    job = recording.one("kubernetes:batch.volcano.sh/v1alpha1:Job")
    named = (association.inputs["namespace"], association.inputs["serviceAccount"])
    assert named == (
        account.inputs["metadata"]["namespace"],
        account.inputs["metadata"]["name"],
    )
    assert {
        (job.inputs["metadata"]["namespace"], spec["serviceAccountName"])
        for spec in _pod_specs(recording)
    } == {named}


def test_the_trainers_role_trusts_that_account_in_that_cluster_only(environment: str) -> None:
    recording = recorded(environment)
    association = recording.one("aws:eks/podIdentityAssociation:PodIdentityAssociation", "trainer")
    (statement,) = json.loads(
        recording.one("aws:iam/role:Role", "trainer").inputs["assumeRolePolicy"]
    )["Statement"]
    assert statement["Principal"] == {"Service": "pods.eks.amazonaws.com"}
    assert set(statement["Action"]) == {"sts:AssumeRole", "sts:TagSession"}
    (conditions,) = statement["Condition"].values()
    assert {
        association.inputs["namespace"],
        association.inputs["serviceAccount"],
    } <= set(conditions.values())


def _environment_of(spec: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in spec["containers"][0]["env"]}


def test_the_bucket_of_the_job_is_the_bucket_of_the_stack(environment: str) -> None:
    recording = recorded(environment)
    for spec in _pod_specs(recording):
        variables = _environment_of(spec)
        assert variables["GANGWAY_RESULTS_BUCKET"]["value"] == recording.exports["resultsBucket"]


def test_the_role_that_the_trainer_expects_is_the_one_it_gets(environment: str) -> None:
    recording = recorded(environment)
    role = recording.one("aws:iam/role:Role", "trainer").outputs["arn"]
    association = recording.one("aws:eks/podIdentityAssociation:PodIdentityAssociation", "trainer")
    assert association.inputs["roleArn"] == role
    for spec in _pod_specs(recording):
        assert _environment_of(spec)["GANGWAY_EXPECTED_ROLE_ARN"]["value"] == role


def test_the_prefix_that_the_role_may_write_is_the_one_the_trainer_uses(environment: str) -> None:
    recording = recorded(environment)
    policy = json.loads(recording.one("aws:iam/rolePolicy:RolePolicy", "trainer").inputs["policy"])
    (variables,) = {
        _environment_of(spec)["GANGWAY_RESULTS_PREFIX"]["value"] for spec in _pod_specs(recording)
    }
    written = [
        statement["Resource"]
        for statement in policy["Statement"]
        if "s3:PutObject" in statement["Action"]
    ]
    assert all(str(resource).endswith(f"/{variables}*") for resource in written)
    assert written


def test_the_job_sets_every_variable_that_the_trainer_requires() -> None:
    produced = {name for spec in _pod_specs(recorded("dev")) for name in _environment_of(spec)}
    assert set(consumer.REQUIRED) - produced - set(consumer.BY_VOLCANO) == set()


def test_the_trainer_knows_every_variable_that_the_job_sets_for_it() -> None:
    produced = {name for spec in _pod_specs(recorded("dev")) for name in _environment_of(spec)}
    ours = {name for name in produced if name.startswith("GANGWAY_")}
    assert ours - {*consumer.REQUIRED, *consumer.OPTIONAL} == set()


def test_the_exit_code_of_hopeless_cases_is_the_same_on_both_sides() -> None:
    assert gang.HOPELESS_EXIT_CODE == exits.ExitCode.CONFIGURATION


def test_the_pod_finds_its_token_where_the_trainer_looks() -> None:
    variables = _environment_of(_pod_specs(recorded("dev"))[0])
    assert (
        variables["GANGWAY_SERVICE_ACCOUNT_DIR"]["value"]
        == training_environment.SERVICE_ACCOUNT_DIR
    )
