"""An S3 client in memory that can be told to fail."""

import io
from typing import Any

from botocore.exceptions import ClientError


def client_error(code: str, operation: str = "PutObject") -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": "no"}}, operation)


MISSING = client_error("NoSuchKey", "GetObject")


class MemoryS3:
    """Holds objects; fails the next calls with the errors in `errors`, first in, first out."""

    def __init__(self, errors: list[Exception] | None = None) -> None:
        self.errors = errors or []
        self.objects: dict[str, bytes] = {}
        self.calls = 0

    def _call(self) -> None:
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)

    def put_object(self, *, Bucket: str, Key: str, Body: bytes, ContentType: str) -> None:  # noqa: N803
        self._call()
        self.objects[Key] = Body

    def get_object(self, *, Bucket: str, Key: str) -> dict[str, Any]:  # noqa: N803
        self._call()
        if Key not in self.objects:
            raise MISSING
        return {"Body": io.BytesIO(self.objects[Key])}

    def get_paginator(self, _: str) -> "MemoryS3":
        return self

    def paginate(self, *, Bucket: str, Prefix: str) -> list[dict[str, Any]]:  # noqa: N803
        self._call()
        found = sorted(key for key in self.objects if key.startswith(Prefix))
        return [{"Contents": [{"Key": key}]} for key in found] or [{}]
