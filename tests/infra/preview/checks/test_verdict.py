"""A check says its findings, or its claim when it finds nothing."""

from infra.preview.checks.verdict import Check, Verdict, refused, warning
from tests.support.recorded import recording


def test_a_check_that_finds_nothing_says_its_claim() -> None:
    check = Check(name="x", claim="all is well", find=lambda _recording, _settings: [])
    assert check.verdicts(recording(), None) == (
        Verdict(check="x", level="ok", sentence="all is well"),
    )


def test_a_check_that_finds_something_does_not_claim_to_hold() -> None:
    findings = [refused("no"), warning("look")]
    check = Check(name="x", claim="all is well", find=lambda _recording, _settings: findings)
    said = [(verdict.level, verdict.sentence) for verdict in check.verdicts(recording(), None)]
    assert said == [("refused", "no"), ("warning", "look")]
