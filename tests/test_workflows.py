"""The workflows are held to least privilege: pinned actions, no secret where a fork runs."""

import re
from pathlib import Path
from typing import Any

import pytest
import yaml

WORKFLOWS = sorted(Path(".github/workflows").glob("*.yml"))
MAKEFILE_TARGETS = set(
    re.findall(r"^([a-z][a-z-]*):", Path("Makefile").read_text(encoding="utf-8"), re.MULTILINE)
)


def _load(name: str) -> dict[str, Any]:
    document: dict[Any, Any] = yaml.safe_load(
        Path(".github/workflows", name).read_text(encoding="utf-8")
    )
    # YAML 1.1 reads the key `on` as true.
    return {("on" if key is True else str(key)): value for key, value in document.items()}


def _steps(workflow: dict[str, Any]) -> list[dict[str, Any]]:
    return [step for job in workflow["jobs"].values() for step in job["steps"]]


@pytest.fixture(params=[path.name for path in WORKFLOWS])
def workflow(request: pytest.FixtureRequest) -> dict[str, Any]:
    return _load(request.param)


def test_every_action_is_pinned_by_commit(workflow: dict[str, Any]) -> None:
    used = [step["uses"] for step in _steps(workflow) if "uses" in step]
    assert [use for use in used if not re.fullmatch(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}", use)] == []


def test_no_workflow_runs_a_forks_code_with_the_bases_rights(workflow: dict[str, Any]) -> None:
    assert "pull_request_target" not in workflow["on"]


def test_rights_are_none_but_reading_unless_a_job_asks(workflow: dict[str, Any]) -> None:
    assert workflow["permissions"] in ({"contents": "read"}, {})


def test_every_job_has_a_time_limit(workflow: dict[str, Any]) -> None:
    assert all(job["timeout-minutes"] <= 90 for job in workflow["jobs"].values())


def test_no_expression_is_pasted_into_a_shell_script(workflow: dict[str, Any]) -> None:
    scripts = [step["run"] for step in _steps(workflow) if "run" in step]
    assert [script for script in scripts if "${{" in script] == []


def test_checkouts_leave_no_token_behind(workflow: dict[str, Any]) -> None:
    checkouts = [step for step in _steps(workflow) if "actions/checkout" in step.get("uses", "")]
    assert all(step["with"]["persist-credentials"] is False for step in checkouts)


def test_every_make_target_called_exists(workflow: dict[str, Any]) -> None:
    scripts = "\n".join(step.get("run", "") for step in _steps(workflow))
    called = set(re.findall(r"\bmake ([a-z][a-z-]*)", scripts))
    assert called - MAKEFILE_TARGETS == set()


def test_the_offline_preview_uses_no_secret_and_no_token() -> None:
    offline = _load("preview.yml")["jobs"]["offline"]
    assert "permissions" not in offline
    assert "secrets." not in yaml.safe_dump(offline)


def test_the_offline_preview_tests_and_previews_every_environment() -> None:
    script = "\n".join(
        step.get("run", "") for step in _load("preview.yml")["jobs"]["offline"]["steps"]
    )
    environments = re.search(r"for env in ([a-z ]+);", script)
    assert environments is not None
    files = {path.suffixes[0][1:] for path in Path().glob("Pulumi.*.yaml")}
    assert set(environments.group(1).split()) == files
    assert "make test" in script


def test_the_account_preview_runs_for_trusted_branches_only() -> None:
    condition = _load("preview.yml")["jobs"]["account"]["if"]
    assert "github.event.pull_request.head.repo.full_name == github.repository" in condition
    assert "github.actor != 'dependabot[bot]'" in condition


def test_the_account_preview_can_only_look() -> None:
    commands = "\n".join(
        step.get("run", "") for step in _load("preview.yml")["jobs"]["account"]["steps"]
    )
    assert "pulumi preview --diff" in commands
    assert not re.search(r"pulumi (up|destroy|refresh|import)", commands)


def test_the_comment_never_checks_out_code() -> None:
    steps = _steps(_load("preview-comment.yml"))
    assert [step for step in steps if "uses" in step] == []
    assert [step for step in steps if "make " in step["run"]] == []


def test_a_deployment_is_never_cancelled_and_runs_alone_for_its_stack() -> None:
    concurrency = _load("deploy.yml")["concurrency"]
    assert concurrency == {
        "group": "deploy-${{ inputs.environment }}",
        "cancel-in-progress": False,
    }


def test_a_deployment_waits_for_its_environments_approval() -> None:
    job = _load("deploy.yml")["jobs"]["up"]
    assert job["environment"] == "${{ inputs.environment }}"
    assert job["if"] == "github.ref == 'refs/heads/main'"


def test_a_deployment_has_longer_than_a_cluster_takes() -> None:
    assert _load("deploy.yml")["jobs"]["up"]["timeout-minutes"] >= 45
