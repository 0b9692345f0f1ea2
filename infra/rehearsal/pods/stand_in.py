"""A process that is only there: for a training pod without its framework, or for a sidecar."""

import signal
import sys
import threading

import typer

SECONDS = 5.0
"""How long a training pod without its framework runs."""


def main() -> None:
    """Say what is stood in for, wait, end with 0; SIGTERM ends it at once."""
    what = sys.argv[1] if len(sys.argv) > 1 else "forever"
    stopped = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: stopped.set())
    if what == "forever":
        stopped.wait()
    else:
        typer.echo(
            f"{what} is not on this machine: this pod waits {SECONDS:g} s instead of training"
        )
        stopped.wait(SECONDS)


if __name__ == "__main__":
    main()
