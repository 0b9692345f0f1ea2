"""`gangway results`: the reports of training runs, listed and joined by run."""

import json
import subprocess
import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Any, Final

import typer
from rich.console import Console
from rich.table import Table

from infra.errors import GangwayError, MissingToolError

Document = dict[str, Any]

DEFAULT_PREFIX: Final = "logs/"
BUCKET_OUTPUT: Final = "resultsBucket"
FOLLOW_SECONDS: Final = 5.0
SHORT_UID: Final = 8
REFUSED: Final = frozenset({"AccessDenied", "403", "AllAccessDisabled"})
EXPIRED: Final = frozenset(
    {"ExpiredToken", "InvalidAccessKeyId", "InvalidToken", "SignatureDoesNotMatch"}
)

Bucket = Annotated[
    str | None, typer.Option(help="Bucket of the reports; else the stack's output is asked.")
]
Prefix = Annotated[str, typer.Option(help="Prefix of the reports, ending with /.")]
Env = Annotated[str, typer.Option(help="Environment whose stack knows the bucket.")]
Follow = Annotated[bool, typer.Option("--follow", help="Go on and show new reports as they come.")]
Run = Annotated[str | None, typer.Option(help="Show one run, by the beginning of its uid.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the documents as JSON lines.")]


def results(
    bucket: Bucket = None,
    prefix: Prefix = DEFAULT_PREFIX,
    env: Env = "dev",
    follow: Follow = False,
    run: Run = None,
    as_json: AsJson = False,
) -> None:
    """List and join the reports of training runs."""
    console = Console()
    source = Reports(bucket or bucket_of_stack(env), prefix, make_client())
    shown: set[str] = set()
    pause = threading.Event()
    while True:
        documents = source.read(run)
        fresh = [one for one in documents if _mark(one) not in shown]
        if fresh or not shown:
            show(console, fresh, source, run=run, as_json=as_json)
        shown |= {_mark(one) for one in documents}
        if not follow:
            return
        if not shown:
            console.print("waiting for a report (Ctrl-C ends) ...")
            shown.add("")
        pause.wait(FOLLOW_SECONDS)


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
    if kind in ("NoCredentialsError", "PartialCredentialsError", "ProfileNotFound"):
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


def make_client() -> Any:
    """Make the S3 client from the caller's own credentials."""
    import boto3  # noqa: PLC0415 - slow to import, needed only here
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    try:
        return boto3.client("s3")
    except BotoCoreError as error:
        raise GangwayError(explain(error, "", "")) from error


def bucket_of_stack(env: str) -> str:
    """Ask the engine for the stack's results bucket."""
    command = ["pulumi", "stack", "output", BUCKET_OUTPUT, "--stack", env, "--non-interactive"]
    try:
        answer = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    except FileNotFoundError as error:
        message = "no --bucket was given and there is no pulumi to ask the stack: give --bucket"
        raise MissingToolError(message) from error
    bucket = answer.stdout.strip()
    if answer.returncode or not bucket:
        message = (
            f"no --bucket was given and stack {env!r} has no output {BUCKET_OUTPUT!r}: "
            "give --bucket, or bring the stack up"
        )
        raise GangwayError(message)
    return bucket


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


def show(
    console: Console,
    documents: list[Document],
    source: Reports,
    *,
    run: str | None,
    as_json: bool,
) -> None:
    """Print the documents, or the sentence that there are none."""
    if as_json:
        for document in documents:
            console.out(json.dumps(document, sort_keys=True), highlight=False)
    elif documents:
        console.print(table(documents))
        for document in documents:
            if document.get("failure"):
                console.print(f"{document['run_id'][:SHORT_UID]}: {document['failure']['reason']}")
    else:
        what = f"no report of run {run!r}" if run else "no reports yet"
        console.print(f"{what} in s3://{source.bucket}/{source.prefix}")


def table(documents: list[Document]) -> Table:
    """One line per run."""
    grid = Table(title="Training runs (UTC)")
    for name in ("run", "job", "status", "started"):
        grid.add_column(name, no_wrap=name != "job")
    for name in ("ranks", "attempt", "loss", "of best", "samples/s", "GPU s", "USD", "spread ms"):
        grid.add_column(name, justify="right", no_wrap=True)
    for document in documents:
        grid.add_row(*line(document))
    return grid


def line(document: Mapping[str, Any]) -> list[str]:
    """The cells of one run; what is not known is a dash."""
    job = document.get("job") or {}
    results_ = document.get("training_results") or {}
    learned = results_.get("learned_fraction")
    loss = results_.get("final_loss", results_.get("last_loss"))
    cost = document.get("cost")
    return [
        document["run_id"][:SHORT_UID],
        f"{job.get('namespace', '?')}/{job.get('name', '?')}",
        str(document["status"]),
        str(document.get("started_at", ""))[:19].replace("T", " "),
        f"{len(document.get('ranks', ()))}/{job.get('world_size', '?')}",
        f"{job.get('attempt', '?')}/{job.get('max_retry', '?')}",
        _number(loss, "{:.4g}"),
        _number(learned and learned * 100, "{:.1f} %"),
        _number((document.get("throughput") or {}).get("samples_per_second"), "{:,.0f}"),
        _number(document.get("gpu_seconds"), "{:.0f}"),
        f"{cost['low']:.4f}-{cost['high']:.4f}" if cost else "-",
        _number((document.get("gang") or {}).get("started_spread_ms"), "{:.0f}"),
    ]


def _number(value: Any, form: str) -> str:
    return "-" if value is None else form.format(value)


def _mark(document: Mapping[str, Any]) -> str:
    """What must change for a run to be shown again."""
    return f"{document['run_id']} {document['status']} {document.get('finished_at')}"
