"""Pins that must agree with one another."""

import datetime
import re

import pytest

from components import versions

CHARTS = (
    versions.VOLCANO_CHART,
    versions.NVIDIA_DEVICE_PLUGIN_CHART,
    versions.CLUSTER_AUTOSCALER_CHART,
)


@pytest.mark.parametrize("pin", CHARTS, ids=lambda pin: pin.chart)
def test_a_chart_is_pinned_to_one_version(pin: versions.ChartPin) -> None:
    assert re.fullmatch(r"\d+\.\d+\.\d+", pin.version)


@pytest.mark.parametrize("pin", CHARTS, ids=lambda pin: pin.chart)
def test_a_chart_comes_over_https(pin: versions.ChartPin) -> None:
    assert pin.repository.startswith("https://")


def test_volcanos_images_are_those_of_its_chart() -> None:
    assert f"v{versions.VOLCANO_CHART.version}" == versions.VOLCANO_IMAGE_TAG


@pytest.mark.parametrize(
    "tag", [versions.CLUSTER_AUTOSCALER_IMAGE_TAG, versions.KUBECTL_IMAGE.rpartition(":")[2]]
)
def test_what_must_match_the_cluster_has_its_minor_version(tag: str) -> None:
    assert tag.startswith(f"v{versions.DEFAULT_KUBERNETES_VERSION}.")


def test_the_default_kubernetes_version_is_in_standard_support() -> None:
    support = versions.EKS_KUBERNETES_SUPPORT[versions.DEFAULT_KUBERNETES_VERSION]
    assert support.standard_until > "2026-11-30"


@pytest.mark.parametrize("version", versions.EKS_KUBERNETES_SUPPORT)
def test_extended_support_ends_after_standard_support(version: str) -> None:
    support = versions.EKS_KUBERNETES_SUPPORT[version]
    standard, extended = (
        datetime.date.fromisoformat(day) for day in (support.standard_until, support.extended_until)
    )
    assert standard < extended


@pytest.mark.parametrize("framework", versions.TRAINING_IMAGES)
def test_a_training_image_has_a_full_tag(framework: str) -> None:
    tag = versions.TRAINING_IMAGES[framework].rpartition(":")[2]
    assert re.match(r"\d+\.\d+", tag)
