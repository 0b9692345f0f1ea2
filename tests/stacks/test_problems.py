"""Rules that join settings: each accepts its boundary and refuses one step beyond it."""

import datetime
import json
from types import ModuleType

import pytest

from stacks import gang_problems, network_problems, problems
from stacks.settings import Settings
from tests.support.settings import raw, refused, settings

STANDING: dict[str, object] = {
    "autoscaling.enabled": False,
    "gpuNodes.minSizePerZone": 4,
    "gpuNodes.maxSizePerZone": 4,
}
"""GPU nodes that neither come nor go."""

REFUSED = {
    "zone-without-eks": (
        {"network.availabilityZoneIds": ["use1-az3", "use1-az4"]},
        "gangway:network.availabilityZoneIds has use1-az3, where EKS takes no subnet",
    ),
    "eight-zones": (
        {"network.availabilityZoneIds": [f"use1-az{n}" for n in (1, 2, 4, 5, 6, 7, 8, 9)]},
        "has 8 zones; allowed: 7 at most",
    ),
    "one-subnet-for-two-zones": (
        {
            "network.existingVpc": {
                "vpcId": "vpc-1",
                "privateSubnetIds": {"use1-az4": "subnet-1", "use1-az6": "subnet-1"},
            }
        },
        "privateSubnetIds has subnet-1 for two zones",
    ),
    "endpoints-in-an-existing-vpc": (
        {
            "network.interfaceEndpoints": ["sts"],
            "network.existingVpc": {
                "vpcId": "vpc-1",
                "privateSubnetIds": {"use1-az4": "subnet-1", "use1-az6": "subnet-2"},
            },
        },
        "interfaceEndpoints is set beside existingVpc",
    ),
    "endpoint-twice": (
        {"network.interfaceEndpoints": ["sts", "sts"]},
        "gangway:network.interfaceEndpoints names sts twice",
    ),
    "cidr-twice": (
        {"cluster.publicAccessCidrs": ["198.18.0.0/24", "198.18.0.0/24"]},
        "gangway:cluster.publicAccessCidrs names 198.18.0.0/24 twice",
    ),
    "role-twice": (
        {"cluster.adminRoleArns": ["arn:aws:iam::111122223333:role/a"] * 2},
        "gangway:cluster.adminRoleArns names arn:aws:iam::111122223333:role/a twice",
    ),
    "role-in-both-lists": (
        {"cluster.adminRoleArns": ["arn:aws:iam::111122223333:role/preview"]},
        "adminRoleArns and previewRoleArns both name arn:aws:iam::111122223333:role/preview",
    ),
    "charts-from-two-places": (
        {
            "charts.directory": "charts",
            "charts.repositories": {"volcano": "https://charts.example/"},
        },
        "gangway:charts.directory is 'charts' beside repositories for volcano",
    ),
    "taint-twice": (
        {"gpuNodes.extraTaints": [{"key": "team", "effect": "NoSchedule"}] * 2},
        "gangway:gpuNodes.extraTaints has 'team' with NoSchedule twice",
    ),
    "label-with-a-space": (
        {"gpuNodes.extraLabels": {"team": "a b"}},
        "gangway:gpuNodes.extraLabels: extra label team is 'a b'",
    ),
    "job-beside-the-device-plugin": (
        {"trainingJob.namespace": "nvidia-device-plugin"},
        "gangway:trainingJob.namespace is 'nvidia-device-plugin'",
    ),
    "parent-while-nodes-come-and-go": (
        {"queues": [{"name": "team"}, {"name": "ml-queue", "parent": "team"}]},
        "gangway:queues[ml-queue].parent is set while GPU nodes come and go",
    ),
    "child-larger-than-its-parent": (
        STANDING
        | {
            "queues": [
                {
                    "name": "team",
                    "capability": {"cpu": "8", "memory": "32Gi", "nvidia.com/gpu": "2"},
                },
                {"name": "ml-queue", "parent": "team"},
            ]
        },
        "gangway:queues[ml-queue].capability nvidia.com/gpu is 8, above 2 of its parent team",
    ),
    "children-deserve-more-than-their-parent": (
        STANDING
        | {
            "queues": [
                {"name": "team", "deserved": {"nvidia.com/gpu": "1"}},
                {"name": "ml-queue", "parent": "team", "deserved": {"nvidia.com/gpu": "2"}},
            ]
        },
        "gangway:queues[team].deserved nvidia.com/gpu is 1, less than its children's together",
    ),
    "one-zone": (
        {"network.availabilityZoneIds": ["use1-az4"]},
        "availabilityZoneIds is use1-az4; EKS needs at least 2 distinct zones",
    ),
    "zone-twice": (
        {"network.availabilityZoneIds": ["use1-az4", "use1-az4"]},
        "EKS needs at least 2 distinct zones, each named once",
    ),
    "zone-of-another-region": (
        {"network.availabilityZoneIds": ["use1-az4", "usw2-az1"]},
        "has usw2-az1, outside aws:region us-east-1; its zone ids begin with use1-az",
    ),
    "gpu-zone-not-in-network": (
        {"gpuNodes.zoneIds": ["use1-az1"]},
        "gangway:gpuNodes.zoneIds has use1-az1; allowed are the zones of",
    ),
    "gpu-zone-twice": (
        {"gpuNodes.zoneIds": ["use1-az4", "use1-az4"]},
        "gangway:gpuNodes.zoneIds names a zone twice",
    ),
    "existing-vpc-without-a-zone": (
        {
            "network.existingVpc": {
                "vpcId": "vpc-1",
                "privateSubnetIds": {"use1-az4": "subnet-1"},
            }
        },
        "privateSubnetIds has no subnet for use1-az6",
    ),
    "system-min-above-max": (
        {"systemNodes.minSize": 4},
        "gangway:systemNodes.minSize is 4, above maxSize 3",
    ),
    "gpu-min-above-max": (
        {"gpuNodes.minSizePerZone": 5},
        "gangway:gpuNodes.minSizePerZone is 5, above maxSizePerZone 4",
    ),
    "no-gpu-in-gpu-type": (
        {"gpuNodes.instanceTypes": ["t3.large", "g4dn.xlarge"]},
        "has t3.large, which has no GPU",
    ),
    "mixed-gpu-counts": (
        {"gpuNodes.instanceTypes": ["g4dn.xlarge", "g4dn.12xlarge"]},
        "mixes GPU counts: g4dn.xlarge (1), g4dn.12xlarge (4)",
    ),
    "mixed-gpu-models": (
        {"gpuNodes.instanceTypes": ["g4dn.xlarge", "g5.xlarge"]},
        "mixes GPU models: nvidia-a10g, nvidia-tesla-t4",
    ),
    "gpu-type-for-system-nodes": (
        {"systemNodes.instanceTypes": ["g4dn.xlarge"]},
        "gangway:systemNodes.instanceTypes has g4dn.xlarge, a GPU type",
    ),
    "al2-gpu-image": (
        {"gpuNodes.amiType": "AL2_x86_64_GPU"},
        "use AL2023_x86_64_NVIDIA (Kubernetes 1.35 has none at all)",
    ),
    "gpu-image-without-driver": (
        {"gpuNodes.amiType": "AL2023_x86_64_STANDARD"},
        "AL2023_x86_64_STANDARD, which has no NVIDIA driver",
    ),
    "image-with-its-own-plugin": (
        {"gpuNodes.amiType": "BOTTLEROCKET_x86_64_NVIDIA"},
        "which brings its own device plugin",
    ),
    "arm-gpu-image": (
        {"gpuNodes.amiType": "AL2023_ARM_64_NVIDIA"},
        "use AL2023_x86_64_NVIDIA",
    ),
    "gpu-image-for-system-nodes": (
        {"systemNodes.amiType": "AL2023_x86_64_NVIDIA"},
        "gangway:systemNodes.amiType is AL2023_x86_64_NVIDIA; allowed: AL2023_x86_64_STANDARD",
    ),
    "one-spot-pool": (
        {"gpuNodes.instanceTypes": ["g4dn.xlarge"], "gpuNodes.zoneIds": ["use1-az4"]},
        "a single spot pool that runs dry",
    ),
    "queue-named-twice": (
        {"queues": [{"name": "ml-queue"}, {"name": "ml-queue"}]},
        "gangway:queues names ml-queue twice",
    ),
    "queue-owned-by-volcano": (
        {"queues": [{"name": "ml-queue"}, {"name": "default"}]},
        "gangway:queues has 'default', which Volcano owns",
    ),
    "scripts-nowhere": (
        {"training.scriptDirectory": "nowhere"},
        "scriptDirectory is 'nowhere', which is no folder below the project's root",
    ),
    "scripts-without-train": (
        {"training.scriptDirectory": "trainer"},
        "worker.py; train.py with a function train(context) must be there",
    ),
    "job-queue-unknown": (
        {"trainingJob.queue": "ml-queu"},
        "gangway:trainingJob.queue is 'ml-queu'; allowed are the queues of gangway:queues",
    ),
    "parent-unknown": (
        {"queues": [{"name": "ml-queue", "parent": "research"}]},
        "has parent 'research', which is no queue",
    ),
    "job-in-a-parent-queue": (
        {"queues": [{"name": "ml-queue"}, {"name": "child", "parent": "ml-queue"}]},
        "'ml-queue', the parent of another queue; jobs go to leaf queues only",
    ),
    "queue-loop": (
        {
            "queues": [
                {"name": "ml-queue"},
                {"name": "a", "parent": "b"},
                {"name": "b", "parent": "a"},
            ]
        },
        "gangway:queues: a is its own ancestor (a -> b -> a)",
    ),
    "guarantee-without-deserved": (
        {"queues": [{"name": "ml-queue", "guarantee": {"cpu": "1"}}]},
        "guarantee is set without deserved",
    ),
    "guarantee-above-deserved": (
        {"queues": [{"name": "ml-queue", "guarantee": {"cpu": "2"}, "deserved": {"cpu": "1500m"}}]},
        "guarantee cpu is 2, above deserved 1500m",
    ),
    "deserved-above-capability": (
        {"queues": [{"name": "ml-queue", "deserved": {"nvidia.com/gpu": "9"}}]},
        "deserved nvidia.com/gpu is 9, above capability 8",
    ),
    "capability-above-fleet": (
        {
            "queues": [
                {
                    "name": "ml-queue",
                    "capability": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "9"},
                }
            ]
        },
        "capability nvidia.com/gpu is 9, more than the GPU fleet can reach (8)",
    ),
    "capability-without-memory": (
        {"queues": [{"name": "ml-queue", "capability": {"nvidia.com/gpu": "4", "cpu": "5"}}]},
        "capability lacks memory; capability must name every resource the jobs request",
    ),
    "capability-without-gpu": (
        {"queues": [{"name": "ml-queue", "capability": {"cpu": "8", "memory": "16Gi"}}]},
        "capability lacks nvidia.com/gpu",
    ),
    "gang-above-queue": (
        {
            "queues": [
                {
                    "name": "ml-queue",
                    "capability": {"cpu": "8", "memory": "16Gi", "nvidia.com/gpu": "2"},
                }
            ],
            "trainingJob.workers": 4,
        },
        "asks 4 workers x 1 nvidia.com/gpu = 4, above the capability of queue ml-queue (2)",
    ),
    "gang-above-zone": (
        {"trainingJob.workers": 5},
        "workers is 5; one zone x maxSizePerZone 4 x 1 workers a node (g4dn.xlarge) = 4",
    ),
    "gang-above-fleet": (
        {"trainingJob.workers": 9, "trainingJob.singleZone": False},
        "workers is 9; 2 zones x maxSizePerZone 4 x 1 workers a node (g4dn.xlarge) = 8",
    ),
    "two-gpus-on-one-gpu-nodes": (
        {"trainingJob.gpusPerWorker": 2},
        "2 GPU per worker; g4dn.xlarge offers",
    ),
    "whole-node-of-cpu": (
        {"trainingJob.cpuPerWorker": "4"},
        "asks 4 cpu, 4Gi memory and 1 GPU per worker; g4dn.xlarge offers 3670m cpu",
    ),
    "whole-node-of-memory": (
        {"trainingJob.memoryPerWorker": "16Gi"},
        "asks 2 cpu, 16Gi memory and 1 GPU per worker",
    ),
    "no-autoscaler-and-no-nodes": (
        {"autoscaling.enabled": False},
        "autoscaling.enabled is false and gangway:gpuNodes.minSizePerZone is 0, room for 0 of 2",
    ),
    "time-slicing-refuses-two": (
        {
            "devicePlugin.timeSlicing": {"replicas": 4},
            "trainingJob.gpusPerWorker": 2,
        },
        "timeSlicing refuses requests above 1 and gangway:trainingJob.gpusPerWorker is 2",
    ),
    "shared-memory-above-memory": (
        {"trainingJob.sharedMemory": "4Gi"},
        "sharedMemory is 4Gi and counts towards memoryPerWorker 4Gi; it must be smaller",
    ),
    "label-of-the-stack": (
        {"gpuNodes.extraLabels": {"nvidia.com/gpu.present": "false"}},
        "gangway:gpuNodes.extraLabels: extra labels set nvidia.com/gpu.present",
    ),
    "taint-of-the-stack": (
        {"gpuNodes.extraTaints": [{"key": "nvidia.com/gpu", "effect": "NoSchedule"}]},
        "extraTaints has 'nvidia.com/gpu', which the stack sets",
    ),
    "job-in-kube-system": (
        {"trainingJob.namespace": "kube-system"},
        "choose a namespace for training alone",
    ),
    "command-and-scripts": (
        {"training.command": ["python", "x.py"], "training.scriptDirectory": "scripts"},
        "sets both command and scriptDirectory",
    ),
    "unknown-addon": (
        {"cluster.addonVersions": {"core-dns": "v1.2.3-eksbuild.1"}},
        "gangway:cluster.addonVersions has core-dns; allowed: coredns",
    ),
    "extended-support": (
        {"cluster.version": "1.33"},
        "gangway:cluster.version '1.33' left EKS standard support on 2026-07-29",
    ),
}


