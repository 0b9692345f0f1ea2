"""Log lines: UTC with a Z, one format for supervisor and training processes."""

import logging
import time


def set_up_logging() -> None:
    """Log to stderr, and only what matters."""
    logging.Formatter.converter = time.gmtime
    logging.basicConfig(
        level=logging.INFO,
        format="%(asctime)s.%(msecs)03dZ %(name)s %(message)s",
        datefmt="%Y-%m-%dT%H:%M:%S",
    )
    logging.getLogger("botocore").setLevel(logging.WARNING)
