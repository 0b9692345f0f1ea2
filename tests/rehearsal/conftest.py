from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from infra.rehearsal import control_plane, processes
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.state import StateFolder
from tests.support.rehearsal import built_tools


@pytest.fixture(scope="session")
def cluster_tools() -> Mapping[str, Path]:
    return built_tools(control_plane.TOOLS)


@pytest.fixture(scope="session")
def cluster(
    cluster_tools: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[StateFolder]:
    """A control plane that the whole run shares; its end is proven."""
    state = StateFolder.named("shared", tmp_path_factory.mktemp("rehearsals"))
    try:
        control_plane.up(state, cluster_tools)
        yield state
    finally:
        control_plane.down(state)
    assert processes.belonging_to(state.path) == []


@pytest.fixture(scope="session")
def api(cluster: StateFolder) -> KubernetesApi:
    return KubernetesApi.of(cluster)
