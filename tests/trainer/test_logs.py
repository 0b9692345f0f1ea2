import logging
import time

from trainer.logs import set_up_logging


def test_log_lines_are_in_utc_and_the_sdk_is_quiet() -> None:
    before = logging.Formatter.converter
    try:
        set_up_logging()
        assert logging.Formatter.converter is time.gmtime
        assert logging.getLogger("botocore").level == logging.WARNING
    finally:
        logging.Formatter.converter = before
        logging.getLogger("botocore").setLevel(logging.NOTSET)
