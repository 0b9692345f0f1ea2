"""Imports of the provider SDKs: ten thousand classes, no garbage among them."""

import contextlib
import gc
from collections.abc import Iterator


@contextlib.contextmanager
def uncollected() -> Iterator[None]:
    """Import without the garbage collector, which then never looks at what was imported.

    It would look through all of it again and again, for nothing, and once more at the end.
    """
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
