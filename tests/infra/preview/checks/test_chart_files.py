"""Chart files: a missing one is refused before Helm meets it."""

from pathlib import Path

from infra.preview.checks import chart_files
from infra.preview.recording import Recording
from tests.support.recorded import only_sentence, recording, resource


def release(chart: str) -> Recording:
    return recording(resource("kubernetes:helm.sh/v3:Release", "volcano", {"chart": chart}))


def test_rejects_a_chart_file_that_is_not_there(tmp_path: Path) -> None:
    chart = tmp_path / "volcano-1.15.0.tgz"
    said = only_sentence(chart_files.CHECK, "refused", release(str(chart)))
    assert f"there is no file {chart}" in said


def test_a_chart_file_that_is_there_is_fine(tmp_path: Path) -> None:
    chart = tmp_path / "volcano-1.15.0.tgz"
    chart.touch()
    assert only_sentence(chart_files.CHECK, "ok", release(str(chart)))


def test_a_chart_of_a_repository_is_fine() -> None:
    assert only_sentence(chart_files.CHECK, "ok", release("volcano"))
