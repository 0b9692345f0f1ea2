"""Rules of a single value."""

import datetime
import re
from collections.abc import Callable, Mapping

import pytest

from stacks import rules

REFUSED: dict[str, tuple[Callable[[str], str], str, str]] = {
    "version-with-v": (rules.kubernetes_version, "v1.34", "'v1.34' is no Kubernetes version"),
    "version-with-patch": (rules.kubernetes_version, "1.34.2", "is no Kubernetes version"),
    "version-cut-by-yaml": (rules.kubernetes_version, "1.3", "is no Kubernetes version"),
    "version-dead": (rules.kubernetes_version, "1.24", "'1.24' is not offered by EKS; choose"),
    "cidr-no-network": (rules.network_cidr, "10.0.0.1/16", "'10.0.0.1/16' is no IPv4 network"),
    "cidr-words": (rules.network_cidr, "all", "'all' is no IPv4 network"),
    "vpc-too-small": (rules.vpc_cidr, "10.0.0.0/24", "has prefix /24; allowed: /16 to /20"),
    "vpc-too-large": (rules.vpc_cidr, "10.0.0.0/8", "has prefix /8; allowed: /16 to /20"),
    "vpc-public": (rules.vpc_cidr, "8.8.0.0/16", "is not a private range"),
    "endpoint-open": (rules.public_access_cidr, "0.0.0.0/0", "opens the API server"),
    "endpoint-half-open": (rules.public_access_cidr, "128.0.0.0/1", "opens the API server"),
    "effect-lower": (rules.taint_effect, "noschedule", "'noschedule' is no taint effect"),
    "effect-typo": (
        rules.taint_effect,
        "NoScheduel",
        "allowed, in this spelling: NoSchedule, NoExecute, PreferNoSchedule",
    ),
    "image-latest": (rules.image, "nvidia/cuda:latest", "changes under you"),
    "image-untagged": (rules.image, "nvidia/cuda", "has no tag"),
    "image-port-is-no-tag": (rules.image, "registry:5000/app", "has no tag"),
    "image-deleted-11": (rules.image, "nvidia/cuda:11.0-base", "was deleted from the registry"),
    "image-deleted-10": (
        rules.image,
        "docker.io/nvidia/cuda:10.2-devel-ubuntu18.04",
        "was deleted from the registry",
    ),
    "endpoint-private": (rules.public_access_cidr, "10.1.0.0/16", "'10.1.0.0/16' is a private"),
    "image-with-a-space": (rules.image, "a b:1", "'a b:1' is no image"),
    "image-bad-digest": (rules.image, "app@sha256:zz", "'app@sha256:zz' is no image"),
    "region-words": (rules.region, "Ireland", "'Ireland' is no AWS region"),
    "region-china": (rules.region, "cn-north-1", "lies in a partition of its own"),
    "region-govcloud": (rules.region, "us-gov-west-1", "lies in a partition of its own"),
    "region-isolated": (rules.region, "us-iso-east-1", "lies in a partition of its own"),
    "quantity-zero": (rules.quantity, "0", "'0' is nothing"),
    "quantity-words": (rules.quantity, "two", "'two' is no Kubernetes quantity"),
    "memory-in-cores": (rules.memory, "500m", "'500m' is too little memory"),
    "spelled-with-a-line-break": (rules.spelled("[a-z]+", "word"), "a\n", "is no word"),
    "prefix-upwards": (rules.key_prefix, "logs/../", "is no key prefix"),
    "bucket-upper": (rules.bucket_name, "Results", "'Results' is no bucket name"),
    "bucket-underscore": (rules.bucket_name, "my_results", "is no bucket name"),
    "bucket-long": (rules.bucket_name, "a" * 64, "is no bucket name"),
    "bucket-short": (rules.bucket_name, "ab", "is no bucket name"),
    "prefix-open": (rules.key_prefix, "logs", "'logs' is no key prefix"),
    "prefix-root": (rules.key_prefix, "/", "is no key prefix"),
    "prefix-wild": (rules.key_prefix, "*/", "is no key prefix"),
}


@pytest.mark.parametrize(("rule", "value", "sentence"), REFUSED.values(), ids=REFUSED)
def test_rejects(rule: Callable[[str], str], value: str, sentence: str) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        rule(value)


