"""Files that the training pods mount: our trainer package, and the user's own scripts."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).resolve().parents[1]
"""The project's root, where `trainer/` lies and relative paths of settings begin."""

SUFFIXES: Final = (".json", ".py")
LARGEST_BYTES: Final = 900_000
"""Kubernetes refuses a ConfigMap above 1 MiB; keys and metadata need some of it."""


def trainer_files() -> dict[str, str]:
    """Name -> text of the trainer package's modules and its report schema."""
    return _texts(ROOT / "trainer", "trainer/")


def user_files(script_directory: str | None) -> dict[str, str]:
    """Name -> text of the scripts in `gangway:training.scriptDirectory`, none when not set.

    Raises ValueError when the folder is missing, holds no script, or is too large to mount.
    """
    if script_directory is None:
        return {}
    folder = ROOT / script_directory
    if not folder.is_dir():
        message = (
            f"gangway:training.scriptDirectory is {script_directory!r}, which is no folder below "
            "the project's root; name the folder of your scripts"
        )
        raise ValueError(message)
    return _texts(folder, f"gangway:training.scriptDirectory {script_directory}")


def _texts(folder: Path, what: str) -> dict[str, str]:
    texts = {
        path.name: path.read_text(encoding="utf-8")
        for path in sorted(folder.iterdir())
        if path.suffix in SUFFIXES
    }
    size = sum(len(text.encode()) for text in texts.values())
    if not texts or size > LARGEST_BYTES:
        message = (
            f"{what} holds {len(texts)} files ending in {' or '.join(SUFFIXES)} with {size} bytes "
            f"together; allowed: at least one file, {LARGEST_BYTES} bytes at most"
        )
        raise ValueError(message)
    return texts
