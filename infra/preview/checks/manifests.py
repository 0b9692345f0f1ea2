"""Kubernetes objects hold against the schemas of the cluster's version."""

from collections.abc import Iterator

from infra.preview import schemas
from infra.preview.checks.verdict import Check, Finding, refused
from infra.preview.checks.walk import VOLCANO_JOB, manifests, one_line, title
from infra.preview.recording import Recording
from stacks.settings import Settings


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each unknown, missing or ill-typed field, pod templates of gangs included."""
    for resource in manifests(recording):
        for problem in schemas.kubernetes_problems(resource.inputs) or []:
            yield refused(f"{title(resource)}: {one_line(problem)}")
    for job in recording.of_type(VOLCANO_JOB):
        for task in job.inputs.get("spec", {}).get("tasks") or []:
            for problem in schemas.pod_template_problems(task.get("template") or {}):
                where = f"{title(job)}, task {task.get('name', '?')}"
                yield refused(f"{where}: template {one_line(problem)}")


CHECK = Check(
    name="Kubernetes schemas",
    claim="every Kubernetes object and pod template fits the 1.35 schemas, unknown keys refused",
    find=find,
)
