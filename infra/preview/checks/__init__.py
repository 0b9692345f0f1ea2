"""What the preview checks. A new check is one module with a `CHECK` and one line in `CHECKS`."""

from infra.preview.checks import (
    access,
    advice,
    aws_inputs,
    chart_files,
    gang,
    images,
    leaked_outputs,
    load_balancers,
    manifests,
    order,
    policies,
    providers,
    volcano_crds,
)
from infra.preview.checks.verdict import Check, Level, Verdict
from infra.preview.recording import Recording
from stacks.settings import Settings

__all__ = ["CHECKS", "Check", "Level", "Verdict", "run_checks"]

CHECKS: tuple[Check, ...] = (
    aws_inputs.CHECK,
    manifests.CHECK,
    volcano_crds.CHECK,
    policies.CHECK,
    leaked_outputs.CHECK,
    providers.CHECK,
    order.CHECK,
    gang.CHECK,
    load_balancers.CHECK,
    chart_files.CHECK,
    images.CHECK,
    access.CHECK,
    advice.CHECK,
)
"""In the order of the report."""


def run_checks(
    recording: Recording,
    settings: Settings | None = None,
    checks: tuple[Check, ...] = CHECKS,
) -> tuple[Verdict, ...]:
    """Every check's verdicts, in the order of `checks`."""
    return tuple(verdict for check in checks for verdict in check.verdicts(recording, settings))
