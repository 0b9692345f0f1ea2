"""`gangway results`: the reports of training runs, listed and joined by run."""

import json
import os
import subprocess
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console

from infra import consoles
from infra.errors import GangwayError, MissingToolError
from infra.operate.reports import Document, Reports, explain
from infra.operate.runs_table import SHORT_UID, table

PROJECT_ROOT: Final = Path(__file__).resolve().parents[2]
DEFAULT_PREFIX: Final = "logs/"
BUCKET_OUTPUT: Final = "resultsBucket"
FOLLOW_SECONDS: Final = 5.0

Bucket = Annotated[
    str | None, typer.Option(help="Bucket of the reports; else the stack's output is asked.")
]
Prefix = Annotated[str, typer.Option(help="Prefix of the reports, ending with /.")]
Env = Annotated[str, typer.Option(help="Environment whose stack knows the bucket.")]
OfRehearsal = Annotated[
    str | None, typer.Option("--rehearsal", help="Ask the rehearsal of this name, not AWS.")
]
Follow = Annotated[bool, typer.Option("--follow", help="Go on and show new reports as they come.")]
Run = Annotated[str | None, typer.Option(help="Show one run, by the beginning of its uid.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print the documents as JSON lines.")]


def results(
    bucket: Bucket = None,
    prefix: Prefix = DEFAULT_PREFIX,
    env: Env = "dev",
    rehearsal: OfRehearsal = None,
    follow: Follow = False,
    run: Run = None,
    as_json: AsJson = False,
) -> None:
    """List and join the reports of training runs."""
    variables = variables_of_rehearsal(env, rehearsal) if rehearsal else {}
    source = Reports(bucket or bucket_of_stack(env, variables), prefix, make_client(variables))
    shown: set[str] = set()
    pause = threading.Event()
    while True:
        documents = source.read(run)
        fresh = [one for one in documents if _mark(one) not in shown]
        show(fresh, as_json=as_json)
        if not documents and not shown:
            tell_none(source, run=run, follow=follow)
            shown.add("told")
        shown |= {_mark(one) for one in documents}
        if not follow:
            return
        pause.wait(FOLLOW_SECONDS)


def make_client(variables: Mapping[str, str]) -> Any:
    """Make the S3 client from the caller's own credentials, or from those of a rehearsal."""
    import boto3  # noqa: PLC0415 - slow to import, needed only here
    from botocore.exceptions import BotoCoreError  # noqa: PLC0415

    given = {
        name: variables[variable]
        for name, variable in (
            ("aws_access_key_id", "AWS_ACCESS_KEY_ID"),
            ("aws_secret_access_key", "AWS_SECRET_ACCESS_KEY"),
            ("endpoint_url", "AWS_ENDPOINT_URL"),
            ("region_name", "AWS_REGION"),
        )
        if variable in variables
    }
    try:
        return boto3.client("s3", **given)
    except BotoCoreError as error:
        raise GangwayError(explain(error, "", "")) from error


def variables_of_rehearsal(env: str, name: str) -> dict[str, str]:
    """The variables by which programs find a rehearsal's AWS and its stack."""
    from infra.rehearsal.driver import Rehearsal  # noqa: PLC0415 - brings the whole rehearsal

    rehearsal = Rehearsal(env, Console(stderr=True), name=name)
    # Without an endpoint of its own the client would ask the real AWS.
    if not rehearsal.state.section("moto").get("endpoint"):
        message = (
            f"no rehearsal {name} runs; `gangway rehearse up --env {env} --name {name}` starts one"
        )
        raise GangwayError(message)
    return rehearsal.shell_variables()


def bucket_of_stack(env: str, variables: Mapping[str, str]) -> str:
    """Ask the engine for the stack's results bucket."""
    command = ["pulumi", "stack", "output", BUCKET_OUTPUT, "--stack", env, "--non-interactive"]
    try:
        answer = subprocess.run(  # noqa: S603 - the engine, by a fixed command
            command,
            capture_output=True,
            check=False,
            cwd=PROJECT_ROOT,
            env=os.environ | variables,
            text=True,
        )
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


def show(documents: list[Document], *, as_json: bool) -> None:
    """Print the documents; the reason of a failure goes below the table."""
    if as_json:
        for document in documents:
            typer.echo(json.dumps(document, sort_keys=True))
    elif documents:
        console = consoles.standard_output()
        console.print(table(documents, console.width))
        for document in documents:
            if document.get("failure"):
                reason = document["failure"]["reason"]
                console.print(f"{document['run_id'][:SHORT_UID]}: {reason}", markup=False)


def tell_none(source: Reports, *, run: str | None, follow: bool) -> None:
    """Say that there are no reports, beside the standard output: that is for reports only."""
    what = f"no report of run {run!r}" if run else "no reports yet"
    more = "; waiting for one (Ctrl-C ends)" if follow else ""
    typer.echo(f"{what} in s3://{source.bucket}/{source.prefix}{more}", err=True)


def _mark(document: Document) -> str:
    """What must change for a run to be shown again."""
    return f"{document['run_id']} {document['status']} {document.get('finished_at')}"
