"""The training run of a rehearsal's own job, told once it is over."""

from typing import Final

from rich.console import Console

from infra.errors import GangwayError
from infra.operate.reports import Reports
from infra.operate.results import BUCKET_OUTPUT, DEFAULT_PREFIX, make_client
from infra.operate.runs_table import table
from infra.rehearsal import frameworks, gang_watch
from infra.rehearsal.driver import Rehearsal

WAIT_SECONDS: Final = 20.0
"""The default task takes about as long; whoever shows something else first waits for nothing."""


def tell_report(rehearsal: Rehearsal, console: Console, wait_seconds: float = WAIT_SECONDS) -> None:
    """Show what the trainer reported, or say in one line why there is no report yet."""
    absent = frameworks.absence(rehearsal.settings.training.framework)
    if absent or rehearsal.gang() is None:
        console.print(absent or "the environment has no training job", highlight=False)
        return
    job = rehearsal.settings.training_job
    more = f"gangway results --rehearsal {rehearsal.state.name}"
    try:
        gang_watch.wait_until_ended(rehearsal.api, job.namespace, job.name, wait_seconds)
    except GangwayError:
        console.print(
            f"the environment's own job still trains: `{more} --follow` shows its report",
            highlight=False,
        )
        return
    client = make_client(rehearsal.shell_variables())
    bucket = rehearsal.outputs()[BUCKET_OUTPUT]
    documents = Reports(bucket, DEFAULT_PREFIX, client).read()
    console.print(table(documents, console.width))
    console.print(f"whole reports: {more} --json", highlight=False)
