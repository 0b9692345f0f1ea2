"""From an environment's name to its report: load, record, price, check."""

import datetime
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pulumi

from infra.errors import GangwayError, UsageError
from infra.preview.checks import Verdict, run_checks
from infra.preview.cost import Assumptions, Cost, estimate
from infra.preview.recorder import record
from infra.preview.report import model
from stacks import loader
from stacks.prices import load_prices, stale
from stacks.settings import Settings

REPOSITORY_ROOT: Final = Path(__file__).resolve().parents[2]


def report_for(
    environment: str,
    *,
    assumptions: Assumptions | None = None,
    directory: Path = REPOSITORY_ROOT,
    today: datetime.date | None = None,
) -> model.Report:
    """Load, record, price and check one environment.

    The prices' age is judged only when `today` is given: no clock is read for it.

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
    return report_of(settings, program(settings), assumptions or Assumptions(), today=today)


def report_of(
    settings: Settings,
    declare: Callable[[], None],
    assumptions: Assumptions,
    *,
    today: datetime.date | None = None,
) -> model.Report:
    """Record `declare`, price and check it. Raises GangwayError when it fails."""
    try:
        recording = record(
            declare,
            stack=settings.environment,
            config={"aws:region": settings.region},
        )
    except GangwayError:
        raise
    except Exception as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        message = f"the program fails for {settings.environment}: {reason}"
        raise GangwayError(message) from error
    prices = load_prices(settings.region)
    cost = estimate(recording, prices, settings, assumptions)
    verdicts = (
        *run_checks(recording, settings),
        *price_verdicts(cost, stale(prices, today) if today else None),
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
    """The program that `pulumi up` runs, exports included, for the recorder."""
    from stacks import gpu_training  # noqa: PLC0415 - imports the provider SDKs, a second or two

    def run() -> None:
        for name, value in gpu_training.deploy(settings).items():
            pulumi.export(name, value)

    return run


def price_verdicts(cost: Cost, age: str | None) -> tuple[Verdict, ...]:
    """Warnings of old prices, another region's prices, nodes without a price."""
    sentences = [age] if age else []
    if cost.substituted_for:
        sentences.append(
            f"stacks/prices has no figures for {cost.substituted_for}; those of "
            f"{cost.prices_region} stand in"
        )
    sentences += [f"no price is known for {line.item}" for line in cost.lines if not line.figures]
    return tuple(
        Verdict(check="prices", level="warning", sentence=sentence) for sentence in sentences
    )
