"""Gangs of real processes: the emulated AWS and the interpreters that can train."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from infra.rehearsal import frameworks
from tests.support.gang import Aws, GangJob, emulated_aws

MakeJob = Callable[..., GangJob]


@pytest.fixture(scope="session", params=sorted(frameworks.FRAMEWORKS))
def framework(request: pytest.FixtureRequest) -> str:
    """Run the test once per framework that this machine has."""
    name: str = request.param
    _interpreter(name)
    return name


@pytest.fixture
def aws() -> Iterator[Aws]:
    """A fresh emulated AWS."""
    with emulated_aws() as found:
        yield found


@pytest.fixture
def make_job(aws: Aws, tmp_path: Path) -> MakeJob:
    """Make a job of the named framework with some settings changed."""

    def make(name: str = "pytorch", **options: object) -> GangJob:
        fresh = options.pop("aws", aws)
        folder = options.pop("folder", tmp_path)
        return GangJob(fresh, folder, name, _interpreter(name), **options)  # type: ignore[arg-type]

    return make


def _interpreter(name: str) -> Path:
    found = frameworks.interpreter(name)
    if found is None:
        pytest.skip(frameworks.missing(name))
    return found
