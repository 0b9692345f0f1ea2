"""`gangway preview`: the real program, recorded and shown; no account, no cluster, no network."""

import sys
from collections.abc import Callable
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from infra.errors import GangwayError, UsageError
from infra.preview.checks import Verdict, run_checks
from infra.preview.cost import Assumptions, Cost, estimate
from infra.preview.recorder import record
from infra.preview.report import model
from stacks import loader
from stacks.prices import load_prices
from stacks.settings import Settings

REPOSITORY_ROOT: Final = Path(__file__).resolve().parents[2]


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
    ] = Assumptions().job_minutes,
) -> None:
    """Show what an environment is, what it costs and whether it is sound."""
    report = report_for(environment, job_minutes=job_minutes)
    _write(report, output_format, out)
    raise typer.Exit(report.exit_code)


def report_for(
    environment: str,
    *,
    directory: Path = REPOSITORY_ROOT,
    job_minutes: int = Assumptions().job_minutes,
) -> model.Report:
    """Load, record, price and check one environment.

    Refused settings make a report of refusals. Raises UsageError for an environment that has no
    stack file, GangwayError when the program itself fails.
    """
    path = directory / f"Pulumi.{environment}.yaml"
    if not path.is_file():
        names = sorted(item.name.split(".")[1] for item in directory.glob("Pulumi.*.yaml"))
        message = f"there is no environment {environment!r}; there are: {', '.join(names)}"
        raise UsageError(message)
    try:
        settings = loader.parse(loader.load_stack_file(path), environment)
    except loader.SettingsError as error:
        refusals = tuple(
            Verdict(check="settings", level="refused", sentence=sentence)
            for sentence in error.sentences
        )
        return model.unusable(environment, refusals)
    return _recorded(settings, Assumptions(job_minutes=job_minutes))


def _recorded(settings: Settings, assumptions: Assumptions) -> model.Report:
    try:
        recording = record(
            program(settings),
            stack=settings.environment,
            config={"aws:region": settings.region},
        )
    except GangwayError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        message = f"the program fails for {settings.environment}: {reason}"
        raise GangwayError(message) from error
    cost = estimate(recording, load_prices(settings.region), settings, assumptions)
    verdicts = (
        *run_checks(recording, settings),
        *price_verdicts(cost),
        *(Verdict(check="program", level="warning", sentence=text) for text in recording.messages),
    )
    return model.build(
        environment=settings.environment,
        region=settings.region,
        recording=recording,
        cost=cost,
        verdicts=verdicts,
    )


def program(settings: Settings) -> Callable[[], None]:
    """The program that `pulumi up` runs, for the recorder."""
    import pulumi  # noqa: PLC0415 - with the line below, a second of imports

    from stacks import gpu_training  # noqa: PLC0415 - imports the provider SDKs

    def run() -> None:
        for name, value in gpu_training.deploy(settings).items():
            pulumi.export(name, value)

    return run


def price_verdicts(cost: Cost) -> tuple[Verdict, ...]:
    """A warning when another region's prices stand in, or a node's price is not known."""
    sentences = []
    if cost.substituted_for:
        sentences.append(
            f"stacks/prices has no figures for {cost.substituted_for}; those of "
            f"{cost.prices_region} stand in"
        )
    sentences += [f"no price is known for {line.item}" for line in cost.lines if not line.figures]
    return tuple(
        Verdict(check="prices", level="warning", sentence=sentence) for sentence in sentences
    )


def _write(report: model.Report, output_format: Format, out: Path | None) -> None:
    if out is None and output_format is Format.TEXT and sys.stdout.isatty():
        from rich.console import Console  # noqa: PLC0415 - only one format needs it

        from infra.preview.report.text import drawing  # noqa: PLC0415 - as above

        Console().print(drawing(report))
        return
    text = render(report, output_format)
    if out is not None:
        try:
            out.write_text(text, encoding="utf-8")
        except OSError as error:
            message = f"--out {out} cannot be written: {error.strerror}"
            raise UsageError(message) from None
        typer.echo(f"{report.environment} is {report.summary}; report in {out}")
        return
    # Bytes, so that the locale has no say in how they are encoded.
    sys.stdout.buffer.write(text.encode())
    sys.stdout.buffer.flush()


def render(report: model.Report, output_format: Format) -> str:
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
