import json

import pytest

from infra.rehearsal.scenarios import observer
from infra.rehearsal.scenarios.events import (
    Bound,
    Created,
    Deleted,
    Ended,
    GangRefused,
    PodName,
    Refused,
    Started,
    to_micros,
)

WHEN = "2026-11-30T08:00:00.123456Z"
AT = to_micros(WHEN)
POD = PodName(namespace="demo", name="a-0")


def line(verb="create", subresource="", *, sent=None, name="a-0", code=201, **changes):
    reference = {"resource": "pods", "namespace": "demo", "name": name}
    if subresource:
        reference["subresource"] = subresource
    record = {
        "stage": "ResponseComplete",
        "verb": verb,
        "requestReceivedTimestamp": WHEN,
        "objectRef": reference,
        "responseStatus": {"code": code},
        "requestObject": sent or {},
    }
    return json.dumps(record | changes)


BINDING = line(subresource="binding", sent={"target": {"kind": "Node", "name": "n1"}})


def seen(*lines):
    return list(observer.events(lines))


def test_a_binding_names_pod_node_and_microsecond():
    assert seen(BINDING) == [Bound(at=AT, node="n1", pod=POD)]
    assert AT % 1_000_000 == 123456


def test_a_created_pod_names_its_gang():
    sent = {"metadata": {"labels": {"gangway.dev/gang": "a", "volcano.sh/job-name": "j"}}}
    assert seen(line(sent=sent)) == [Created(at=AT, gang="a", pod=POD)]


def test_a_pod_of_a_volcano_job_belongs_to_the_jobs_gang():
    sent = {"metadata": {"labels": {"volcano.sh/job-name": "j"}}}
    assert seen(line(sent=sent)) == [Created(at=AT, gang="j", pod=POD)]


def test_a_generated_name_is_taken_from_the_answer():
    record = line(name="", responseObject={"metadata": {"name": "a-0"}})
    assert seen(record) == [Created(at=AT, gang="", pod=POD)]


@pytest.mark.parametrize("verb", ["patch", "update"])
@pytest.mark.parametrize(
    ("phase", "expected"),
    [
        ("Running", Started(at=AT, pod=POD)),
        ("Succeeded", Ended(at=AT, pod=POD, succeeded=True)),
        ("Failed", Ended(at=AT, pod=POD, succeeded=False)),
    ],
)
def test_a_phase_that_is_written_starts_or_ends_the_pod(verb, phase, expected):
    assert seen(line(verb, "status", sent={"status": {"phase": phase}}, code=200)) == [expected]


@pytest.mark.parametrize(
    "code", [200, 422], ids=["written", "kept from the pod by the policy on whole gangs"]
)
def test_an_unplaced_pod_is_refused_with_the_schedulers_words(code):
    conditions = [{"type": "PodScheduled", "status": "False", "message": "0/2 nodes"}]
    sent = {"status": {"conditions": conditions}}
    assert seen(line("patch", "status", sent=sent, code=code)) == [
        Refused(at=AT, message="0/2 nodes", pod=POD)
    ]


def test_a_phase_that_is_not_accepted_starts_no_pod():
    assert seen(line("patch", "status", sent={"status": {"phase": "Running"}}, code=409)) == []


UNSCHEDULABLE = {"type": "Unschedulable", "status": "True", "message": "not enough"}


def pod_group(status):
    metadata = {"name": "a-123", "ownerReferences": [{"kind": "Job", "name": "a"}]}
    reference = {"resource": "podgroups", "namespace": "demo", "name": "a-123"}
    sent = {"metadata": metadata, "status": status}
    return line("update", sent=sent, code=200, objectRef=reference)


def test_an_unschedulable_pod_group_is_a_refused_gang():
    [refused] = seen(pod_group({"phase": "Inqueue", "conditions": [UNSCHEDULABLE]}))
    assert refused == GangRefused(at=AT, gang="a", message="not enough", namespace="demo")


def test_a_pod_group_that_its_queue_does_not_admit_is_a_refused_gang():
    [refused] = seen(pod_group({"phase": "Pending"}))
    assert refused.message.startswith("not admitted to its queue")


