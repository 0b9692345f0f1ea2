"""The worker's pod: what it asks for, where it may run, what it may do."""

from collections.abc import Mapping
from typing import Any

import pytest

from components import gpu, training_pod
from infra.preview import schemas
from tests.support.training import TEAM_TAINT, worker

ENVIRONMENT = [{"name": "GANGWAY_SEED", "value": "1"}]


TRAINER_FILES = {"/opt/gangway/trainer": "trainer-1"}


def template(config_maps: Mapping[str, str] = TRAINER_FILES, **changes: Any) -> dict[str, Any]:
    return training_pod.pod_template(
        worker(**changes),
        config_maps=config_maps,
        environment=ENVIRONMENT,
        job_name="gang-train",
        service_account="trainer",
    )


def pod(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = template(**changes)["spec"]
    return found


def container(**changes: Any) -> dict[str, Any]:
    found: dict[str, Any] = pod(**changes)["containers"][0]
    return found


def mounts(**changes: Any) -> dict[str, dict[str, Any]]:
    """Mount path -> mount joined with its volume."""
    volumes = {volume["name"]: volume for volume in pod(**changes)["volumes"]}
    return {
        mount["mountPath"]: volumes[mount["name"]] | mount
        for mount in container(**changes)["volumeMounts"]
    }


def test_pod_fits_the_kubernetes_schema() -> None:
    assert schemas.pod_template_problems(template()) == []


def test_requests_are_limits() -> None:
    amounts = {"cpu": "2", "memory": "4Gi", "nvidia.com/gpu": "1"}
    assert container()["resources"] == {"limits": amounts, "requests": amounts}


def test_sizes_reach_the_pod() -> None:
    limits = container(cpu="7", memory="30Gi", gpus=4)["resources"]["limits"]
    assert limits == {"cpu": "7", "memory": "30Gi", "nvidia.com/gpu": "4"}


def test_every_taint_is_tolerated() -> None:
    assert pod(taints=(gpu.GPU_TAINT, TEAM_TAINT))["tolerations"] == [
        {"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "team", "operator": "Exists", "effect": "NoExecute"},
    ]


def test_only_planned_instance_types_will_do() -> None:
    required = pod()["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert required == {
        "nodeSelectorTerms": [
            {
                "matchExpressions": [
                    {
                        "key": "node.kubernetes.io/instance-type",
                        "operator": "In",
                        "values": ["g4dn.xlarge", "g4dn.2xlarge"],
                    }
                ]
            }
        ]
    }


def test_the_gang_stays_in_one_zone_by_default() -> None:
    affinity = pod()["affinity"]["podAffinity"]
    assert affinity["requiredDuringSchedulingIgnoredDuringExecution"] == [
        {
            "labelSelector": {"matchLabels": {"volcano.sh/job-name": "gang-train"}},
            "topologyKey": "topology.kubernetes.io/zone",
        }
    ]


def test_the_gang_may_spread_over_zones_when_asked() -> None:
    assert "podAffinity" not in pod(single_zone=False)["affinity"]


def test_volcano_schedules_the_pod() -> None:
    assert pod()["schedulerName"] == "volcano"


def test_the_kubelet_restarts_nothing() -> None:
    assert pod()["restartPolicy"] == "Never"


def test_the_autoscaler_moves_no_worker() -> None:
    assert template()["metadata"]["annotations"] == {
        "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"
    }


def test_pod_runs_restricted() -> None:
    context = pod()["securityContext"]
    assert (context["runAsNonRoot"], context["runAsUser"]) == (True, 1000)
    assert context["seccompProfile"] == {"type": "RuntimeDefault"}
    assert container()["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
    }


def test_pod_is_its_service_account() -> None:
    assert pod()["serviceAccountName"] == "trainer"
    assert pod()["automountServiceAccountToken"] is True


def test_other_services_of_the_namespace_stay_out_of_the_environment() -> None:
    assert pod()["enableServiceLinks"] is False


def test_pod_has_time_for_a_last_checkpoint() -> None:
    assert pod()["terminationGracePeriodSeconds"] == 90


def test_shared_memory_is_memory_of_its_own_size() -> None:
    assert mounts(shared_memory="2Gi")["/dev/shm"]["emptyDir"] == {  # noqa: S108 - a mount path
        "medium": "Memory",
        "sizeLimit": "2Gi",
    }


def test_scratch_space_is_limited() -> None:
    assert mounts()["/tmp"]["emptyDir"] == {"sizeLimit": "10Gi"}  # noqa: S108 - a mount path


def test_trainer_is_mounted_read_only_as_a_package() -> None:
    mount = mounts()["/opt/gangway/trainer"]
    assert (mount["configMap"], mount["readOnly"]) == ({"name": "trainer-1"}, True)
    assert {"name": "PYTHONPATH", "value": "/opt/gangway"} in container()["env"]
    assert container()["command"] == ["python", "-m", "trainer"]


def test_own_code_in_the_image_needs_no_mount() -> None:
    assert container(command=("python", "/app/main.py"))["command"] == ["python", "/app/main.py"]
    assert "/opt/gangway/trainer" not in mounts(config_maps={})


def test_a_users_scripts_are_mounted_beside_the_trainer_and_run_by_it() -> None:
    files = TRAINER_FILES | {"/opt/gangway/user": "user-1"}
    mount = mounts(config_maps=files)["/opt/gangway/user"]
    assert (mount["configMap"], mount["readOnly"]) == ({"name": "user-1"}, True)
    assert container(config_maps=files)["command"] == [
        "python",
        "-m",
        "trainer",
        "--script",
        "/opt/gangway/user/train.py",
    ]


def test_a_user_without_a_home_gets_one() -> None:
    variables = {item["name"]: item["value"] for item in container()["env"]}
    assert (variables["HOME"], variables["USER"]) == ("/tmp", "trainer")  # noqa: S108 - as above


def test_environment_is_passed_on() -> None:
    assert ENVIRONMENT[0] in container()["env"]


def test_image_is_pulled_once_a_node() -> None:
    assert container()["imagePullPolicy"] == "IfNotPresent"


def test_rejects_a_worker_without_a_gpu() -> None:
    with pytest.raises(ValueError, match="gpus is 0; allowed: 1 or more"):
        worker(gpus=0)


@pytest.mark.parametrize("image", ["pytorch", "pytorch:latest", "registry:5000/pytorch"])
def test_rejects_an_image_that_moves(image: str) -> None:
    with pytest.raises(ValueError, match="name a full tag or a digest"):
        worker(image=image)


def test_accepts_an_image_by_digest() -> None:
    image = f"pytorch@sha256:{'0' * 64}"
    assert container(image=image)["image"] == image


def test_rejects_taints_without_the_gpu_taint() -> None:
    with pytest.raises(ValueError, match=r"taints lacks nvidia.com/gpu"):
        worker(taints=(TEAM_TAINT,))


def test_rejects_no_instance_types() -> None:
    with pytest.raises(ValueError, match="instance_types is empty"):
        worker(instance_types=())


@pytest.mark.parametrize("shared", ["4Gi", "5Gi"])
def test_rejects_shared_memory_that_fills_the_memory(shared: str) -> None:
    with pytest.raises(ValueError, match=f"shared_memory is {shared}; it counts towards memory"):
        worker(shared_memory=shared)
