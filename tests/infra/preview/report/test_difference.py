"""What changed since an earlier report."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from infra.errors import UsageError
from infra.preview import command, planning
from infra.preview.command import Format
from infra.preview.cost import Assumptions, estimate
from infra.preview.recording import RecordedResource
from infra.preview.report.difference import difference, load_earlier
from infra.preview.report.json_report import render_json
from infra.preview.report.model import Report
from stacks.prices import load_prices
from tests.support import settings as sample_settings
from tests.support.recorded import recording, resource
from tests.support.sample_program import sample


@pytest.fixture(scope="module")
def report() -> Report:
    return planning.report_of(sample_settings.settings(), sample, Assumptions())


def changed(report: Report, *resources: RecordedResource) -> tuple[str, ...]:
    earlier = json.loads(render_json(report))
    cost = estimate(recording(*resources), load_prices("us-east-1"), sample_settings.settings())
    return difference(earlier, resources, cost)


def test_the_same_program_changes_nothing(report: Report, tmp_path: Path) -> None:
    path = tmp_path / "before.json"
    path.write_text(render_json(report), encoding="utf-8")
    assert command.compared(report, path).difference == ("no resource changed",)


def test_what_came_went_and_changed_is_told_with_its_cost(report: Report) -> None:
    assert report.recording is not None
    kept = [item for item in report.recording if item.type != "aws:ec2/vpcEndpoint:VpcEndpoint"]
    nodes = next(item for item in kept if item.name == "system" and "nodeGroup" in item.type)
    scaling = {"desiredSize": 2, "maxSize": 5, "minSize": 2}
    larger = replace(nodes, inputs=nodes.inputs | {"scalingConfig": scaling})
    new = resource("aws:kms/key:Key", "another")
    lines = changed(report, *(larger if item is nodes else item for item in kept), new)
    assert lines[:3] == (
        "- aws.ec2.VpcEndpoint network-sts",
        "+ aws.kms.Key another",
        "! aws.eks.NodeGroup system: scalingConfig.maxSize 3 -> 5",
    )
    assert lines[3].startswith("! an hour, idle, at most: $0.268 -> $0.249 (-$0.019)")
    assert len(lines) == 6


def test_two_environments_of_one_program_can_be_compared(report: Report) -> None:
    other = planning.report_of(sample_settings.settings(environment="prod"), sample, Assumptions())
    assert other.recording is not None
    assert changed(report, *other.recording.resources)[0] == "no resource changed"


@pytest.mark.parametrize("output_format", [Format.TEXT, Format.MARKDOWN, Format.HTML, Format.JSON])
def test_every_drawing_shows_the_change(report: Report, output_format: Format) -> None:
    drawn = command.render(replace(report, difference=("+ aws.kms.Key other",)), output_format)
    assert "+ aws.kms.Key other" in drawn
    assert "+ aws.kms.Key other" not in command.render(report, output_format)


@pytest.mark.parametrize("text", [None, "{", "[]", '{"format": 0}'])
def test_rejects_what_is_no_report(tmp_path: Path, text: str | None) -> None:
    path = tmp_path / "before.json"
    if text is not None:
        path.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError, match=r"--against .*before.json"):
        load_earlier(path)
