import dataclasses
import stat
from pathlib import Path
from typing import Any

import pytest

from infra.rehearsal.pods.variables import NotYetError
from infra.rehearsal.pods.volumes import PodVolumes
from tests.infra.rehearsal.pods.test_variables import POD, SOURCES

TOKEN_VOLUME: dict[str, Any] = {
    "name": "kube-api-access",
    "projected": {
        "sources": [
            {"serviceAccountToken": {"path": "token", "expirationSeconds": 3607}},
            {
                "configMap": {
                    "name": "settings",
                    "items": [{"key": "LEVEL", "path": "ca.crt"}],
                }
            },
            {
                "downwardAPI": {
                    "items": [
                        {"path": "namespace", "fieldRef": {"fieldPath": "metadata.namespace"}}
                    ]
                }
            },
        ]
    },
}


def _volumes(folder: Path, *volumes: dict[str, Any]) -> PodVolumes:
    pod = {**POD, "spec": {**POD["spec"], "volumes": list(volumes)}}
    return PodVolumes(
        folder=folder, pod=pod, sources=SOURCES, request_token=lambda projection: "a-token"
    )


def test_a_service_account_volume_holds_token_authority_and_namespace(tmp_path: Path) -> None:
    volumes = _volumes(tmp_path, TOKEN_VOLUME)
    volumes.materialise()
    folder = tmp_path / "volumes" / "kube-api-access"
    assert {path.name: path.read_text() for path in folder.iterdir()} == {
        "token": "a-token",
        "ca.crt": "4",
        "namespace": "training",
    }


def test_secrets_are_readable_by_their_owner_only(tmp_path: Path) -> None:
    _volumes(tmp_path, {"name": "k", "secret": {"secretName": "keys"}}).materialise()
    mode = (tmp_path / "volumes" / "k" / "token").stat().st_mode
    assert stat.S_IMODE(mode) == 0o600


def test_a_missing_secret_is_waited_for_unless_it_is_optional(tmp_path: Path) -> None:
    with pytest.raises(NotYetError, match="secret absent not found"):
        _volumes(tmp_path, {"name": "k", "secret": {"secretName": "absent"}}).materialise()
    optional = {"name": "k", "secret": {"secretName": "absent", "optional": True}}
    _volumes(tmp_path, optional).materialise()
    assert list((tmp_path / "volumes" / "k").iterdir()) == []


def test_mounts_lie_below_the_containers_root(tmp_path: Path) -> None:
    volumes = _volumes(
        tmp_path,
        {"name": "code", "configMap": {"name": "settings"}},
        {"name": "scratch", "emptyDir": {"medium": "Memory"}},
    )
    container = {
        "name": "c",
        "volumeMounts": [
            {"name": "code", "mountPath": "/opt/gangway/trainer"},
            {"name": "code", "mountPath": "/one", "subPath": "LEVEL"},
            {"name": "scratch", "mountPath": "/run/shared/"},
        ],
    }
    volumes.materialise()
    mounts = volumes.mount(container)
    assert set(mounts) == {"/opt/gangway/trainer", "/one", "/run/shared"}
    assert (volumes.root(container) / "opt/gangway/trainer/LEVEL").read_text() == "4"
    assert mounts["/one"].read_text() == "4"
    (mounts["/run/shared"] / "x").write_text("1")
    assert volumes.mount(container) == mounts


def test_a_changed_map_reaches_its_mount(tmp_path: Path) -> None:
    data = {"volcano-scheduler.conf": "old"}
    sources = dataclasses.replace(SOURCES, config_map=lambda *_: dict(data))
    volumes = dataclasses.replace(
        _volumes(tmp_path, {"name": "conf", "configMap": {"name": "any"}}), sources=sources
    )
    volumes.materialise()
    data["volcano-scheduler.conf"] = "new"
    volumes.refresh()
    assert (tmp_path / "volumes/conf/volcano-scheduler.conf").read_text() == "new"


def test_nothing_is_left_of_a_pod(tmp_path: Path) -> None:
    volumes = _volumes(tmp_path / "pod", TOKEN_VOLUME)
    volumes.materialise()
    volumes.remove()
    assert not (tmp_path / "pod").exists()
