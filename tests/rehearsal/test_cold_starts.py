"""Volcano from nothing, again and again: release, readiness gate and queue in one `up`."""

import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pulumi_kubernetes as k8s
import pytest
from rich.console import Console

from components.gpu import NODE_ROLE_LABEL, SYSTEM_NODE_ROLE
from infra.errors import GangwayError
from infra.rehearsal import control_plane, engine, leftovers, supervisor
from infra.rehearsal.driver import Rehearsal
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.live import LiveView
from infra.rehearsal.nodes import INSTANCE_ANNOTATION, node_manifest
from infra.rehearsal.tools.catalogue import CATALOGUE
from stacks import kubernetes_layer
from stacks.plan import plan_for
from tests.support.rehearsal import FakeInstance, built_tools

pytestmark = pytest.mark.enable_socket

STARTS = 20
QUEUE = "/apis/scheduling.volcano.sh/v1beta1/queues/ml-queue"


def _add_system_node(api: KubernetesApi, identity: str) -> None:
    """A node that no instance stands behind, so that nothing takes it away."""
    labels = {NODE_ROLE_LABEL: SYSTEM_NODE_ROLE}
    manifest = node_manifest(FakeInstance(id=identity, labels=labels))
    del manifest["metadata"]["annotations"][INSTANCE_ANNOTATION]
    api.create("/api/v1/nodes", manifest)


@pytest.fixture
def bare(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Rehearsal]:
    """A control plane with two system nodes, and a program of Volcano and queue alone."""
    built_tools(CATALOGUE)
    root = tmp_path_factory.mktemp("rehearsals")
    rehearsal = Rehearsal("dev", Console(file=io.StringIO()), name="cold", root=root)
    state, tools = rehearsal.state, rehearsal.tools
    try:
        control_plane.up(state, tools)
        supervisor.ensure_running(state, tools)
        for identity in ("i-one", "i-two"):
            _add_system_node(rehearsal.api, identity)
        charts = engine.chart_directory(state, tools)
        monkeypatch.setattr(engine, "program", lambda: _declare(rehearsal, charts))
        yield rehearsal
    finally:
        rehearsal.down(force=True)


def _declare(rehearsal: Rehearsal, charts: Path) -> None:
    provider = k8s.Provider(
        "kubernetes",
        enable_server_side_apply=True,
        kubeconfig=control_plane.kubeconfig_path(rehearsal.state).read_text(encoding="utf-8"),
    )
    plan = plan_for(rehearsal.settings)
    own = plan.settings.charts.model_copy(update={"directory": str(charts)})
    plan = replace(plan, settings=plan.settings.model_copy(update={"charts": own}))
    volcano = kubernetes_layer.volcano(plan, provider, [])
    kubernetes_layer.queues(plan, provider, volcano)


def test_twenty_cold_starts_of_volcano_do_not_fail_once(bare: Rehearsal) -> None:
    failures = []
    runner = bare._engine(None)
    for number in range(1, STARTS + 1):
        view = LiveView(Console(quiet=True), f"start {number}")
        try:
            runner.up(view.on_event, view.on_error)
            assert bare.api.get(QUEUE)["status"]["state"] == "Open"
            # In the background: in the foreground it would wait until the garbage collector has
            # heard of the fresh CRD, which takes it up to 30 s.
            bare.api.delete(QUEUE)
            runner.destroy(view.on_event, view.on_error)
        except (AssertionError, GangwayError, engine.automation.CommandError) as error:
            failures.append(f"{number}: {view.progress.diagnostics or error}")
            break
        left = leftovers.in_kubernetes(bare.api)
        assert set(left) <= {"node"}, f"start {number} left {left}"
    assert failures == []
