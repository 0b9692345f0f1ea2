import os
import shutil
from pathlib import Path
from typing import Any

import pytest

from infra.rehearsal.tools import go_build
from infra.rehearsal.tools.go_build import GoBuild
from infra.rehearsal.tools.model import SourceError
from tests.support.tools import SilentStep, workshop_in

BUILD = GoBuild(
    build_module="thing",
    module="example.org/thing",
    module_version="v1.2.3",
    package="example.org/thing/cmd",
    entry="thing",
    variables=(("main.version", "v1.2.3"), ("main.major", "1")),
)

STAND_IN = """#!/bin/sh
case "$1" in
  version) echo "go version go1.26.8 linux/amd64" ;;
  list) {list} ;;
  mod) ;;
  build)
    pwd > "$GANGWAY_TEST/folder"
    ls > "$GANGWAY_TEST/files"
    echo "$@" > "$GANGWAY_TEST/arguments"
    echo "example.org/thing/internal" >&2
    echo "example.org/thing/cmd" >&2
    {build} ;;
esac
"""
WRITE = 'while [ "$1" != "-o" ]; do shift; done; echo built > "$2"'


class Go:
    """A stand-in for the go command that notes what it is asked."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.says(build=WRITE)

    def says(self, *, build: str = WRITE, listing: str = "echo found") -> None:
        path = self.folder / "go"
        path.write_text(STAND_IN.format(list=listing, build=build), encoding="utf-8")
        path.chmod(0o755)

    def noted(self, name: str) -> str:
        return (self.folder / name).read_text(encoding="utf-8").strip()


@pytest.fixture
def go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Go:
    folder = tmp_path / "stand-in"
    folder.mkdir()
    stand_in = Go(folder)
    monkeypatch.setenv("GANGWAY_TEST", str(folder))
    monkeypatch.setattr(shutil, "which", lambda _: str(folder / "go"))
    modules = tmp_path / "modules"
    (modules / "thing").mkdir(parents=True)
    (modules / "thing" / "go.mod").write_text("module test", encoding="utf-8")
    monkeypatch.setattr(go_build, "BUILD_MODULES", modules)
    return stand_in


def fetch(folder: Path, source: GoBuild = BUILD) -> tuple[Path, SilentStep]:
    target, step = folder / "target", SilentStep()
    target.mkdir()
    source.fetch(target, workshop_in(folder), step)
    return target / "thing", step


def log_in(folder: Path) -> Path:
    return workshop_in(folder).settings.cache / "logs" / "thing-v1.2.3.log"


def test_the_built_program_is_placed(go: Go, tmp_path: Path) -> None:
    built, step = fetch(tmp_path)
    assert built.read_text(encoding="utf-8") == "built\n"
    assert step.details[-1] == "2 packages, example.org/thing/cmd"


def test_the_build_is_reproducible_and_carries_its_version(go: Go, tmp_path: Path) -> None:
    fetch(tmp_path)
    assert go.noted("arguments").startswith(
        "build -v -trimpath -ldflags -s -w -X main.version=v1.2.3 -X main.major=1 -o "
    )


def test_the_build_leaves_our_modules_alone(go: Go, tmp_path: Path) -> None:
    fetch(tmp_path)
    cache = workshop_in(tmp_path).settings.cache
    assert go.noted("folder").startswith(str(cache / ".partial"))
    assert not Path(go.noted("folder")).exists()


def test_embedded_files_lie_beside_our_main(go: Go, tmp_path: Path) -> None:
    published = tmp_path / "published"
    (published / "cmd").mkdir(parents=True)
    (published / "cmd" / "schema.json").write_text("{}", encoding="utf-8")
    go.says(listing=f"echo {published}")
    source = GoBuild(
        build_module="thing",
        module="example.org/thing",
        module_version="v1.2.3",
        package=".",
        entry="thing",
        embedded=("cmd/schema.json",),
    )
    fetch(tmp_path, source)
    assert go.noted("files").split() == ["go.mod", "schema.json"]


def test_the_log_keeps_what_the_build_said(go: Go, tmp_path: Path) -> None:
    fetch(tmp_path)
    assert log_in(tmp_path).read_text(encoding="utf-8").splitlines() == [
        "example.org/thing/internal",
        "example.org/thing/cmd",
    ]


def test_rejects_a_failed_build_with_its_last_words_and_the_log(go: Go, tmp_path: Path) -> None:
    go.says(build="echo 'thing.go:3: broken' >&2; exit 1")
    with pytest.raises(SourceError) as caught:
        fetch(tmp_path)
    log = log_in(tmp_path)
    assert str(caught.value) == f"the Go build failed: thing.go:3: broken (log: {log})"


def test_an_interruption_ends_the_build(go: Go, tmp_path: Path) -> None:
    go.says(build='echo $$ > "$GANGWAY_TEST/pid"; echo started >&2; exec tail -f /dev/null')

    class Impatient(SilentStep):
        def detail(self, text: str) -> None:
            if "started" in text:
                raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        BUILD.fetch(tmp_path, workshop_in(tmp_path), Impatient())
    with pytest.raises(ProcessLookupError):
        os.kill(int(go.noted("pid")), 0)


def test_asking_tells_module_and_toolchain(go: Go, tmp_path: Path) -> None:
    place = BUILD.probe(workshop_in(tmp_path))
    assert place == f"example.org/thing@v1.2.3 with {go.folder}/go"


def test_a_module_is_looked_up_once_for_all_its_programs(go: Go, tmp_path: Path) -> None:
    workshop = workshop_in(tmp_path)
    BUILD.probe(workshop)
    go.says(listing="exit 1")
    assert BUILD.probe(workshop).startswith("example.org/thing@v1.2.3")


def test_rejects_a_module_that_the_proxy_does_not_have(go: Go, tmp_path: Path) -> None:
    go.says(listing="echo 'unknown revision v1.2.3' >&2; exit 1")
    workshop: Any = workshop_in(tmp_path)
    for _ in range(2):
        with pytest.raises(SourceError, match=r"go failed: unknown revision v1\.2\.3"):
            BUILD.probe(workshop)
