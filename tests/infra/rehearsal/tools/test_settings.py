from pathlib import Path

import pytest

from infra.errors import UsageError
from infra.rehearsal.tools.settings import ToolSettings, cache_folder


def settings(tmp_path: Path, **environ: str) -> ToolSettings:
    return ToolSettings.from_environment(environ, repository_root=tmp_path / "repository")


def mirror_at(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "SHA256SUMS").write_text("", encoding="utf-8")
    return folder


def test_the_cache_is_where_gangway_cache_says() -> None:
    both = {"GANGWAY_CACHE": "/own", "XDG_CACHE_HOME": "/xdg"}
    assert cache_folder(both) == Path("/own")


def test_the_cache_follows_the_desktop_setting() -> None:
    assert cache_folder({"XDG_CACHE_HOME": "/xdg"}) == Path("/xdg/gangway")


def test_the_cache_is_in_the_home_folder_by_default() -> None:
    assert cache_folder({}) == Path.home() / ".cache" / "gangway"


def test_a_mirror_beside_the_repository_is_used(tmp_path: Path) -> None:
    beside = mirror_at(tmp_path / "shared" / "mirror")
    assert settings(tmp_path).mirror == beside


def test_no_mirror_is_used_where_there_is_none(tmp_path: Path) -> None:
    assert settings(tmp_path).mirror is None


def test_a_mirror_may_be_a_url(tmp_path: Path) -> None:
    found = settings(tmp_path, GANGWAY_MIRROR="https://mirror.example.org/gangway/")
    assert found.mirror == "https://mirror.example.org/gangway"


def test_rejects_a_mirror_that_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"GANGWAY_MIRROR is '/nowhere', which is no folder: set"):
        settings(tmp_path, GANGWAY_MIRROR="/nowhere")


def test_rejects_a_mirror_without_checksums(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="which holds no file SHA256SUMS"):
        settings(tmp_path, GANGWAY_MIRROR=str(tmp_path))


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("registry.example.org", "https://registry.example.org"),
        ("registry.example.org:5000/hub/", "https://registry.example.org:5000/hub"),
        ("127.0.0.1:5000", "http://127.0.0.1:5000"),
        ("http://registry.example.org", "http://registry.example.org"),
    ],
)
def test_a_registry_is_a_host_or_url(tmp_path: Path, given: str, url: str) -> None:
    assert settings(tmp_path, GANGWAY_REGISTRY=given).registry == url


@pytest.mark.parametrize("given", ["ftp://registry.example.org", "https://", "/srv/registry"])
def test_rejects_a_registry_that_is_neither(tmp_path: Path, given: str) -> None:
    with pytest.raises(UsageError, match=f"GANGWAY_REGISTRY is '{given}': allowed is a host"):
        settings(tmp_path, GANGWAY_REGISTRY=given)
