"""The pinned charts rendered with our values, where a helm and a copy of the chart are at hand."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from components.versions import DEFAULT_KUBERNETES_VERSION, ChartPin

REPOSITORY = Path(__file__).resolve().parents[2]


def chart_file(pin: ChartPin) -> Path:
    """The packed chart from the mirror folder; skips the test without one."""
    name = f"{pin.chart}-{pin.version}.tgz"
    places = [
        Path(mirror) / "charts" / name
        for mirror in (
            os.environ.get("GANGWAY_MIRROR", ""),
            str(REPOSITORY.parent / "shared/mirror"),
        )
        if mirror and "://" not in mirror
    ]
    found = next((place for place in places if place.is_file()), None)
    if found is None:
        pytest.skip(f"no copy of {name} at hand (GANGWAY_MIRROR)")
    return found


def rendered(
    pin: ChartPin, values: Mapping[str, Any], *, namespace: str, folder: Path
) -> list[dict[str, Any]]:
    """Every object of the chart, CRDs left out. `helm` comes from PATH or GANGWAY_HELM."""
    chart = chart_file(pin)
    helm = os.environ.get("GANGWAY_HELM") or shutil.which("helm")
    if helm is None:
        pytest.skip("no helm on PATH (or in GANGWAY_HELM) to render the chart with")
    values_file = folder / "values.yaml"
    values_file.write_text(yaml.safe_dump(dict(values)), encoding="utf-8")
    command = [helm, "template", pin.chart, str(chart), "--namespace", namespace]
    options = ["--values", str(values_file), "--kube-version", f"{DEFAULT_KUBERNETES_VERSION}.0"]
    text = subprocess.run(  # noqa: S603 - a command of ours
        [*command, *options], capture_output=True, check=True, text=True
    ).stdout
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    objects = yaml.load_all(text, Loader=loader)
    return [item for item in objects if item and item["kind"] != "CustomResourceDefinition"]


def pod_specs(objects: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """`Kind/name` -> pod spec of each object that makes pods."""
    return {
        f"{item['kind']}/{item['metadata']['name']}": item["spec"]["template"]["spec"]
        for item in objects
        if item["kind"] in ("DaemonSet", "Deployment", "Job")
    }


def images(pod: Mapping[str, Any]) -> set[str]:
    """Images of a pod's containers, init containers included."""
    return {item["image"] for key in ("containers", "initContainers") for item in pod.get(key, [])}
