"""Who has to be there before whom, from the recorded dependencies."""

from collections.abc import Iterable, Mapping
from functools import cached_property

from infra.preview.recording import RecordedResource, Recording, RecordingError


class Graph:
    """Prerequisites of each resource: dependencies, parent, explicit provider.

    The engine starts a resource when all of these exist, and deletes in reverse.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self.resources: Mapping[str, RecordedResource] = {
            resource.urn: resource for resource in recording
        }

    @cached_property
    def prerequisites(self) -> dict[str, frozenset[str]]:
        """URN -> URNs that must exist before it."""
        return {
            urn: frozenset(
                wanted
                for wanted in (*resource.depends_on, resource.parent, resource.provider_urn)
                if wanted in self.resources
            )
            for urn, resource in self.resources.items()
        }

    @cached_property
    def waves(self) -> tuple[tuple[str, ...], ...]:
        """URNs in the order of creation: each wave needs only what stands in earlier ones.

        Raises RecordingError when dependencies go round in a circle.
        """
        left = dict(self.prerequisites)
        waves: list[tuple[str, ...]] = []
        while left:
            ready = tuple(sorted(urn for urn, wanted in left.items() if not wanted & left.keys()))
            if not ready:
                names = ", ".join(sorted(self.resources[urn].name for urn in left))
                message = f"these resources wait for each other: {names}"
                raise RecordingError(message)
            waves.append(ready)
            for urn in ready:
                del left[urn]
        return tuple(waves)

    def creation_order(self) -> tuple[RecordedResource, ...]:
        """Every resource, earliest first."""
        return tuple(self.resources[urn] for wave in self.waves for urn in wave)

    def destruction_order(self) -> tuple[RecordedResource, ...]:
        """Every resource, first deleted first."""
        return tuple(reversed(self.creation_order()))

    @cached_property
    def _all_before(self) -> dict[str, frozenset[str]]:
        before: dict[str, frozenset[str]] = {}
        for wave in self.waves:
            for urn in wave:
                wanted = self.prerequisites[urn]
                before[urn] = wanted.union(*(before[other] for other in wanted))
        return before

    def waits_for(self, later: str, earlier: str) -> bool:
        """Whether `later` cannot be created before `earlier` exists (URNs)."""
        return earlier in self._all_before[later]

    def component_of(self, urn: str) -> str:
        """The outermost component around a resource; the resource itself when there is none."""
        parent = self.resources[urn].parent
        return self.component_of(parent) if parent in self.resources else urn

    def component_edges(self) -> dict[str, frozenset[str]]:
        """Outermost component -> those it needs directly, providers passed through."""
        edges: dict[str, set[str]] = {}
        for urn, wanted in self.prerequisites.items():
            own = self.component_of(urn)
            for other in self._through_providers(wanted):
                if self.component_of(other) != own:
                    edges.setdefault(own, set()).add(self.component_of(other))
        return {own: frozenset(others) for own, others in sorted(edges.items())}

    def _through_providers(self, urns: Iterable[str]) -> set[str]:
        """`urns` with each provider replaced by what the provider itself needs."""
        found: set[str] = set()
        for urn in urns:
            if self.resources[urn].package == "pulumi":
                found |= self._through_providers(self.prerequisites[urn])
            else:
                found.add(urn)
        return found


def reduced(edges: Mapping[str, frozenset[str]]) -> dict[str, frozenset[str]]:
    """The same reachability with no edge that a longer path already implies."""

    def reach(start: str) -> set[str]:
        found: set[str] = set()
        waiting = list(edges.get(start, ()))
        while waiting:
            node = waiting.pop()
            if node not in found:
                found.add(node)
                waiting.extend(edges.get(node, ()))
        return found

    return {
        node: frozenset(
            direct
            for direct in wanted
            if not any(direct in reach(other) for other in wanted if other != direct)
        )
        for node, wanted in edges.items()
    }


def component_waves(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """URNs of the outermost parts, providers left out, in the order in which they can be made."""
    edges = graph.component_edges()
    left = {
        urn: edges.get(urn, frozenset())
        for urn in sorted(map(graph.component_of, graph.resources))
        if graph.resources[urn].package != "pulumi"
    }
    waves: list[tuple[str, ...]] = []
    while left:
        # Two components may need parts of each other: then both stand in one wave.
        ready = [urn for urn, wanted in left.items() if not wanted & left.keys()] or list(left)
        waves.append(tuple(ready))
        for urn in ready:
            del left[urn]
    return tuple(waves)
