"""Watches the GPUs during the run, so that utilisation is an average over it, not a moment."""

import threading
from typing import Any, Final

from trainer.hardware import read_gpus

EVERY_SECONDS: Final = 5.0
HIGHEST: Final = ("memory_used_mb", "temperature_celsius", "utilization_percent")
"""Of these the report holds the highest value seen."""


class GpuMonitor:
    """Samples every GPU in the background; does nothing where there is none."""

    def __init__(self) -> None:
        self._samples: list[list[dict[str, Any]]] = []
        self._ended = threading.Event()

    def start(self) -> None:
        """Take a first sample; go on only when there is a GPU."""
        first = read_gpus()
        if first:
            self._samples.append(first)
            threading.Thread(target=self._watch, daemon=True).start()

    def end(self) -> None:
        """Stop sampling."""
        self._ended.set()

    def devices(self) -> list[dict[str, Any]]:
        """Summarise each GPU over the samples; an empty list when there is none."""
        return summarise(self._samples)

    def _watch(self) -> None:
        while not self._ended.wait(EVERY_SECONDS):
            sample = read_gpus()
            if sample:
                self._samples.append(sample)


def summarise(samples: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    """Take each GPU's last facts, its highest loads, and its mean utilisation."""
    if not samples:
        return []
    devices = []
    for place, last in enumerate(samples[-1]):
        seen = [sample[place] for sample in samples if place < len(sample)]
        device = dict(last)
        for name in HIGHEST:
            values = [one[name] for one in seen if name in one]
            if values:
                device[name] = max(values)
        loads = [one["utilization_percent"] for one in seen if "utilization_percent" in one]
        if loads:
            device["utilization_mean_percent"] = sum(loads) / len(loads)
            device["utilization_samples"] = len(loads)
        devices.append(device)
    return devices