def test_an_old_refusal_of_a_running_pod_group_is_none():
    assert seen(pod_group({"phase": "Running", "conditions": [UNSCHEDULABLE]})) == []


@pytest.mark.parametrize(("grace", "final"), [(0, True), (30, False), (None, False)])
def test_a_deletion_is_final_without_grace(grace, final):
    sent = {} if grace is None else {"gracePeriodSeconds": grace}
    assert seen(line("delete", sent=sent, code=200)) == [Deleted(at=AT, final=final, pod=POD)]


@pytest.mark.parametrize(
    "record",
    [
        "",
        "not json",
        BINDING[:40],
        "[]",
        '"text"',
        line(subresource="binding", sent={"target": {"name": "n1"}}, code=409),
        line(subresource="binding", sent={"target": {"name": "n1"}}, stage="RequestReceived"),
        line(subresource="binding", sent={"target": {"name": "n1"}}, requestReceivedTimestamp="x"),
        line("get"),
        line("patch", "status", sent={"status": {}}),
        line(objectRef={"resource": "nodes", "name": "n1"}),
        line(objectRef=None),
    ],
    ids=[
        "empty",
        "text",
        "cut",
        "list",
        "string",
        "refused",
        "received",
        "time",
        "get",
        "status",
        "node",
        "none",
    ],
)
def test_other_lines_tell_nothing(record):
    assert seen(record) == []


@pytest.fixture
def log(tmp_path):
    path = tmp_path / "audit.log"
    path.write_text("")
    return path


def append(path, text):
    with path.open("a") as file:
        file.write(text)


def test_only_what_happens_from_now_on_is_read(log):
    append(log, BINDING + "\n")
    followed = observer.AuditLog(log)
    assert followed.read() == []
    append(log, BINDING + "\n")
    assert len(followed.read()) == 1


def test_a_line_that_is_still_being_written_waits(log):
    followed = observer.AuditLog(log)
    append(log, BINDING[:50])
    assert followed.read() == []
    append(log, BINDING[50:])
    assert followed.read() == []
    append(log, "\n")
    assert len(followed.read()) == 1


def test_a_character_cut_in_half_does_no_harm(log):
    followed = observer.AuditLog(log)
    raw = (line(subresource="binding", sent={"target": {"name": "nö"}}, name="a-0")).encode()
    raw = raw.replace(b"\\u00f6", "ö".encode())
    with log.open("ab") as file:
        cut = raw.index("ö".encode()) + 1
        file.write(raw[:cut])
        file.flush()
        assert followed.read() == []
        file.write(raw[cut:] + b"\n")
    assert [event.node for event in followed.read()] == ["nö"]


def test_rotation_loses_nothing(log):
    followed = observer.AuditLog(log)
    append(log, BINDING + "\n")
    log.rename(log.with_name("audit-2026.log"))
    assert len(followed.read()) == 1
    append(log.with_name("audit-2026.log"), BINDING + "\n")
    append(log, BINDING + "\n" + BINDING + "\n")
    assert len(followed.read()) == 3


def test_a_line_written_to_the_old_file_during_its_rotation_is_not_lost(log, monkeypatch):
    followed = observer.AuditLog(log)
    old = log.with_name("audit-2026.log")
    log.rename(old)
    log.write_text(BINDING + "\n")
    was_replaced = followed._was_replaced

    def late_line():
        append(old, BINDING + "\n")
        return was_replaced()

    monkeypatch.setattr(followed, "_was_replaced", late_line)
    assert len(followed.read()) == 2


def test_a_log_cut_to_nothing_is_read_from_its_new_start(log):
    append(log, BINDING * 3 + "\n")
    followed = observer.AuditLog(log)
    log.write_text(BINDING + "\n")
    assert len(followed.read()) == 1


def test_rejects_a_missing_log_with_what_to_do(tmp_path):
    with pytest.raises(observer.AuditLogMissingError, match="take the rehearsal down and up again"):
        observer.AuditLog(tmp_path / "none.log")