MAPPINGS_REFUSED: dict[
    str, tuple[Callable[[Mapping[str, str]], Mapping[str, str]], dict[str, str], str]
] = {
    "half-a-gpu": (rules.resources, {"nvidia.com/gpu": "500m"}, "devices come whole"),
    "tag-of-aws": (rules.tags, {"aws:x": "y"}, "'aws:x' is set by AWS or by the stack"),
    "tag-of-the-stack": (rules.tags, {"gangway:project": "y"}, "is set by AWS or by the stack"),
    "tag-key-long": (rules.tags, {"k" * 129: "y"}, "is no tag key; up to 128"),
    "tag-value-odd": (rules.tags, {"k": "a;b"}, "'k' has the value 'a;b'; up to 256"),
    "tags-too-many": (rules.tags, {str(n): "" for n in range(41)}, "41 tags; allowed: 40"),
    "mirror-with-scheme": (
        rules.registry_mirrors,
        {"docker.io": "https://mirror.example"},
        "without https://",
    ),
    "mirror-of-no-registry": (
        rules.registry_mirrors,
        {"dockerhub": "mirror.example"},
        "'dockerhub' is no registry",
    ),
    "repository-of-no-chart": (
        rules.chart_repositories,
        {"vulcano": "https://x.example"},
        "'vulcano' is no chart of this stack; allowed: cluster-autoscaler, nvidia-device-plugin",
    ),
    "repository-of-no-address": (
        rules.chart_repositories,
        {"volcano": "charts/volcano"},
        "begins with https://",
    ),
}


@pytest.mark.parametrize(
    ("rule", "values", "sentence"), MAPPINGS_REFUSED.values(), ids=MAPPINGS_REFUSED
)
def test_rejects_in_a_mapping(
    rule: Callable[[Mapping[str, str]], Mapping[str, str]],
    values: dict[str, str],
    sentence: str,
) -> None:
    with pytest.raises(ValueError, match=re.escape(sentence)):
        rule(values)


def test_mappings_of_the_right_kind_are_accepted() -> None:
    mirrors = {"docker.io": "111122223333.dkr.ecr.us-east-1.amazonaws.com/docker-hub"}
    assert rules.registry_mirrors(mirrors) == mirrors
    assert rules.tags({"cost center": "ml/é"}) == {"cost center": "ml/é"}
    assert rules.resources({"cpu": "500m", "nvidia.com/gpu": "2"})
    assert rules.chart_repositories({"volcano": "https://charts.example/v"})


ACCEPTED: dict[str, tuple[Callable[[str], str], str]] = {
    "version": (rules.kubernetes_version, "1.35"),
    "vpc-16": (rules.vpc_cidr, "10.20.0.0/16"),
    "vpc-20": (rules.vpc_cidr, "192.168.16.0/20"),
    "endpoint-one-address": (rules.public_access_cidr, "198.18.0.1/32"),
    "endpoint-8": (rules.public_access_cidr, "17.0.0.0/8"),
    "image-tag": (rules.image, "registry:5000/app:1.2"),
    "image-digest": (rules.image, "app@sha256:" + "0" * 64),
    "image-cuda-12": (rules.image, "nvidia/cuda:12.9.2-base-ubuntu24.04"),
    "bucket": (rules.bucket_name, "gangway-results-1"),
    "bucket-63": (rules.bucket_name, "a" * 63),
    "prefix": (rules.key_prefix, "team/logs/"),
}


@pytest.mark.parametrize(("rule", "value"), ACCEPTED.values(), ids=ACCEPTED)
def test_accepts(rule: Callable[[str], str], value: str) -> None:
    assert rule(value) == value


@pytest.mark.parametrize("spelling", ["NoSchedule", "NO_SCHEDULE"])
def test_both_spellings_of_an_effect_become_one(spelling: str) -> None:
    assert rules.taint_effect(spelling) == "NoSchedule"


def test_extended_support_can_be_accepted() -> None:
    today = datetime.date(2026, 11, 30)
    assert rules.extended_support("1.33", allowed=True, today=today) == []


@pytest.mark.parametrize("values", [(), ("g4dn.xlarge", "g4dn.xlarge")], ids=["none", "twice"])
def test_rejects_instance_types_that_are_not_distinct(values: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="at least 1 distinct instance types"):
        rules.instance_types(values)


def test_rejects_an_unknown_instance_type() -> None:
    with pytest.raises(ValueError, match=r"'g4dn.tiny' is not an instance type known here"):
        rules.instance_types(("g4dn.tiny",))
