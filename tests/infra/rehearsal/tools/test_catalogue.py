import re
from pathlib import Path

import pytest

from components.versions import KUBECTL_IMAGE
from infra.rehearsal.tools import catalogue
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.rehearsal.tools.go_build import BUILD_MODULES, GoBuild
from infra.rehearsal.tools.mirror import MirrorFile
from infra.rehearsal.tools.model import Tool
from infra.rehearsal.tools.official import ReleaseFile

EXPECTED = {
    "pulumi",
    "pulumi-resource-kubernetes",
    "pulumi-resource-eks",
    "kube-apiserver",
    "kube-controller-manager",
    "kube-scheduler",
    "kubectl",
    "etcd",
    "kwok",
    "kwokctl",
    "vc-scheduler",
    "vc-controller-manager",
    "vc-webhook-manager",
    "cluster-autoscaler",
    "volcano-chart",
    "nvidia-device-plugin-chart",
    "cluster-autoscaler-chart",
}
TOOLS = list(CATALOGUE.values())
BUILDS = [source for tool in TOOLS for source in tool.sources if isinstance(source, GoBuild)]


def test_the_catalogue_holds_every_tool_of_the_rehearsal() -> None:
    assert set(CATALOGUE) == EXPECTED


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_tool_says_why_and_has_two_places_to_come_from(tool: Tool) -> None:
    assert tool.why
    assert len(tool.sources) >= 2


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_a_mirror_comes_before_official_downloads_and_those_before_builds(tool: Tool) -> None:
    order = ["mirror", "official download", "Helm repository", "image layers", "Go build"]
    kinds = [order.index(source.kind) for source in tool.sources]
    assert kinds == sorted(kinds)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_source_gives_the_tools_main_file(tool: Tool) -> None:
    entries = {getattr(source, "entry", None) for source in tool.sources}
    assert entries == {tool.entry}


def test_mirror_files_are_pinned_by_their_sums() -> None:
    sums = {
        source.sha256 for tool in TOOLS for source in tool.sources if isinstance(source, MirrorFile)
    }
    assert len(sums) == 6
    assert all(re.fullmatch(r"[0-9a-f]{64}", value) for value in sums)


def test_only_kwok_is_downloaded_without_a_published_sum() -> None:
    unchecked = {
        tool.name
        for tool in TOOLS
        for source in tool.sources
        if isinstance(source, ReleaseFile) and source.checksums is None
    }
    assert unchecked == {"kwok", "kwokctl"}


@pytest.mark.parametrize("build", BUILDS, ids=lambda build: build.entry)
def test_a_build_is_pinned_by_its_module_files(build: GoBuild) -> None:
    folder = BUILD_MODULES / build.build_module
    required = (folder / "go.mod").read_text(encoding="utf-8")
    assert re.search(
        rf"{re.escape(build.module)} {re.escape(build.module_version)}(\s|$)", required
    )
    summed = (folder / "go.sum").read_text(encoding="utf-8")
    assert f"{build.module} {build.module_version} h1:" in summed


def test_kubectl_is_the_one_of_the_readiness_gate() -> None:
    assert KUBECTL_IMAGE.endswith(f":v{CATALOGUE['kubectl'].version}")


@pytest.mark.parametrize(
    ("package", "version"),
    [("pulumi-kubernetes", catalogue.PULUMI_KUBERNETES_VERSION)],
)
def test_a_provider_has_the_version_of_its_sdk(package: str, version: str) -> None:
    assert f"{package}=={version} " in Path("requirements.txt").read_text(encoding="utf-8")


def test_the_engine_is_not_older_than_its_sdk() -> None:
    requirements = Path("requirements.txt").read_text(encoding="utf-8")
    sdk = re.search(r"^pulumi==([\d.]+)", requirements, re.MULTILINE)
    rule = CATALOGUE["pulumi"].on_path
    assert sdk is not None
    assert rule is not None
    assert rule.at_least == sdk.group(1)
    assert rule.fits(CATALOGUE["pulumi"].version, CATALOGUE["pulumi"].version)
