import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from infra.rehearsal.tools.model import SourceError, Workshop
from infra.rehearsal.tools.registry import ImageFile
from infra.rehearsal.tools.settings import Machine
from infra.rehearsal.tools.web import Web
from tests.support.tools import (
    LINUX,
    Reply,
    SilentStep,
    TinyWeb,
    sha256,
    tar_of,
    tiny_web,
    workshop_in,
)

pytestmark = pytest.mark.enable_socket

IMAGE = ImageFile(
    host="docker.io", repository="volcanosh/thing", tag="v1", path="thing", entry="thing"
)
API = "/v2/volcanosh/thing"


def publish(web: TinyWeb, *layers: Mapping[str, bytes], architecture: str = "amd64") -> None:
    """Serve an image index with one image, its layers from the bottom up."""
    rows = []
    for layer in layers:
        blob = tar_of(layer)
        rows.append({"digest": f"sha256:{sha256(blob)}"})
        web.routes[f"{API}/blobs/sha256:{sha256(blob)}"] = Reply(blob)
    manifest = json.dumps({"layers": rows}).encode()
    digest = f"sha256:{sha256(manifest)}"
    platform = {"os": "linux", "architecture": architecture}
    attestation = {"digest": "sha256:0", "platform": {"os": "unknown", "architecture": "unknown"}}
    index = {"manifests": [attestation, {"digest": digest, "platform": platform}]}
    web.routes[f"{API}/manifests/v1"] = Reply(json.dumps(index).encode())
    web.routes[f"{API}/manifests/{digest}"] = Reply(manifest)


@pytest.fixture
def registry() -> Iterator[TinyWeb]:
    with tiny_web() as web:
        yield web


def at(registry: TinyWeb, folder: Path, machine: Machine = LINUX) -> Workshop:
    return workshop_in(folder, registry=registry.url, web=Web(), machine=machine)


def fetch(registry: TinyWeb, folder: Path) -> bytes:
    target = folder / "target"
    target.mkdir()
    IMAGE.fetch(target, at(registry, folder), SilentStep())
    return (target / "thing").read_bytes()


def behind_a_token(web: TinyWeb) -> None:
    """Make every route but the token's answer 401 to who brings none."""
    challenge = f'Bearer realm="{web.url}/token",service="registry.test",scope="a:b:pull"'

    def guarded(reply: Any) -> Any:
        def answer(headers: Mapping[str, str]) -> Reply:
            if headers.get("Authorization") == "Bearer let-me-in":
                assert isinstance(reply, Reply)
                return reply
            return Reply(status=401, headers={"WWW-Authenticate": challenge})

        return answer

    web.routes = {path: guarded(reply) for path, reply in web.routes.items()}
    token = "/token?service=registry.test&scope=a%3Ab%3Apull"  # noqa: S105 a URL
    web.routes[token] = Reply(b'{"token": "let-me-in"}')


def test_the_program_comes_out_of_the_image_for_this_machine(
    registry: TinyWeb, tmp_path: Path
) -> None:
    publish(registry, {"etc/passwd": b""}, {"thing": b"program"})
    assert fetch(registry, tmp_path) == b"program"


def test_the_topmost_layer_with_the_program_wins(registry: TinyWeb, tmp_path: Path) -> None:
    publish(registry, {"thing": b"old"}, {"thing": b"new"}, {"etc/motd": b""})
    assert fetch(registry, tmp_path) == b"new"


def test_an_anonymous_token_is_fetched_where_one_is_asked_for(
    registry: TinyWeb, tmp_path: Path
) -> None:
    publish(registry, {"thing": b"program"})
    behind_a_token(registry)
    assert fetch(registry, tmp_path) == b"program"


def test_an_image_without_an_index_will_do(registry: TinyWeb, tmp_path: Path) -> None:
    blob = tar_of({"thing": b"program"})
    manifest = {"layers": [{"digest": f"sha256:{sha256(blob)}"}]}
    registry.routes[f"{API}/manifests/v1"] = Reply(json.dumps(manifest).encode())
    registry.routes[f"{API}/blobs/sha256:{sha256(blob)}"] = Reply(blob)
    assert fetch(registry, tmp_path) == b"program"


def test_asking_leaves_the_layers_alone(registry: TinyWeb, tmp_path: Path) -> None:
    publish(registry, {"thing": b"program"})
    place = IMAGE.probe(at(registry, tmp_path))
    assert place == f"{registry.url}/volcanosh/thing:v1"
    assert not [path for _, path, _ in registry.requests if "/blobs/" in path]


def test_docker_hub_is_asked_at_its_api_host(tmp_path: Path) -> None:
    workshop = workshop_in(tmp_path)
    with pytest.raises(SourceError, match=r"registry-1\.docker\.io cannot be reached"):
        IMAGE.probe(workshop)


def test_rejects_a_layer_with_other_bytes(registry: TinyWeb, tmp_path: Path) -> None:
    publish(registry, {"thing": b"program"})
    blob = next(path for path in registry.routes if "/blobs/" in path)
    registry.routes[blob] = Reply(tar_of({"thing": b"evil"}))
    with pytest.raises(SourceError, match="the registry sent other bytes than sha256:"):
        fetch(registry, tmp_path)


def test_rejects_a_manifest_with_other_bytes(registry: TinyWeb, tmp_path: Path) -> None:
    publish(registry, {"thing": b"program"})
    manifest = next(path for path in registry.routes if "/manifests/sha256:" in path)
    registry.routes[manifest] = Reply(b"{}")
    with pytest.raises(SourceError, match="the registry sent other bytes than sha256:"):
        IMAGE.probe(at(registry, tmp_path))


def test_rejects_an_image_without_the_program(registry: TinyWeb, tmp_path: Path) -> None:
    publish(registry, {"other": b""})
    with pytest.raises(SourceError, match="no layer of volcanosh/thing:v1 holds /thing"):
        fetch(registry, tmp_path)


def test_rejects_an_image_for_other_machines_only(registry: TinyWeb, tmp_path: Path) -> None:
    publish(registry, {"thing": b"program"}, architecture="s390x")
    with pytest.raises(SourceError, match="volcanosh/thing:v1 has no image for linux/amd64"):
        IMAGE.probe(at(registry, tmp_path))


def test_rejects_a_tag_that_is_not_there(registry: TinyWeb, tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="/manifests/v1: HTTP 404"):
        IMAGE.probe(at(registry, tmp_path))


def test_rejects_a_registry_that_wants_a_password(registry: TinyWeb, tmp_path: Path) -> None:
    headers = {"WWW-Authenticate": 'Basic realm="x"'}
    registry.routes[f"{API}/manifests/v1"] = Reply(status=401, headers=headers)
    with pytest.raises(SourceError, match="asks for a login; only anonymous pulls are made"):
        IMAGE.probe(at(registry, tmp_path))


@pytest.mark.parametrize("body", [b"<html>", b"[]"])
def test_rejects_what_is_no_manifest(registry: TinyWeb, tmp_path: Path, body: bytes) -> None:
    registry.routes[f"{API}/manifests/v1"] = Reply(body)
    with pytest.raises(SourceError, match="/manifests/v1 is no manifest"):
        IMAGE.probe(at(registry, tmp_path))
