"""Where commands print: as wide as the terminal, and wide enough for whole rows elsewhere."""

from typing import Final

from rich.console import Console

PIPE_WIDTH: Final = 160
"""What is not a terminal has no width of its own; nothing is folded there for a want of it."""


def standard_output(*, width: int = PIPE_WIDTH) -> Console:
    """A console on standard output; `width` counts only where there is no terminal."""
    console = Console()
    return console if console.is_terminal else Console(width=width)
