"""From an environment's name to a report."""

import datetime
from pathlib import Path

import pulumi
import pulumi_aws as aws
import pytest

from infra.errors import GangwayError, UsageError
from infra.preview import planning
from infra.preview.cost import Assumptions
from infra.preview.recording import RecordingError
from tests.support import settings as sample_settings
from tests.support.recorder import record
from tests.support.sample_program import sample


def test_a_sound_program_makes_a_sound_report() -> None:
    report = planning.report_of(sample_settings.settings(), sample, Assumptions())
    assert report.exit_code == 0, report.refused
    assert report.total == len(record(sample))
    assert report.environment == "dev"


def test_settings_that_are_refused_make_a_report_of_every_refusal(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("config:\n  aws:region: mars\n  gangway:x: 1\n")
    report = planning.report_for("dev", directory=tmp_path)
    assert report.exit_code == 1
    assert len(report.refused) >= 5
    assert {verdict.check for verdict in report.refused} == {"settings"}


def test_rejects_an_environment_without_a_stack_file(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.prod.yaml").write_text("config: {}\n")
    with pytest.raises(UsageError, match=r"no environment 'nope'; there are: prod"):
        planning.report_for("nope", directory=tmp_path)


def test_a_program_that_fails_is_one_sentence() -> None:
    def program() -> None:
        vpc = aws.ec2.Vpc("vpc", cidr_block="10.0.0.0/16")
        vpc.id.apply(int)

    with pytest.raises(GangwayError, match=r"^the program fails for dev: invalid literal"):
        planning.report_of(sample_settings.settings(), program, Assumptions())


def test_what_the_recorder_refuses_comes_out_as_it_is() -> None:
    with pytest.raises(RecordingError, match="looks something up"):
        planning.report_of(
            sample_settings.settings(), lambda: aws.ec2.get_vpc(id="vpc-1") and None, Assumptions()
        )


def test_warnings_of_the_program_and_of_prices_are_verdicts() -> None:
    settings = sample_settings.settings().model_copy(update={"region": "eu-west-1"})
    report = planning.report_of(settings, lambda: pulumi.log.warn("mind the gap"), Assumptions())
    warnings = [(item.check, item.sentence) for item in report.verdicts if item.level == "warning"]
    assert ("program", "mind the gap") in warnings
    assert any(check == "prices" and "eu-west-1" in sentence for check, sentence in warnings)


@pytest.mark.parametrize(("today", "warnings"), [(None, 0), ("2026-12-31", 0), ("2027-06-01", 1)])
def test_old_prices_are_warned_of_only_when_a_day_is_given(
    today: str | None, warnings: int
) -> None:
    day = datetime.date.fromisoformat(today) if today else None
    report = planning.report_of(sample_settings.settings(), lambda: None, Assumptions(), today=day)
    assert sum("days old" in verdict.sentence for verdict in report.verdicts) == warnings
