"""Objects in the results bucket, with retries that end: what cannot be kept fails the pod."""

import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, Final, TypeVar

from trainer.environment import Destination
from trainer.exits import StorageError

Answer = TypeVar("Answer")

DEADLINE_SECONDS: Final = 90.0
FIRST_PAUSE_SECONDS: Final = 0.5
LONGEST_PAUSE_SECONDS: Final = 10.0
CONNECT_SECONDS: Final = 5
READ_SECONDS: Final = 20
REFUSED_TRIES: Final = 4
"""A refusal may be a grant that has not spread yet; more tries than this will not mend it."""
REFUSALS: Final = frozenset(
    {"AccessDenied", "403", "NoSuchBucket", "InvalidAccessKeyId", "SignatureDoesNotMatch"}
)
MISSING: Final = frozenset({"NoSuchKey", "404", "NotFound"})


def make_client(service: str, region: str) -> Any:
    """Make a boto3 client that does not retry by itself, so that one place decides how long.

    A session of its own looks for credentials afresh: they may not have been there before.
    """
    from boto3.session import Session  # noqa: PLC0415 - the pure parts work without boto3
    from botocore.config import Config  # noqa: PLC0415

    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": 1, "mode": "standard"},
    )
    return Session().client(service, region_name=region, config=config)


class Storage:
    """The one prefix of the one bucket that this pod may write."""

    def __init__(
        self,
        destination: Destination,
        *,
        client: Any = None,
        deadline_seconds: float = DEADLINE_SECONDS,
        first_pause_seconds: float = FIRST_PAUSE_SECONDS,
    ) -> None:
        self.bucket = destination.bucket
        self.prefix = destination.prefix
        self._client = client
        self._region = destination.region
        self.deadline_seconds = deadline_seconds
        self.first_pause_seconds = first_pause_seconds

    @property
    def client(self) -> Any:
        """The S3 client, made on first use: that may fail for a while, like any other call."""
        if self._client is None:
            self._client = make_client("s3", self._region)
        return self._client

    def put(self, key: str, body: bytes, content_type: str = "application/octet-stream") -> None:
        """Write one object whole; S3 shows it whole or not at all."""
        self._persist(
            f"writing s3://{self.bucket}/{key}",
            lambda: self.client.put_object(
                Bucket=self.bucket, Key=key, Body=body, ContentType=content_type
            ),
        )

    def get(self, key: str) -> bytes | None:
        """Read one object, or None when there is none of that key.

        Looks it up first: to a role that may list below a prefix only, S3 answers the reading of
        a missing object with 403 and not with 404.
        """

        def read() -> bytes | None:
            if key not in self._pages(key):
                return None
            try:
                answer = self.client.get_object(Bucket=self.bucket, Key=key)
                body: bytes = answer["Body"].read()
            except Exception as error:
                if error_code(error) in MISSING:
                    return None
                raise
            return body

        return self._persist(f"reading s3://{self.bucket}/{key}", read)

    def keys(self, under: str) -> list[str]:
        """List the keys that start with `under`."""
        return self._persist(
            f"listing s3://{self.bucket}/{under}", lambda: list(self._pages(under))
        )

    def _pages(self, under: str) -> Iterator[str]:
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=under
        )
        for page in pages:
            for entry in page.get("Contents", ()):
                yield entry["Key"]

    def _persist(self, what: str, ask: Callable[[], Answer]) -> Answer:
        return persist(
            what,
            ask,
            deadline_seconds=self.deadline_seconds,
            first_pause_seconds=self.first_pause_seconds,
        )


def persist(
    what: str,
    ask: Callable[[], Answer],
    *,
    deadline_seconds: float = DEADLINE_SECONDS,
    first_pause_seconds: float = FIRST_PAUSE_SECONDS,
) -> Answer:
    """Ask until it succeeds, pausing longer each time; StorageError when it never does."""
    end = time.monotonic() + deadline_seconds
    pause = first_pause_seconds
    tries = 0
    refused = 0
    while True:
        tries += 1
        try:
            return ask()
        except Exception as error:
            refused += is_refusal(error)
            if refused >= REFUSED_TRIES or time.monotonic() + pause > end:
                message = f"{what} failed {tries} times: {type(error).__name__}: {error}"
                raise StorageError(message) from error
        threading.Event().wait(pause * random.uniform(0.5, 1))  # noqa: S311 - jitter
        pause = min(2 * pause, LONGEST_PAUSE_SECONDS)


def error_code(error: Exception) -> str:
    """Name the code in a botocore ClientError; empty for anything else."""
    response = getattr(error, "response", None)
    if not isinstance(response, dict):
        return ""
    return str(response.get("Error", {}).get("Code", ""))


def is_refusal(error: Exception) -> bool:
    """Whether asking again is unlikely to help."""
    return error_code(error) in REFUSALS
