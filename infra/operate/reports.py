"""The reports in a results bucket: read once each, one per run, ranks joined."""

import json
from collections.abc import Iterable, Iterator
from typing import Any, Final

from infra.errors import GangwayError

Document = dict[str, Any]

REFUSED: Final = frozenset({"AccessDenied", "403", "AllAccessDisabled"})
EXPIRED: Final = frozenset(
    {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
)


class Reports:
    """The reports below one prefix of one bucket."""

    def __init__(self, bucket: str, prefix: str, client: Any) -> None:
        if not prefix.endswith("/"):
            message = f"--prefix is {prefix!r}; it must end with /"
            raise GangwayError(message)
        self.bucket = bucket
        self.prefix = prefix
        self.client = client
        self._read: dict[tuple[str, str], Document] = {}

    def read(self, run: str | None = None) -> list[Document]:
        """Read every job document, one per run, oldest first; ranks without one are joined."""
        try:
            jobs = self._documents(f"{self.prefix}volcano_training_")
            ranks = self._documents(f"{self.prefix}ranks/")
        except Exception as error:
            raise GangwayError(self._explain(error)) from error
        found = one_per_run([*jobs, *join_orphans(jobs, ranks)])
        return [one for one in found if not run or one["run_id"].startswith(run)]

    def _documents(self, under: str) -> list[Document]:
        return [self._document(key, tag) for key, tag in self._keys(under)]

    def _keys(self, under: str) -> Iterator[tuple[str, str]]:
        pages = self.client.get_paginator("list_objects_v2").paginate(
            Bucket=self.bucket, Prefix=under
        )
        for page in pages:
            for entry in page.get("Contents", ()):
                if entry["Key"].endswith(".json"):
                    yield entry["Key"], entry["ETag"]

    def _document(self, key: str, tag: str) -> Document:
        """Read an object once per version of it."""
        if (key, tag) not in self._read:
            body = self.client.get_object(Bucket=self.bucket, Key=key)["Body"].read()
            try:
                document = json.loads(body)
                self._read[key, tag] = {**document, "run_id": str(document["run_id"])}
            except (ValueError, KeyError, TypeError) as error:
                message = f"s3://{self.bucket}/{key} is not a report of this project"
                raise GangwayError(message) from error
        return self._read[key, tag]

    def _explain(self, error: Exception) -> str:
        if isinstance(error, GangwayError):
            return str(error)
        return explain(error, self.bucket, self.prefix)


def explain(error: Exception, bucket: str, prefix: str) -> str:
    """Say in one sentence why the bucket could not be read and what to do."""
    kind = type(error).__name__
    code = str(getattr(error, "response", {}).get("Error", {}).get("Code", ""))
    if kind == "ProfileNotFound":
        return f"{error}: name one of `aws configure list-profiles` in AWS_PROFILE"
    if kind in ("NoCredentialsError", "PartialCredentialsError"):
        return "no AWS credentials were found: set AWS_PROFILE, or log in (`aws sso login`)"
    if code in EXPIRED or kind in ("TokenRetrievalError", "SSOTokenLoadError"):
        return "the AWS credentials are not valid any more: log in again (`aws sso login`)"
    if code in ("NoSuchBucket", "404"):
        return f"there is no bucket {bucket!r}: check --bucket, or whether the stack is up"
    if code in REFUSED:
        return (
            f"these credentials may not read s3://{bucket}/{prefix}: "
            "use a role that may list and get there"
        )
    return f"s3://{bucket}/{prefix} could not be read: {error}"


def join_orphans(jobs: Iterable[Document], ranks: Iterable[Document]) -> list[Document]:
    """Join the ranks of runs whose job document did not come; such a run is not whole."""
    have = {one["run_id"] for one in jobs}
    groups: dict[str, list[Document]] = {}
    for rank in ranks:
        if rank["run_id"] not in have:
            groups.setdefault(rank["run_id"], []).append(rank)
    return [_partial(sorted(group, key=lambda one: int(one["rank"]))) for group in groups.values()]


def _partial(ranks: list[Document]) -> Document:
    first = ranks[0]
    return {
        **{name: first.get(name) for name in ("job", "run_id", "training_results")},
        "kind": "partial",
        "status": f"{len(ranks)} of {first['job']['world_size']} ranks",
        "started_at": min(rank["started_at"] for rank in ranks),
        "finished_at": max(rank["finished_at"] for rank in ranks),
        "gang": {},
        "gpu_seconds": sum(rank.get("gpu_seconds", 0) for rank in ranks),
        "ranks": ranks,
    }


def one_per_run(documents: Iterable[Document]) -> list[Document]:
    """Keep one document per run, a success before a failure, sorted by start."""
    best: dict[str, Document] = {}
    for document in documents:
        known = best.get(document["run_id"])
        if known is None or (known["status"] != "success" and document["status"] == "success"):
            best[document["run_id"]] = document
    return sorted(best.values(), key=lambda one: str(one.get("started_at", "")))
