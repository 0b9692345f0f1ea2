"""Writes docs/training-report.md from a real run: `python -m tests.support.training_report`."""

import json
import sys
import tempfile
from pathlib import Path
from typing import Any

import typer

from infra.rehearsal import frameworks
from tests.support.gang import REPOSITORY, GangJob, emulated_aws

PAGE = REPOSITORY / "docs" / "training-report.md"

TEXT = """# A training report

Made by a run, not by hand: two workers of the default task as real processes on the two cores of
a development machine, without a GPU, their S3 emulated. `make training-report` writes this page
again. {framework} {version}, {world_size} workers, {seconds:.1f} s from the first start to the
joined report.

| | |
|---|---|
| Loss, before and after | {initial:.4f} -> {final:.5f}, {factor:.0f} times lower |
| Best possible loss | {best:.5f} |
| Learned of what could be learned | {learned:.2%} |
| Steps, samples a second | {steps}, {rate:,.0f} |
| First to last rank's start | {spread:.0f} ms |
| Checkpoints | {checkpoints} |

The machine has no GPU and its nodes no instance type, so `gpu_info`, `instance_type` and `cost`
are absent rather than made up. Loss curve and checkpoints are shortened here.

```json
{document}
```
"""


def run(framework: str) -> dict[str, Any]:
    """Run a gang of two to the end and return the job's document."""
    interpreter = frameworks.interpreter(framework)
    if interpreter is None:
        sys.exit(frameworks.missing(framework))
    with emulated_aws() as aws, tempfile.TemporaryDirectory() as folder:
        job = GangJob(aws, Path(folder), framework, interpreter)
        with job.attempt() as attempt:
            codes = attempt.exit_codes()
        if codes != [0, 0]:
            sys.exit(attempt.logs())
        (document,) = aws.job_documents()
    return document


def page(document: dict[str, Any]) -> str:
    """Put a job's document into the page."""
    results = document["training_results"]
    framework = document["job"]["framework"]
    return TEXT.format(
        best=document["data"]["best_loss"],
        checkpoints=len(document["checkpoints"]["written"]),
        document=json.dumps(_shortened(document), indent=1, sort_keys=True),
        factor=results["loss_fell_by_factor"],
        final=results["final_loss"],
        framework=framework,
        initial=results["initial_loss"],
        learned=results["learned_fraction"],
        rate=document["throughput"]["samples_per_second"],
        seconds=results["duration_seconds"],
        spread=document["gang"]["started_spread_ms"],
        steps=results["steps"],
        version=document["versions"][framework],
        world_size=document["job"]["world_size"],
    )


def _shortened(document: dict[str, Any]) -> dict[str, Any]:
    short = dict(document)
    if "loss_curve" in short:
        short["loss_curve"] = [*short["loss_curve"][:2], *short["loss_curve"][-2:]]
    written = short["checkpoints"]["written"]
    short["checkpoints"] = {**short["checkpoints"], "written": [*written[:1], *written[-1:]]}
    if "ranks" in short:
        short["ranks"] = [_shortened(rank) for rank in short["ranks"]]
    return short


def main() -> None:
    """Run and write the page."""
    PAGE.write_text(page(run("pytorch")), encoding="utf-8")
    typer.echo(f"wrote {PAGE.relative_to(REPOSITORY)}")


if __name__ == "__main__":
    main()
