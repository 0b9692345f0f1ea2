"""One training process: the built-in task or a user's `train(context)`, started by `__main__`."""

import importlib.util
import logging
import os
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, NoReturn

from trainer.context import Context, make_context
from trainer.exits import ConfigurationError, ExitCode, TrainerError
from trainer.logs import set_up_logging

LOG = logging.getLogger("trainer.worker")

ORPHAN_SECONDS: Final = 0.5

Train = Callable[[Context], Mapping[str, Any] | None]


def built_in(framework: str) -> Train:
    """Return the default training in the framework of that name."""

    def train(context: Context) -> Mapping[str, Any]:
        from trainer.loop import Run  # noqa: PLC0415 - frameworks are heavy and optional

        if framework == "tensorflow":
            from trainer.tensorflow_model import TensorflowModel  # noqa: PLC0415

            return Run(context, TensorflowModel).run()
        from trainer.torch_model import TorchModel  # noqa: PLC0415

        return Run(context, TorchModel).run()

    return train


def from_script(path: Path) -> Train:
    """Load `train` from a user's file; its folder is importable, so it may have helpers."""
    if not path.is_file():
        message = f"the script {path} is not in the pod; check the settings that name it"
        raise ConfigurationError(message)
    sys.path.insert(0, str(path.parent))
    specification = importlib.util.spec_from_file_location("gangway_user_script", path)
    if specification is None or specification.loader is None:
        message = f"the script {path} is not a Python file"
        raise ConfigurationError(message)
    module = importlib.util.module_from_spec(specification)
    sys.modules[specification.name] = module
    specification.loader.exec_module(module)
    train = getattr(module, "train", None)
    if not callable(train):
        message = f"the script {path} has no function train(context)"
        raise ConfigurationError(message)
    found: Train = train
    return found


def _end_with_supervisor(supervisor: int) -> None:
    """A supervisor that was killed takes its training along, as the end of its pod would."""
    pause = threading.Event()
    while os.getppid() == supervisor:
        pause.wait(ORPHAN_SECONDS)
    os._exit(ExitCode.PEER_LOST)


def main(arguments: list[str]) -> int:
    """Train; tell the supervisor the result or the failure, and exit with its code."""
    set_up_logging()
    threading.Thread(target=_end_with_supervisor, args=(os.getppid(),), daemon=True).start()
    context = make_context()
    try:
        if arguments:
            train = from_script(Path(arguments[0]))
        else:
            train = built_in(context.environment.training.framework)
        result = train(context)
    except TrainerError as error:
        LOG.error("%s", error)
        context.events.emit("failure", exit_code=int(error.exit_code), message=str(error))
        return error.exit_code
    except Exception as error:
        LOG.exception("training failed")
        message = f"{type(error).__name__}: {error}"
        context.events.emit("failure", exit_code=int(ExitCode.TRAINING_FAILED), message=message)
        return ExitCode.TRAINING_FAILED
    context.events.emit("result", **(result or {}))
    return ExitCode.OK


def leave(code: int) -> NoReturn:
    """End the process; after a failure at once, since a framework may wait for lost ranks."""
    if code != ExitCode.OK:
        logging.shutdown()
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    sys.exit(code)


if __name__ == "__main__":
    leave(main(sys.argv[1:]))
