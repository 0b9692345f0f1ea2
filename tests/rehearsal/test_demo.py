"""The whole demo on a whole rehearsal: real schedulers, real bindings."""

import json
import shutil
import signal
import subprocess
import sys
import time

import pytest
import yaml
from rich.console import Console

from infra.rehearsal.driver import Rehearsal
from infra.rehearsal.kubernetes_api import MERGE
from infra.rehearsal.scenarios import command
from infra.rehearsal.scenarios.arena import QUEUES
from infra.rehearsal.scenarios.findings import Outcome
from infra.rehearsal.scenarios.story import StoryOptions, tell
from infra.rehearsal.scenarios.workloads import OWNED_LABEL
from infra.rehearsal.tools.catalogue import CATALOGUE
from infra.waiting import wait_until
from tests.support.rehearsal import built_tools

SECONDS = 90
"""A demo on a running rehearsal takes no longer."""

SYSTEM = "/api/v1/namespaces/volcano-system"
CONFIGURATION = f"{SYSTEM}/configmaps/volcano-scheduler-configmap"
SCHEDULER_CONF = "volcano-scheduler.conf"

PLAY = """
import signal
import sys
from pathlib import Path
from rich.console import Console
from infra.rehearsal.driver import Rehearsal
from infra.rehearsal.scenarios.command import play
from infra.rehearsal.scenarios.story import StoryOptions, tell
signal.signal(signal.SIGINT, signal.default_int_handler)
root, name = sys.argv[1:]
console = Console()
play(Rehearsal("dev", console, name=name, root=Path(root)), tell(StoryOptions()), console)
"""


@pytest.fixture(scope="module")
def rehearsal(tmp_path_factory):
    built_tools(CATALOGUE)
    root = tmp_path_factory.mktemp("rehearsals")
    brought_up = Rehearsal("dev", Console(), name="demo", root=root)
    try:
        brought_up.up(gang_seconds=0)
        yield brought_up
    finally:
        brought_up.down(force=True)


@pytest.fixture
def demo(rehearsal, tmp_path, monkeypatch):
    """The command on this rehearsal, and the figures that it wrote."""
    monkeypatch.setattr(command, "Rehearsal", lambda *args, **names: rehearsal)

    def run(**options):
        command.demo(out=tmp_path, **options)
        return json.loads((tmp_path / "demo.json").read_text())

    return run


def left(rehearsal) -> list[str]:
    paths = ("/api/v1/namespaces", "/api/v1/nodes", "/api/v1/pods", QUEUES)
    return [
        f"{path}/{item['metadata']['name']}"
        for path in paths
        for item in rehearsal.api.items(path, labelSelector=OWNED_LABEL)
    ]


def test_the_story_happens_within_its_time_and_leaves_nothing(demo, rehearsal):
    started = time.monotonic()
    result = demo()
    assert time.monotonic() - started <= SECONDS
    assert result["happened"]
    default, volcano = result["schedulers"]
    assert default["gpu_seconds"]["wasted"] > 10
    assert volcano["gpu_seconds"]["wasted"] < 1
    assert default["deadlocks"]
    assert volcano["deadlocks"] == []
    assert left(rehearsal) == []


@pytest.mark.parametrize(
    "options",
    [{"gpus": 1}, {"gpus": 4}, {"workers": 1}, {"job_fails": True}, {"blocker_seconds": 8.0}],
    ids=["one GPU", "four GPUs", "a gang of one", "a job that fails", "a blocker that ends"],
)
def test_the_story_adapts(demo, options):
    result = demo(**options)
    assert result["happened"]
    assert bool(result["not_shown"]) == (options in ({"gpus": 1}, {"workers": 1}))


def test_the_autoscaler_buys_nothing_for_the_demo(rehearsal):
    before = {node["metadata"]["name"] for node in rehearsal.api.items("/api/v1/nodes")}
    seen = set()

    class Onlooker(Console):
        def print(self, *words, **options):
            seen.update(n["metadata"]["name"] for n in rehearsal.api.items("/api/v1/nodes"))

    result = command.play(rehearsal, tell(StoryOptions()), Onlooker())
    own = {name for name in seen if name.startswith("gangway-demo-")}
    assert len(own) == 2 * result["gpus"]
    grown_for_training = {n for n in seen - own - before if n.startswith("ip-")}
    assert len(grown_for_training) <= rehearsal.settings.training_job.workers


