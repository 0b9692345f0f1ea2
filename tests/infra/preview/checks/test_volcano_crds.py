"""Volcano's objects against the CRDs of a chart, and where a chart is looked for."""

import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest

from infra.preview.checks import volcano_crds
from infra.preview.recording import RecordedResource
from tests.support.recorded import only_sentence, recording, resource

CRD = {
    "spec": {
        "group": "scheduling.volcano.sh",
        "names": {"kind": "Queue"},
        "versions": [
            {
                "name": "v1beta1",
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "apiVersion": {"type": "string"},
                            "kind": {"type": "string"},
                            "metadata": {"type": "object"},
                            "spec": {
                                "type": "object",
                                "properties": {"weight": {"type": "integer", "minimum": 1}},
                            },
                        },
                    }
                },
            }
        ],
    }
}


@pytest.fixture
def mirror(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "charts").mkdir()
    text = json.dumps(CRD).encode()
    with tarfile.open(tmp_path / "charts" / volcano_crds.ARCHIVE, "w:gz") as archive:
        entry = tarfile.TarInfo("volcano/crd/bases/scheduling.volcano.sh_queues.yaml")
        entry.size = len(text)
        archive.addfile(entry, io.BytesIO(text))
    monkeypatch.setenv("GANGWAY_MIRROR", str(tmp_path))
    return tmp_path


def queue(**spec: Any) -> RecordedResource:
    inputs = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "ml-queue"},
        "spec": spec,
    }
    return resource("kubernetes:scheduling.volcano.sh/v1beta1:Queue", "ml-queue", inputs)


@pytest.mark.usefixtures("mirror")
def test_a_queue_that_fits_is_fine() -> None:
    said = only_sentence(volcano_crds.CHECK, "ok", recording(queue(weight=1)))
    assert said == volcano_crds.CHECK.claim


@pytest.mark.usefixtures("mirror")
def test_rejects_a_field_that_the_server_would_drop() -> None:
    said = only_sentence(volcano_crds.CHECK, "refused", recording(queue(wait=1)))
    assert said.startswith('Queue "ml-queue": spec: Additional properties are not allowed')


@pytest.mark.usefixtures("mirror")
def test_rejects_a_value_out_of_range() -> None:
    said = only_sentence(volcano_crds.CHECK, "refused", recording(queue(weight=0)))
    assert "spec.weight: 0 is less than the minimum of 1" in said


@pytest.mark.usefixtures("mirror")
def test_rejects_a_kind_that_the_chart_does_not_bring() -> None:
    job = resource(
        "kubernetes:batch.volcano.sh/v1alpha1:Job",
        "gang-train",
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"},
    )
    said = only_sentence(volcano_crds.CHECK, "refused", recording(job))
    assert "no CRD for batch.volcano.sh/v1alpha1:Job" in said


def test_says_in_one_line_that_it_was_skipped(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(volcano_crds, "REPOSITORY_ROOT", tmp_path / "a" / "b")
    monkeypatch.setenv("GANGWAY_MIRROR", "https://mirror.example.org")
    monkeypatch.setenv("GANGWAY_CACHE", str(tmp_path))
    said = only_sentence(volcano_crds.CHECK, "skipped", recording(queue(weight=1)))
    assert said.startswith("no copy of volcano-1.15.0.tgz is at hand")


def test_a_stack_without_volcano_asks_for_no_chart() -> None:
    assert only_sentence(volcano_crds.CHECK, "ok", recording(resource("aws:ec2/vpc:Vpc")))


def test_the_releases_own_file_comes_first(mirror: Path, tmp_path: Path) -> None:
    own = tmp_path / volcano_crds.ARCHIVE
    own.write_bytes(b"")
    release = resource("kubernetes:helm.sh/v3:Release", "volcano", {"chart": str(own)})
    assert volcano_crds.find_chart(recording(release)) == own
    assert volcano_crds.find_chart(recording()) == mirror / "charts" / volcano_crds.ARCHIVE
