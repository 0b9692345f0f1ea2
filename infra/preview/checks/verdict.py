"""The shape of a check and of what it says."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal

from infra.preview.recording import Recording
from stacks.settings import Settings

Level = Literal["ok", "warning", "refused", "skipped"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Verdict:
    """One sentence of one check."""

    check: str
    level: Level
    sentence: str


@dataclass(frozen=True, slots=True)
class Finding:
    """What a check's function yields: a level other than ok, or ok to say more than its claim."""

    level: Level
    sentence: str


def refused(sentence: str) -> Finding:
    """The stack must not go up like this."""
    return Finding("refused", sentence)


def warning(sentence: str) -> Finding:
    """It works, but somebody should know."""
    return Finding("warning", sentence)


def skipped(sentence: str) -> Finding:
    """The check could not be made here."""
    return Finding("skipped", sentence)


def fine(sentence: str) -> Finding:
    """It holds, with the figures that show it."""
    return Finding("ok", sentence)


@dataclass(frozen=True, kw_only=True, slots=True)
class Check:
    """A name, what holds when nothing is found, and the function that looks."""

    name: str
    claim: str
    find: Callable[[Recording, Settings | None], Iterable[Finding]]

    def verdicts(self, recording: Recording, settings: Settings | None) -> tuple[Verdict, ...]:
        """The findings as verdicts; the claim itself when there are none."""
        findings = tuple(self.find(recording, settings)) or (fine(self.claim),)
        return tuple(
            Verdict(check=self.name, level=finding.level, sentence=finding.sentence)
            for finding in findings
        )
