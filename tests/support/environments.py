"""The whole program of each environment, recorded once in a test process."""

from functools import cache
from pathlib import Path

import pulumi

from infra.preview.graph import Graph
from infra.preview.recorder import record
from infra.preview.recording import Recording
from stacks import gpu_training, loader
from stacks.settings import Settings
from tests.support.settings import TODAY

ENVIRONMENTS = ("dev", "prod")


@cache
def environment_settings(name: str) -> Settings:
    """Settings of a stack file."""
    return loader.parse(loader.load_stack_file(Path(f"Pulumi.{name}.yaml")), name, today=TODAY)


def recorded_with(settings: Settings) -> Recording:
    """The program as recorded with these settings."""
    return record(lambda: _deploy(settings), stack=settings.environment)


def _deploy(settings: Settings) -> None:

    for key, value in gpu_training.deploy(settings).items():
        pulumi.export(key, value)


@cache
def recorded(name: str) -> Recording:
    """The program of an environment."""
    return recorded_with(environment_settings(name))


@cache
def graph(name: str) -> Graph:
    """Who waits for whom in an environment."""
    return Graph(recorded(name))
