"""The engine's state as its backend's file tells it."""

import json
from pathlib import Path
from typing import Any

import pytest

from infra.errors import GangwayError
from infra.rehearsal.checkpoint import RELEASE, Checkpoint

CREATING = {
    "type": "creating",
    "resource": {"type": RELEASE, "inputs": {"namespace": "system", "name": "volcano"}},
}


def written(backend: Path, latest: Any) -> Checkpoint:
    folder = backend / ".pulumi" / "stacks" / "gangway"
    folder.mkdir(parents=True)
    document = {"version": 3, "checkpoint": {"stack": "dev", "latest": latest}}
    (folder / "dev.json").write_text(json.dumps(document), encoding="utf-8")
    return Checkpoint(backend=backend, stack="dev", remedy="gangway rehearse down --force")


def test_without_a_file_there_is_no_stack_and_nothing_in_it(tmp_path: Path) -> None:
    checkpoint = Checkpoint(backend=tmp_path, stack="dev", remedy="down")
    assert not checkpoint.exists
    assert checkpoint.resources() == []
    assert checkpoint.unfinished_releases() == []


@pytest.mark.parametrize("latest", [None, {}, {"resources": None, "pending_operations": None}])
def test_a_stack_of_which_nothing_was_made_holds_nothing(tmp_path: Path, latest: Any) -> None:
    checkpoint = written(tmp_path, latest)
    assert checkpoint.exists
    assert checkpoint.resources() == []
    assert checkpoint.unfinished_releases() == []


@pytest.mark.parametrize("text", ["", '{"version": 3, "check', "[]"])
def test_a_state_that_was_cut_short_is_told_with_the_remedy(tmp_path: Path, text: str) -> None:
    checkpoint = written(tmp_path, {})
    next(tmp_path.rglob("dev.json")).write_text(text, encoding="utf-8")
    with pytest.raises(GangwayError, match=r"is not readable .*`gangway rehearse down --force`"):
        checkpoint.resources()


def test_another_stack_in_the_backend_is_not_this_one(tmp_path: Path) -> None:
    written(tmp_path, {})
    assert not Checkpoint(backend=tmp_path, stack="prod", remedy="down").exists


def test_stack_and_providers_hold_nothing_of_the_world(tmp_path: Path) -> None:
    types = ["pulumi:pulumi:Stack", "pulumi:providers:aws", "aws:ec2/vpc:Vpc"]
    latest = {"resources": [{"type": kind, "urn": f"urn:{kind}"} for kind in types]}
    assert written(tmp_path, latest).resources() == ["urn:aws:ec2/vpc:Vpc"]


def test_releases_that_were_being_installed_are_named(tmp_path: Path) -> None:
    latest = {"pending_operations": [CREATING]}
    assert written(tmp_path, latest).unfinished_releases() == [("system", "volcano")]


@pytest.mark.parametrize(
    "change", [{"type": "deleting"}, {"resource": {"type": "aws:s3/bucket:Bucket", "inputs": {}}}]
)
def test_other_unfinished_operations_are_left_to_the_engine(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    assert (
        written(tmp_path, {"pending_operations": [CREATING | change]}).unfinished_releases() == []
    )