@pytest.mark.parametrize(("changes", "sentence"), REFUSED.values(), ids=REFUSED)
def test_rejects(changes: dict[str, object], sentence: str) -> None:
    found = refused(changes)
    assert any(sentence in item for item in found), found


ACCEPTED = {
    "as-documented": {},
    "gang-fills-one-zone": {"trainingJob.workers": 4},
    "gang-fills-the-fleet": {"trainingJob.workers": 8, "trainingJob.singleZone": False},
    "cpu-just-fits": {"trainingJob.cpuPerWorker": "3670m"},
    "no-autoscaler-with-standing-nodes": {
        "autoscaling.enabled": False,
        "gpuNodes.minSizePerZone": 2,
    },
    "one-type-in-two-zones": {"gpuNodes.instanceTypes": ["g4dn.xlarge"]},
    "two-types-in-one-zone": {"gpuNodes.zoneIds": ["use1-az4"]},
    "one-pool-on-demand": {
        "gpuNodes.instanceTypes": ["g4dn.xlarge"],
        "gpuNodes.zoneIds": ["use1-az4"],
        "gpuNodes.capacityType": "ON_DEMAND",
    },
    "capability-equals-gang": {
        "queues": [
            {
                "name": "ml-queue",
                "capability": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"},
            }
        ]
    },
    "guarantee-deserved-capability-equal": {
        "queues": [
            {
                "name": "ml-queue",
                "capability": {"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "2"},
                "deserved": {"cpu": "4"},
                "guarantee": {"cpu": "4"},
            }
        ]
    },
    "child-queue": STANDING
    | {"queues": [{"name": "team"}, {"name": "ml-queue", "parent": "team"}]},
    "children-within-their-parent": STANDING
    | {
        "queues": [
            {"name": "team", "deserved": {"nvidia.com/gpu": "4"}},
            {"name": "ml-queue", "parent": "team", "deserved": {"nvidia.com/gpu": "4"}},
        ]
    },
    "seven-zones": {"network.availabilityZoneIds": [f"use1-az{n}" for n in (1, 2, 4, 5, 6, 7, 8)]},
    "roles-of-one-name-in-two-accounts": {
        "cluster.adminRoleArns": [
            "arn:aws:iam::111122223333:role/ci",
            "arn:aws:iam::444455556666:role/ci",
        ]
    },
    "extended-support-accepted": {
        "cluster.version": "1.33",
        "cluster.allowExtendedSupport": True,
    },
    "four-gpus-a-node": {
        "gpuNodes.instanceTypes": ["g4dn.12xlarge"],
        "trainingJob.gpusPerWorker": 4,
    },
}


@pytest.mark.parametrize("changes", ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(changes: dict[str, object]) -> None:
    assert refused(changes) == ()


def test_a_version_is_in_standard_support_on_its_last_day() -> None:
    accepted = settings({"cluster.version": "1.34"})
    assert problems.refusals(accepted, datetime.date(2026, 12, 2)) == []


def test_a_version_is_refused_the_day_after_standard_support() -> None:
    accepted = settings({"cluster.version": "1.34"})
    assert "1.34" in problems.refusals(accepted, datetime.date(2026, 12, 3))[0]


WARNED = {
    "private-endpoint-only": (
        {"cluster.publicAccessCidrs": []},
        "publicAccessCidrs is empty: the API server answers inside the VPC only",
    ),
    "documentation-range": (
        {"cluster.publicAccessCidrs": ["203.0.113.7/32"]},
        "203.0.113.7/32, a documentation range (RFC 5737)",
    ),
    "nobody-administers": ({"cluster.adminRoleArns": []}, "adminRoleArns is empty"),
    "no-preview-role": ({"cluster.previewRoleArns": []}, "previewRoleArns is empty"),
    "slices-of-one-card": (
        {"devicePlugin.timeSlicing": {"replicas": 4, "failRequestsGreaterThanOne": False}},
        "two slices may be the same card",
    ),
    "another-kubernetes-than-the-pins": (
        {"cluster.version": "1.34"},
        "gangway:cluster.version is 1.34; the pinned Volcano, autoscaler and kubectl are those of",
    ),
    "image-of-the-other-framework": (
        {"training.framework": "tensorflow"},
        "looks like one for pytorch; name an image that has tensorflow",
    ),
    "results-of-a-protected-cluster": (
        {"cluster.protect": True, "results.forceDestroy": True},
        "forceDestroy is true while gangway:cluster.protect is true",
    ),
}


@pytest.mark.parametrize(("changes", "sentence"), WARNED.values(), ids=WARNED)
def test_warns(changes: dict[str, object], sentence: str) -> None:
    found = problems.warnings(settings(changes))
    assert any(sentence in item for item in found), found


def test_complete_settings_raise_no_warning() -> None:
    assert problems.warnings(settings()) == []


@pytest.mark.parametrize("part", [gang_problems, network_problems])
def test_the_rules_of_each_part_are_among_the_rules(part: ModuleType) -> None:
    assert set(part.RULES) <= set(problems.RULES)


def test_every_rule_has_a_refusing_case() -> None:
    spoken = {
        rule.__name__
        for changes, _ in REFUSED.values()
        for rule in problems.RULES
        if list(rule(_unchecked(changes)))
    }
    assert {rule.__name__ for rule in problems.RULES} == spoken


def _unchecked(changes: dict[str, object]) -> Settings:
    """Settings that were parsed and not refused, whatever the rules say of them."""

    document = {key.removeprefix("gangway:"): value for key, value in raw(changes).items()}
    document["region"] = document.pop("aws:region")
    return Settings.model_validate_json(json.dumps({**document, "environment": "dev"}))
