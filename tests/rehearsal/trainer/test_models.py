"""A model that is taken back from its state goes on exactly as the one it was taken from."""

import subprocess
from pathlib import Path

import pytest

from infra.rehearsal import frameworks
from tests.support.gang import REPOSITORY
from tests.support.pod_environment import variables

GO_ON = """
import numpy
from trainer import data
from trainer.context import Context, Events
from trainer.environment import read_environment
import os

{imports}

context = Context(
    checkpoints=None, environment=read_environment(os.environ), events=Events(None),
    local_rank=0, local_world_size=1,
)
task = data.make_task(1, 512, 64)
parameters = {{
    name: numpy.asarray(rows, numpy.float32)
    for name, rows in data.initial_parameters(1).items()
}}
inputs = numpy.asarray(task.training.inputs, numpy.float32)
targets = numpy.asarray(task.training.targets, numpy.float32)
one = {model}(context, parameters)
for _ in range(5):
    one.step(inputs, targets, stop=False)
two = {model}(context, parameters)
two.load(one.state())
for _ in range(5):
    assert one.step(inputs, targets, stop=False) == two.step(inputs, targets, stop=False)
assert one.step(inputs, targets, stop=True)[1] is True
assert one.evaluate(inputs, targets) != two.evaluate(inputs, targets)
assert {{"backend", "device", "versions"}} == set(one.describe())
"""


@pytest.mark.parametrize("precision", ["false", "true"], ids=["full", "mixed"])
@pytest.mark.parametrize(
    ("name", "imports", "model"),
    [
        ("pytorch", "from trainer.torch_model import TorchModel", "TorchModel"),
        (
            "tensorflow",
            "from trainer.tensorflow_model import TensorflowModel",
            "TensorflowModel",
        ),
    ],
    ids=["pytorch", "tensorflow"],
)
def test_a_model_goes_on_from_its_state(
    name: str, imports: str, model: str, precision: str, tmp_path: Path
) -> None:
    interpreter = frameworks.interpreter(name)
    if interpreter is None:
        pytest.skip(frameworks.missing(name))
    program = tmp_path / "go_on.py"
    program.write_text(GO_ON.format(imports=imports, model=model), encoding="utf-8")
    given = variables(
        GANGWAY_FRAMEWORK=name,
        GANGWAY_MIXED_PRECISION=precision,
        PYTHONPATH=str(REPOSITORY),
        PYTHONDONTWRITEBYTECODE="1",
        RANK="0",
        WORLD_SIZE="1",
        TF_CONFIG='{"cluster": {"worker": ["127.0.0.1:2222"]}, "task": {"index": 0}}',
    )
    answer = subprocess.run(  # noqa: S603 - our own program
        [str(interpreter), str(program)], env=given, capture_output=True, text=True, check=False
    )
    assert answer.returncode == 0, answer.stderr
