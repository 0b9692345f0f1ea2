"""A picture of the recorded graph: parts as boxes, an arrow to each from what it needs."""

import re
from collections.abc import Mapping

from infra.preview.graph import Graph, component_waves, reduced
from infra.preview.recording import RecordedResource, Recording
from infra.preview.report.model import Report


def mermaid(recording: Recording) -> str:
    """A Mermaid flowchart of the outermost components, no fences around it."""
    graph = Graph(recording)
    parts = components(graph)
    lines = ["flowchart TD"]
    lines += [f'    {_id(part)}["{label(recording, part)}"]' for part in parts.values()]
    arrows = edges(graph)
    for urn, part in parts.items():
        lines += [
            f"    {_id(parts[other])} --> {_id(part)}"
            for other in parts
            if other in arrows.get(urn, ())
        ]
    return "\n".join(lines) + "\n"


def components(graph: Graph) -> dict[str, RecordedResource]:
    """Outermost resources that are no providers, in order of creation."""
    return {urn: graph.resources[urn] for wave in component_waves(graph) for urn in wave}


def edges(graph: Graph) -> Mapping[str, frozenset[str]]:
    """Part -> parts it needs, without those that another one implies."""
    return reduced(graph.component_edges())


def label(recording: Recording, part: RecordedResource) -> str:
    """Name and size of a box."""
    inside = _inside(recording, part.urn)
    kind = part.type.rpartition(":")[2]
    size = f"<br/>{inside} resources" if inside > 1 else ""
    return f"{part.name}<br/><i>{kind}</i>{size}"


def _inside(recording: Recording, urn: str) -> int:
    return sum(1 + _inside(recording, child.urn) for child in recording.children(urn))


def _id(part: RecordedResource) -> str:
    kind = part.type.rpartition(":")[2]
    return re.sub(r"\W", "_", f"{kind}_{part.name}")


def render_mermaid(report: Report) -> str:
    """The picture alone, empty when there is nothing recorded."""
    return "" if report.recording is None else mermaid(report.recording)
