"""The stub `aws` of a rehearsal: what pulumi-eks and a kubeconfig call, and nothing else."""

import argparse
import datetime
import json
import sys
from pathlib import Path

from infra.rehearsal.state import StateFolder

# The form that awscli 2 prints; pulumi-eks wants 2.7 or later.
_VERSION = "aws-cli/2.34.0 Python/3.13.9 Linux/6.1 source/x86_64"
_TOKEN_MINUTES = 14
_REFUSED = 252
"""Exit code of awscli for a command line that it does not take."""


def run(arguments: list[str], state_dir: Path) -> int:
    """Answer a command line; return the exit code."""
    if "--version" in arguments:
        sys.stdout.write(f"{_VERSION}\n")
        return 0
    words = [word for word in arguments if not word.startswith("-")]
    if "eks" in words and "get-token" in words:
        return _get_token(state_dir)
    said = " ".join(arguments)
    sys.stderr.write(
        f"aws: the rehearsal's aws knows `--version` and `eks get-token`, not `{said}`\n"
    )
    return _REFUSED


def _get_token(state_dir: Path) -> int:
    kubernetes = StateFolder(state_dir).section("kubernetes")
    if not kubernetes:
        sys.stderr.write(
            f"aws: the rehearsal {state_dir.name} runs no control plane: run `gangway rehearse"
            " up`\n"
        )
        return 1
    expires = datetime.datetime.now(datetime.UTC) + datetime.timedelta(minutes=_TOKEN_MINUTES)
    credential = {
        "kind": "ExecCredential",
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "spec": {},
        "status": {
            "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ"),
            "token": kubernetes["token"],
        },
    }
    sys.stdout.write(f"{json.dumps(credential)}\n")
    return 0


def main() -> None:
    """Run as `aws`; the first argument, from the shim, is the rehearsal's state folder."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("state_dir", type=Path)
    known, rest = parser.parse_known_args(sys.argv[1:2])
    sys.exit(run([*rest, *sys.argv[2:]], known.state_dir))


if __name__ == "__main__":
    main()
