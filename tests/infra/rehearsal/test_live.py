"""The live view's bookkeeping, from events as the engine sends them."""

from typing import Any

import pytest
from pulumi import automation

from infra.rehearsal.live import Progress, display_name

URN = (
    "urn:pulumi:dev::gangway::gangway:components:Network$aws:ec2/subnet:Subnet"
    "::network-private-use1-az4"
)


def _event(kind: str, operation: str = "create", urn: str = URN) -> automation.EngineEvent:
    step: dict[str, Any] = {
        "op": operation,
        "urn": urn,
        "type": urn.split("::")[2].rpartition("$")[2],
        "provider": "",
    }
    body = {"metadata": step, "status": 0, "steps": 0}
    return automation.EngineEvent.from_json({"sequence": 1, "timestamp": 1, kind: body})


def _diagnostic(severity: str, message: str) -> automation.EngineEvent:
    body = {"message": message, "color": "never", "severity": severity}
    return automation.EngineEvent.from_json(
        {"sequence": 1, "timestamp": 1, "diagnosticEvent": body}
    )


@pytest.mark.parametrize(
    ("urn", "name"),
    [
        (URN, "aws ec2/subnet network-private-use1-az4"),
        (
            "urn:pulumi:dev::gangway::kubernetes:scheduling.volcano.sh/v1beta1:Queue::ml-queue",
            "kubernetes scheduling.volcano.sh/v1beta1:Queue ml-queue",
        ),
        ("urn:pulumi:dev::gangway::eks:index:Cluster::cluster", "eks index:Cluster cluster"),
    ],
    ids=["aws", "kubernetes", "component"],
)
def test_a_resource_is_shown_by_type_and_name(urn: str, name: str) -> None:
    assert display_name(urn) == name


def test_a_finished_step_is_told_with_its_time() -> None:
    progress = Progress()
    progress.take(_event("resourcePreEvent"), now=10.0)
    line = progress.take(_event("resOutputsEvent"), now=12.5)
    assert line == "created aws ec2/subnet network-private-use1-az4 (2.5 s)"


def test_what_runs_is_known_until_it_ends() -> None:
    progress = Progress()
    progress.take(_event("resourcePreEvent"), now=1.0)
    assert list(progress.running) == [URN]
    progress.take(_event("resOutputsEvent"), now=2.0)
    assert progress.running == {}


def test_a_failed_step_is_told_and_counted() -> None:
    progress = Progress()
    progress.take(_event("resourcePreEvent"), now=1.0)
    line = progress.take(_event("resOpFailedEvent"), now=2.0)
    assert line == "failed aws ec2/subnet network-private-use1-az4 (1.0 s)"
    assert progress.summary() == "1 failed"


def test_what_stays_the_same_is_counted_and_not_told() -> None:
    progress = Progress()
    progress.take(_event("resourcePreEvent", "same"), now=1.0)
    assert progress.take(_event("resOutputsEvent", "same"), now=2.0) is None
    assert progress.summary() == "1 unchanged"


def test_the_stack_itself_is_no_news() -> None:
    urn = "urn:pulumi:dev::gangway::pulumi:pulumi:Stack::gangway-dev"
    progress = Progress()
    progress.take(_event("resourcePreEvent", urn=urn), now=1.0)
    assert progress.take(_event("resOutputsEvent", urn=urn), now=2.0) is None
    assert progress.summary() == "nothing to do"


def test_errors_are_kept_in_one_line_and_warnings_are_not() -> None:
    progress = Progress()
    progress.take(_diagnostic("error", "no such\n  subnet"), now=1.0)
    progress.take(_diagnostic("warning", "take care"), now=1.0)
    assert progress.diagnostics == ["no such subnet"]


def test_operations_are_counted_by_kind() -> None:
    progress = Progress()
    for operation in ("create", "create", "update"):
        progress.take(_event("resourcePreEvent", operation), now=1.0)
        progress.take(_event("resOutputsEvent", operation), now=2.0)
    assert progress.counts() == {"create": 2, "update": 1}


def test_a_replacement_is_summed_up_once() -> None:
    progress = Progress()
    for operation in ("create-replacement", "replace", "delete-replaced"):
        progress.take(_event("resourcePreEvent", operation), now=1.0)
        progress.take(_event("resOutputsEvent", operation), now=2.0)
    assert progress.summary() == "1 replaced"


def test_a_replacement_that_stopped_half_way_is_still_told() -> None:
    progress = Progress()
    progress.take(_event("resourcePreEvent", "delete-replaced"), now=1.0)
    progress.take(_event("resOutputsEvent", "delete-replaced"), now=2.0)
    assert progress.summary() == "1 deleted (replaced)"