@pytest.fixture
def without_gang_plugin(rehearsal):
    stored = rehearsal.api.get(CONFIGURATION)["data"][SCHEDULER_CONF]
    changed = yaml.safe_load(stored)
    for tier in changed["tiers"]:
        tier["plugins"] = [plugin for plugin in tier["plugins"] if plugin["name"] != "gang"]
    configure(rehearsal, yaml.safe_dump(changed))
    yield
    configure(rehearsal, stored)


def configure(rehearsal, content: str) -> None:
    """Give Volcano's scheduler another configuration, by a fresh process that has read it."""
    api, pods = rehearsal.api, f"{SYSTEM}/pods"
    query = {"labelSelector": "app=volcano-scheduler"}
    api.patch(CONFIGURATION, {"data": {SCHEDULER_CONF: content}}, content_type=MERGE)
    old = {pod["metadata"]["uid"] for pod in api.items(pods, **query)}
    for pod in api.items(pods, **query):
        api.delete(f"{pods}/{pod['metadata']['name']}", grace_seconds=0)

    def is_renewed() -> bool:
        present = api.items(pods, **query)
        return bool(present) and all(
            pod["metadata"]["uid"] not in old
            and any(
                condition["type"] == "Ready" and condition["status"] == "True"
                for condition in pod["status"].get("conditions", ())
            )
            for pod in present
        )

    wait_until(is_renewed, what="a fresh Volcano scheduler", deadline_seconds=60)


@pytest.mark.usefixtures("without_gang_plugin")
def test_without_the_gang_plugin_the_story_does_not_happen(demo, tmp_path):
    with pytest.raises(command.StoryDidNotHappenError) as failure:
        demo()
    assert failure.value.exit_code != 0
    findings = json.loads((tmp_path / "demo.json").read_text())["findings"]
    missed = {(f["scheduler"], f["part"]) for f in findings if f["outcome"] != Outcome.HAPPENED}
    assert ("volcano", 1) in missed


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "SIGTERM"])
def test_an_interrupted_demo_leaves_nothing(rehearsal, number):
    process = start_demo(rehearsal)
    try:
        wait_until(lambda: holds_a_gpu(rehearsal), what="a worker on a node", deadline_seconds=60)
        process.send_signal(number)
        process.wait(timeout=90)
    finally:
        process.kill()
        process.wait()
    assert process.returncode != 0
    assert left(rehearsal) == []


def test_what_a_killed_demo_left_goes_with_the_next_one(demo, rehearsal):
    process = start_demo(rehearsal)
    try:
        wait_until(lambda: holds_a_gpu(rehearsal), what="a worker on a node", deadline_seconds=60)
    finally:
        process.kill()
        process.wait()
    assert left(rehearsal) != []
    assert demo(gpus=1)["happened"]
    assert left(rehearsal) == []


def start_demo(rehearsal) -> subprocess.Popen[bytes]:
    state = rehearsal.state
    words = [sys.executable, "-c", PLAY, str(state.path.parent), state.name]
    return subprocess.Popen(words)  # noqa: S603 - our own program


def holds_a_gpu(rehearsal) -> bool:
    pods = rehearsal.api.items("/api/v1/pods", labelSelector=OWNED_LABEL)
    return any("nodeName" in pod["spec"] for pod in pods)


def test_the_page_opens_in_a_browser_without_complaints(demo, tmp_path):
    browser = shutil.which("chromium") or shutil.which("google-chrome")
    if browser is None:
        pytest.skip("no Chromium here")
    demo(gpus=1)
    shot = tmp_path / "page.png"
    run = subprocess.run(  # noqa: S603 - the browser of this machine
        [
            browser,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--enable-logging=stderr",
            f"--user-data-dir={tmp_path / 'profile'}",
            f"--screenshot={shot}",
            (tmp_path / "demo.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert "CONSOLE" not in run.stderr
    assert shot.stat().st_size > 10_000
