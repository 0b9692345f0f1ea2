"""The drawings: what must be in each, and what must not get out of hand."""

import html.parser
import json
import re

import pytest

from infra.preview import planning
from infra.preview.checks.verdict import Verdict
from infra.preview.cost import Assumptions, Range
from infra.preview.report import model
from infra.preview.report.html import render_html
from infra.preview.report.json_report import render_json
from infra.preview.report.markdown import marker, render_markdown
from infra.preview.report.mermaid import mermaid, render_mermaid
from infra.preview.report.money import hourly, spread
from infra.preview.report.svg import svg
from infra.preview.report.text import PIPED_WIDTH, render_text
from tests.support import settings as sample_settings
from tests.support.recorder import record
from tests.support.sample_program import sample

REFUSED = model.unusable(
    "prod", (Verdict(check="settings", level="refused", sentence="a < b | <script>x</script>"),)
)


@pytest.fixture(scope="module")
def report() -> model.Report:
    return planning.report_of(sample_settings.settings(), sample, Assumptions())


def test_text_is_no_wider_than_a_wide_terminal(report: model.Report) -> None:
    assert max(map(len, render_text(report).splitlines())) <= PIPED_WIDTH


def test_text_shows_tree_order_cost_and_summary(report: model.Report) -> None:
    text = render_text(report)
    assert text.startswith("Gangway dev  us-east-1, 36 resources: 22 AWS")
    assert "├── aws.ec2.Subnet network-private-use1-az4  10.20.0.0/20 · zone use1-az4" in text
    assert "EksCluster cluster  needs network" in text
    assert "  4. volcano" in text
    assert "total an hour" in text
    assert text.endswith(f"dev is {report.summary}\n")


def test_a_refused_environment_shows_every_reason_in_every_drawing() -> None:
    assert "✗ settings a < b" in render_text(REFUSED)
    assert "prod is refused: 0 ok, 1 refusal" in render_markdown(REFUSED)
    assert json.loads(render_json(REFUSED))["sound"] is False
    assert "refused: 0 ok, 1 refusal" in render_html(REFUSED)
    assert render_mermaid(REFUSED) == ""


def test_html_fetches_nothing_and_runs_nothing(report: model.Report) -> None:
    page = render_html(report)
    assert not re.search(r"<(script|link|img|iframe|object)\b|@import|url\((?!#)", page)


def test_html_escapes_what_it_shows() -> None:
    assert "<script>" not in render_html(REFUSED)
    assert "&lt;script&gt;" in render_html(REFUSED)


def test_html_closes_what_it_opens(report: model.Report) -> None:
    class Balance(html.parser.HTMLParser):
        opened: list[str]

        def __init__(self) -> None:
            super().__init__()
            self.opened = []

        def handle_starttag(self, tag: str, attrs: object) -> None:
            if tag != "meta":
                self.opened.append(tag)

        def handle_startendtag(self, tag: str, attrs: object) -> None:
            """Needs no end."""

        def handle_endtag(self, tag: str) -> None:
            assert self.opened.pop() == tag

    parser = Balance()
    parser.feed(render_html(report))
    assert parser.opened == []


def test_svg_has_a_box_for_each_part_and_an_arrow_for_each_need(report: model.Report) -> None:
    assert report.recording is not None
    picture = svg(report.recording)
    assert picture.count("<rect") == len([b for b in report.branches if "provider" not in b.title])
    assert picture.count('class="arrow"') == mermaid(report.recording).count("-->")


def test_markdown_starts_with_its_marker(report: model.Report) -> None:
    assert render_markdown(report).startswith(f"{marker('dev')}\n## ✅ dev is sound")


def test_markdown_puts_refusals_before_all_else() -> None:
    verdicts = (
        Verdict(check="a", level="ok", sentence="fine"),
        Verdict(check="b", level="refused", sentence="bad"),
    )
    text = render_markdown(model.unusable("dev", verdicts))
    assert text.index("| b | bad |") < text.index("| a | fine |")


def test_markdown_keeps_its_tables_whole() -> None:
    row = next(line for line in render_markdown(REFUSED).splitlines() if "script" in line)
    assert row == "| ❌ | settings | a &lt; b \\| &lt;script>x&lt;/script> |"


def test_markdown_fits_a_comment(report: model.Report) -> None:
    assert len(render_markdown(report)) < 65_536


def test_json_holds_no_secret(report: model.Report) -> None:
    document = json.loads(render_json(report))
    provider = next(
        item for item in document["resources"] if item["type"] == "pulumi:providers:kubernetes"
    )
    assert provider["inputs"]["kubeconfig"] == "[secret]"
    assert "get-token" not in render_json(report)
    assert document["cost"]["idle_month"]["low"] == pytest.approx(195.566)


def test_mermaid_draws_an_arrow_from_what_is_needed() -> None:
    picture = mermaid(record(sample))
    assert picture.startswith("flowchart TD\n")
    assert '    Network_network["network<br/><i>Network</i><br/>6 resources"]' in picture
    assert "    Network_network --> EksCluster_cluster\n" in picture
    assert "Network_network --> Volcano_volcano" not in picture


def test_many_of_a_kind_share_a_line() -> None:
    alike = tuple(
        model.Branch(title="T", name=f"n{number}", urn=str(number), facts=(f"f{number}",))
        for number in range(4)
    )
    assert len(model.gathered(alike[:3])) == 3
    (line,) = model.gathered(alike)
    assert line.facts == ("x 4", "f0", "f1", "f2", "f3")


@pytest.mark.parametrize(
    ("low", "high", "written"),
    [
        (0.0, 0.0, "-"),
        (0.0001, 0.0001, "<$0.001"),
        (0.1, 0.1, "$0.100"),
        (1.2, 3.4312, "$1.200 to $3.431"),
    ],
)
def test_money_is_written_shortly(low: float, high: float, written: str) -> None:
    assert hourly(Range(low=low, high=high)) == written


def test_a_month_has_cents() -> None:
    assert spread(Range(low=1234.5, high=1234.5)) == "$1,234.50"
