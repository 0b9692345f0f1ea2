"""`gangway preview`: the real program, recorded and shown; no account, no cluster, no network."""

import gc
import os
import sys
from dataclasses import replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

import typer

from infra.errors import UsageError

if TYPE_CHECKING:
    from infra.preview.report.model import Report

DEFAULT_JOB_MINUTES: Final = 30
READER_GONE: Final = 141
"""Exit code when the other end of a pipe stopped reading: 128 + SIGPIPE, as shells have it."""


class Format(StrEnum):
    """How the report is drawn."""

    TEXT = "text"
    JSON = "json"
    MARKDOWN = "markdown"
    HTML = "html"
    MERMAID = "mermaid"


def preview(
    environment: Annotated[
        str, typer.Option("--env", "-e", help="Environment: the ENV of Pulumi.ENV.yaml.")
    ] = "dev",
    output_format: Annotated[
        Format, typer.Option("--format", "-f", help="How to draw the report.")
    ] = Format.TEXT,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", help="Write to this file, not the terminal.")
    ] = None,
    job_minutes: Annotated[
        int, typer.Option(min=1, help="Minutes of training that the cost of a job assumes.")
    ] = DEFAULT_JOB_MINUTES,
    against: Annotated[
        Path | None,
        typer.Option(help="An earlier report (--format json): show what changed since."),
    ] = None,
    today: Annotated[
        datetime | None,
        typer.Option(
            formats=["%Y-%m-%d"],
            help="Day on which to ask whether the prices are stale; not asked when left out.",
        ),
    ] = None,
) -> None:
    """Show what an environment is, what it costs and whether it is sound."""
    # The provider SDKs make some ten thousand classes and no garbage: without the collector the
    # whole command is a quarter faster and needs no more memory.
    gc.disable()
    from infra.preview.cost import Assumptions  # noqa: PLC0415 - after the collector is off
    from infra.preview.planning import report_for  # noqa: PLC0415 - as above

    report = report_for(
        environment,
        assumptions=Assumptions(job_minutes=job_minutes),
        today=today.date() if today else None,
    )
    if against is not None:
        report = compared(report, against)
    write(report, output_format, out)
    # What is left goes with the process; the interpreter need not look through it at its end.
    gc.freeze()
    raise typer.Exit(report.exit_code)


def compared(report: "Report", against: Path) -> "Report":
    """The report with what changed since an earlier one. Raises UsageError for a wrong file."""
    from infra.preview.report.difference import difference, load_earlier  # noqa: PLC0415 - rare

    earlier = load_earlier(against)
    resources = report.recording.resources if report.recording else ()
    return replace(report, difference=difference(earlier, resources, report.cost))


def write(report: "Report", output_format: Format, out: Path | None) -> None:
    """Draw to a file, a terminal or a pipe. Raises UsageError when the file cannot be written."""
    if out is None and sys.stdout is None:
        message = "there is no standard output to write to; name a file with --out"
        raise UsageError(message)
    if out is None and output_format is Format.TEXT and sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 - only one format needs it

        from infra.preview.report.text import drawing  # noqa: PLC0415 - as above

        Console().print(drawing(report))
        return
    text = render(report, output_format)
    if out is None:
        _write_to_stdout(text)
        return
    try:
        out.write_bytes(text.encode())
    except OSError as error:
        message = f"--out {out} cannot be written: {error.strerror}"
        raise UsageError(message) from None
    typer.echo(f"{report.environment} is {report.summary}; report in {out}")


def _write_to_stdout(text: str) -> None:
    """Bytes, so that the locale has no say in how they are encoded."""
    try:
        sys.stdout.buffer.write(text.encode())
        sys.stdout.buffer.flush()
    except BrokenPipeError:
        # Or the interpreter would meet the broken pipe again when it flushes at its end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        raise typer.Exit(READER_GONE) from None
    except OSError as error:
        message = f"standard output cannot be written: {error.strerror}"
        raise UsageError(message) from None


def render(report: "Report", output_format: Format) -> str:
    """The report in one format; each drawing is imported when it is asked for."""
    if output_format is Format.JSON:
        from infra.preview.report.json_report import render_json as draw  # noqa: PLC0415
    elif output_format is Format.MARKDOWN:
        from infra.preview.report.markdown import render_markdown as draw  # noqa: PLC0415
    elif output_format is Format.HTML:
        from infra.preview.report.html import render_html as draw  # noqa: PLC0415
    elif output_format is Format.MERMAID:
        from infra.preview.report.mermaid import render_mermaid as draw  # noqa: PLC0415
    else:
        from infra.preview.report.text import render_text as draw  # noqa: PLC0415
    return draw(report)
