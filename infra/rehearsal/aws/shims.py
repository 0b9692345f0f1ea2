"""The programs that a rehearsal puts first on PATH: `pulumi-resource-aws` and `aws`."""

import shlex
import sys
from pathlib import Path

_CLI = """\
#!/bin/sh
# Written by the rehearsal: stands for AWS CLI 2 (see infra/rehearsal/aws/aws_cli.py).
exec {python} -m infra.rehearsal.aws.aws_cli {state} "$@"
"""
_PROVIDER = """\
#!/bin/sh
# Written by the rehearsal: the emulated AWS (see infra/rehearsal/aws/serve.py).
# The engine drops a provider's standard error; it is kept here.
exec {python} -m infra.rehearsal.aws.serve --state-dir {state} "$@" 2>>{log}
"""


def write_shims(state_dir: Path) -> Path:
    """Write both programs into the rehearsal's `bin` and return that folder."""
    folder = state_dir / "bin"
    log = state_dir / "logs" / "pulumi-resource-aws.log"
    folder.mkdir(parents=True, exist_ok=True)
    log.parent.mkdir(parents=True, exist_ok=True)
    words = {
        "python": shlex.quote(sys.executable),
        "state": shlex.quote(str(state_dir)),
        "log": shlex.quote(str(log)),
    }
    for name, text in (("aws", _CLI), ("pulumi-resource-aws", _PROVIDER)):
        file = folder / name
        file.write_text(text.format(**words), "utf-8")
        file.chmod(0o755)
    return folder
