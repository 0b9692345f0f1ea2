from pathlib import Path

import pytest

from infra.errors import MissingToolError
from infra.rehearsal import control_plane, control_plane_files
from infra.rehearsal.control_plane_files import (
    AUDIT_POLICY,
    PORT_OPTIONS,
    configuration,
    egress_configuration,
    kubeconfig_content,
    service_proxy_socket,
)
from infra.rehearsal.state import StateFolder

TOOLS = {name: Path("/tools") / name for name in control_plane.TOOLS}


@pytest.fixture
def documents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[dict[str, object]]:
    ports = iter(range(20_000, 20_100))
    monkeypatch.setattr(control_plane_files, "free_port", lambda: next(ports))
    return configuration(StateFolder.named("dev", tmp_path), TOOLS)


def test_every_port_is_chosen_and_no_two_are_the_same(documents: list[dict[str, dict]]) -> None:
    chosen = [documents[0]["options"][option] for option in PORT_OPTIONS]
    assert len(set(chosen)) == len(PORT_OPTIONS) == 6


def test_everything_listens_on_loopback(documents: list[dict[str, dict]]) -> None:
    assert documents[0]["options"]["bindAddress"] == "127.0.0.1"


def test_the_api_server_takes_the_rehearsals_token_and_proxy(
    documents: list[dict[str, list]],
) -> None:
    (server,) = [
        patch for patch in documents[0]["componentsPatches"] if patch["name"] == "kube-apiserver"
    ]
    keys = {argument["key"] for argument in server["extraArgs"]}
    assert {"token-auth-file", "egress-selector-config-file"} <= keys
    assert not any(argument.get("override") for argument in server["extraArgs"])


def test_the_stages_are_ours_for_pods_and_nodes(documents: list[dict[str, dict]]) -> None:
    kinds = {item["spec"]["resourceRef"]["kind"] for item in documents if item["kind"] == "Stage"}
    assert kinds == {"Pod", "Node"}


def test_bindings_are_audited_with_their_target() -> None:
    (rule,) = [
        rule
        for rule in AUDIT_POLICY["rules"]
        if any("pods/binding" in group["resources"] for group in rule.get("resources", []))
    ]
    assert rule["level"] == "Request"


def test_services_are_reached_through_the_socket() -> None:
    (selection,) = egress_configuration(Path("/s"))["egressSelections"]
    assert selection["name"] == "cluster"
    assert selection["connection"]["transport"] == {"uds": {"udsName": "/s"}}


def test_a_long_folder_gets_a_short_socket(tmp_path: Path) -> None:
    deep = StateFolder(tmp_path / ("a" * 90))
    assert len(str(service_proxy_socket(deep))) < 100
    assert service_proxy_socket(deep) == service_proxy_socket(StateFolder(deep.path))
    assert service_proxy_socket(deep) != service_proxy_socket(StateFolder(tmp_path / ("b" * 90)))


def test_a_kubeconfig_names_one_cluster_and_user() -> None:
    content = kubeconfig_content("https://127.0.0.1:1", "Q0E=", {"token": "t"})
    assert content["clusters"][0]["cluster"]["server"] == "https://127.0.0.1:1"
    assert content["users"][0]["user"] == {"token": "t"}


def test_rejects_missing_tools_by_name_before_anything_starts() -> None:
    with pytest.raises(MissingToolError, match=r"needs etcd, kwokctl: run `gangway rehearse tools"):
        control_plane.require_tools(
            {name: path for name, path in TOOLS.items() if name not in ("etcd", "kwokctl")}
        )


def test_a_rehearsal_without_a_control_plane_has_no_components(tmp_path: Path) -> None:
    state = StateFolder.named("dev", tmp_path)
    assert control_plane.status(state) == {}
    control_plane.down(state)
    assert not state.path.exists()
