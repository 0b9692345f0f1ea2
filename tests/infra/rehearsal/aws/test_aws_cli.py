import base64
import json
import subprocess
from pathlib import Path

import pytest

from infra.rehearsal.aws import aws_cli
from infra.rehearsal.aws.shims import write_shims
from infra.rehearsal.state import StateFolder

GIVEN = "of-the-control-plane"


@pytest.fixture
def state_dir(tmp_path: Path) -> Path:
    kubernetes = {
        "endpoint": "https://127.0.0.1:6443",
        "ca_pem_base64": base64.b64encode(b"pem").decode(),
        "token": GIVEN,
    }
    StateFolder(tmp_path).merge(kubernetes=kubernetes)
    return tmp_path


def test_the_version_is_one_that_pulumi_eks_takes(
    state_dir: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aws_cli.run(["--version"], state_dir) == 0
    assert capsys.readouterr().out.startswith("aws-cli/2.")


def test_a_token_is_the_control_planes(state_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["--region", "us-east-1", "eks", "get-token", "--cluster-name", "c", "--output", "json"]

    assert aws_cli.run(words, state_dir) == 0

    credential = json.loads(capsys.readouterr().out)
    assert credential["apiVersion"] == "client.authentication.k8s.io/v1beta1"
    assert credential["status"]["token"] == GIVEN


def test_rejects_anything_else_by_name(state_dir: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert aws_cli.run(["s3", "ls"], state_dir) == 252
    assert "not `s3 ls`" in capsys.readouterr().err


def test_rejects_a_token_without_a_control_plane(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert aws_cli.run(["eks", "get-token"], tmp_path) == 1
    assert "runs no control plane" in capsys.readouterr().err


def test_the_shim_on_path_answers_from_any_folder(state_dir: Path, tmp_path: Path) -> None:
    program = write_shims(state_dir) / "aws"

    answer = subprocess.run(  # noqa: S603 - the shim that was just written
        [program, "--version"], capture_output=True, text=True, check=True, cwd="/"
    )

    assert answer.stdout.startswith("aws-cli/2.")
