"""The tools as they are: got by the real code, run by name. Slow only where nothing is cached."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from time import monotonic

import pytest
from rich.console import Console

from infra.rehearsal.tools.archive import sha256_of
from infra.rehearsal.tools.cache import ToolCache
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.rehearsal.tools.model import Tool
from infra.rehearsal.tools.resolve import check, resolve
from infra.rehearsal.tools.settings import ToolSettings

pytestmark = pytest.mark.enable_socket

PLUGINS = {
    name: tool.version for name, tool in CATALOGUE.items() if name.startswith("pulumi-resource-")
}
TELL_THEIR_VERSION = sorted(name for name, tool in CATALOGUE.items() if tool.on_path)


@pytest.fixture(scope="module")
def paths() -> Mapping[str, Path]:
    return resolve(CATALOGUE, Console())


def test_every_tool_is_here_afterwards(paths: Mapping[str, Path]) -> None:
    assert set(paths) == set(CATALOGUE)
    assert [row.tool.name for row in check(CATALOGUE) if row.path is None] == []


@pytest.mark.parametrize("name", TELL_THEIR_VERSION)
def test_a_program_runs_and_tells_the_pinned_version(paths: Mapping[str, Path], name: str) -> None:
    rule = CATALOGUE[name].on_path
    assert rule is not None
    done = subprocess.run(  # noqa: S603 our own tool
        [paths[name], *rule.arguments],
        capture_output=True,
        check=True,
        env={**os.environ, "PULUMI_SKIP_UPDATE_CHECK": "true"},
        text=True,
        timeout=30,
    )
    assert CATALOGUE[name].version in done.stdout


@pytest.mark.parametrize("name", sorted(PLUGINS))
def test_a_provider_starts_and_tells_its_port(paths: Mapping[str, Path], name: str) -> None:
    """A plugin's first words are the port it serves; the engine address need not answer."""
    with subprocess.Popen(  # noqa: S603 our own tool
        [paths[name], "127.0.0.1:1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            assert process.stdout is not None
            assert re.fullmatch(r"\d+\n", process.stdout.readline())
        finally:
            process.kill()


def test_the_autoscaler_knows_aws(paths: Mapping[str, Path]) -> None:
    done = subprocess.run(  # noqa: S603 our own tool
        [paths["cluster-autoscaler"], "--help"],
        capture_output=True,
        check=False,
        text=True,
        timeout=30,
    )
    assert re.search(r"cloud-provider.*\baws\b", done.stdout + done.stderr)


def test_a_check_takes_seconds(paths: Mapping[str, Path]) -> None:
    started = monotonic()
    check(CATALOGUE)
    assert monotonic() - started < 5


def test_a_clean_machine_builds_etcd_from_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With empty caches, and with no release to download, only the module proxy is needed."""
    if shutil.which("go") is None:
        pytest.skip("no Go on PATH")
    for name, folder in {
        "GANGWAY_CACHE": "cache",
        "GOMODCACHE": "modules",
        "GOCACHE": "objects",
    }.items():
        monkeypatch.setenv(name, str(tmp_path / folder))
    tool = CATALOGUE["etcd"]
    only_build = Tool(
        name=tool.name,
        version=tool.version,
        why=tool.why,
        megabytes=tool.megabytes,
        sources=tool.sources[-1:],
    )
    monkeypatch.setitem(CATALOGUE, "etcd", only_build)  # type: ignore[arg-type]
    built = resolve(["etcd"], Console())["etcd"]
    found = ToolCache(ToolSettings.from_environment(os.environ).cache).find(only_build)
    assert found is not None
    assert found.origin == "Go build"
    again = resolve(["etcd"], Console())["etcd"]
    assert sha256_of(again) == sha256_of(built)
    clean_modules(tmp_path / "modules")


def clean_modules(folder: Path) -> None:
    """Make the module cache removable: Go writes it read-only."""
    subprocess.run(
        ["go", "clean", "-modcache"],  # noqa: S607 the Go of PATH
        check=True,
        env={**os.environ, "GOMODCACHE": str(folder)},
    )
