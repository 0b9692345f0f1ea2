"""The report as data: the tree, the counts, the order, the cost, the verdicts."""

from collections import Counter
from dataclasses import dataclass, replace
from typing import Final

from infra.preview.checks.verdict import Verdict
from infra.preview.checks.walk import short_type
from infra.preview.cost import Cost
from infra.preview.graph import Graph, component_waves, reduced
from infra.preview.recording import RecordedResource, Recording
from infra.preview.report.facts import facts


@dataclass(frozen=True, kw_only=True, slots=True)
class Branch:
    """A component or resource with what is inside it."""

    title: str
    name: str
    urn: str
    facts: tuple[str, ...]
    children: tuple["Branch", ...] = ()
    needs: tuple[str, ...] = ()

    @property
    def size(self) -> int:
        """Resources in this branch, itself left out."""
        return sum(1 + child.size for child in self.children)


GATHER_FROM: Final = 4
"""Siblings of one type and without children, from this many on, share a line."""


def gathered(branches: tuple[Branch, ...]) -> tuple[Branch, ...]:
    """The branches with many of a kind drawn together, their facts side by side."""
    numbers = Counter(branch.title for branch in branches if not branch.children)
    result: list[Branch] = []
    for branch in branches:
        number = numbers[branch.title]
        if branch.children or number < GATHER_FROM:
            result.append(branch)
        elif not any(other.title == branch.title for other in result if other.name == ""):
            alike = [other for other in branches if other.title == branch.title]
            told = tuple(" ".join(other.facts) or other.name for other in alike)
            result.append(
                replace(branch, title=branch.title, name="", facts=(f"x {number}", *told))
            )
    return tuple(result)


@dataclass(frozen=True, kw_only=True, slots=True)
class Report:
    """Everything that a drawing of the preview shows."""

    environment: str
    region: str
    recording: Recording | None
    branches: tuple[Branch, ...]
    counts: tuple[tuple[str, int], ...]
    waves: tuple[tuple[str, ...], ...]
    cost: Cost | None
    verdicts: tuple[Verdict, ...]
    difference: tuple[str, ...] = ()

    @property
    def refused(self) -> tuple[Verdict, ...]:
        """The reasons not to go on."""
        return tuple(verdict for verdict in self.verdicts if verdict.level == "refused")

    @property
    def exit_code(self) -> int:
        """0 when sound, 1 when refused."""
        return 1 if self.refused else 0

    def count(self, level: str) -> int:
        """Verdicts of one level."""
        return sum(verdict.level == level for verdict in self.verdicts)

    @property
    def total(self) -> int:
        """All resources, components among them."""
        return len(self.recording) if self.recording else 0

    @property
    def summary(self) -> str:
        """One line: sound or refused, and how many of what."""
        state = "refused" if self.refused else "sound"
        parts = [f"{self.count('ok')} ok"]
        for level, one, many in (
            ("warning", "warning", "warnings"),
            ("refused", "refusal", "refusals"),
            ("skipped", "skipped", "skipped"),
        ):
            number = self.count(level)
            if number:
                parts.append(f"{number} {one if number == 1 else many}")
        return f"{state}: {', '.join(parts)}"


def build(
    *,
    environment: str,
    region: str,
    recording: Recording,
    cost: Cost,
    verdicts: tuple[Verdict, ...],
) -> Report:
    """The report of a recorded stack."""
    graph = Graph(recording)
    edges = reduced(graph.component_edges())
    rank = {urn: index for index, wave in enumerate(graph.waves) for urn in wave}
    needs = {
        urn: tuple(sorted(graph.resources[other].name for other in edges.get(urn, ())))
        for urn in graph.resources
    }
    top = sorted(
        (resource for resource in recording if not resource.parent),
        key=lambda resource: (_latest(graph, rank, resource.urn), resource.urn),
    )
    return Report(
        environment=environment,
        region=region,
        recording=recording,
        branches=tuple(_branch(recording, resource, needs) for resource in top),
        counts=counts(recording),
        waves=tuple(
            tuple(graph.resources[urn].name for urn in wave) for wave in component_waves(graph)
        ),
        cost=cost,
        verdicts=verdicts,
    )


def _latest(graph: Graph, rank: dict[str, int], urn: str) -> int:
    """The last wave in which something of this branch is made."""
    inside = [_latest(graph, rank, child.urn) for child in graph.recording.children(urn)]
    return max([rank[urn], *inside])


def unusable(environment: str, verdicts: tuple[Verdict, ...]) -> Report:
    """The report of an environment whose settings were refused, so that nothing was recorded."""
    return Report(
        environment=environment,
        region="",
        recording=None,
        branches=(),
        counts=(),
        waves=(),
        cost=None,
        verdicts=verdicts,
    )


def _branch(
    recording: Recording, resource: RecordedResource, needs: dict[str, tuple[str, ...]]
) -> Branch:
    return Branch(
        title=short_type(resource.type),
        name=resource.name,
        urn=resource.urn,
        facts=facts(resource),
        children=tuple(_branch(recording, child, {}) for child in recording.children(resource.urn)),
        needs=needs.get(resource.urn, ()),
    )


def counts(recording: Recording) -> tuple[tuple[str, int], ...]:
    """How many resources of each kind of provider, largest first."""
    kinds = Counter(_kind(resource) for resource in recording)
    ordered = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    plural = ("component", "provider")
    return tuple(
        (f"{kind}s" if kind in plural and number > 1 else kind, number) for kind, number in ordered
    )


def _kind(resource: RecordedResource) -> str:
    names = {"aws": "AWS", "eks": "pulumi-eks", "kubernetes": "Kubernetes", "pulumi": "provider"}
    return names.get(resource.package, "component")
