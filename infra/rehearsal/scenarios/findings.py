"""Expectations of a scenario and whether they were met: each a sentence with its reason."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import TypeAlias

from infra.rehearsal.scenarios.verdict import Verdict


class Outcome(StrEnum):
    """What became of an expectation."""

    HAPPENED = "happened"
    DID_NOT_HAPPEN = "did not happen"
    DOES_NOT_APPLY = "does not apply"


@dataclass(frozen=True, kw_only=True, slots=True)
class NotApplicable:
    """This run cannot show the expectation, and why."""

    why: str


Answer: TypeAlias = tuple[bool, str] | NotApplicable
"""Whether it is so, and the observed figures in words; or why it cannot be told."""

Check: TypeAlias = Callable[[Verdict], Answer]


@dataclass(frozen=True, kw_only=True, slots=True)
class Expectation:
    """What one scheduler is expected to do in one part of the story, and why."""

    check: Check
    part: int
    reason: str
    scheduler: str
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class Finding:
    """An expectation against what was observed."""

    observed: str
    outcome: Outcome
    part: int
    reason: str
    scheduler: str
    sentence: str


def find(
    expectations: Sequence[Expectation], verdicts: Mapping[str, Verdict]
) -> tuple[Finding, ...]:
    """Check every expectation against its scheduler's verdict."""
    return tuple(_finding(e, e.check(verdicts[e.scheduler])) for e in expectations)


def _finding(expectation: Expectation, answer: Answer) -> Finding:
    if isinstance(answer, NotApplicable):
        outcome, observed = Outcome.DOES_NOT_APPLY, answer.why
    else:
        met, observed = answer
        outcome = Outcome.HAPPENED if met else Outcome.DID_NOT_HAPPEN
    return Finding(
        observed=observed,
        outcome=outcome,
        part=expectation.part,
        reason=expectation.reason,
        scheduler=expectation.scheduler,
        sentence=expectation.sentence,
    )


def has_happened(findings: Sequence[Finding]) -> bool:
    """Whether the story happened: something applied, and nothing that applied stayed out."""
    outcomes = {finding.outcome for finding in findings}
    return Outcome.HAPPENED in outcomes and Outcome.DID_NOT_HAPPEN not in outcomes
