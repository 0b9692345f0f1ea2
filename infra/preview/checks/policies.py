"""Policy documents and kubeconfigs are well-formed."""

import json
from collections.abc import Iterator
from typing import Any, Final

from infra.preview.checks.verdict import Check, Finding, refused
from infra.preview.checks.walk import title
from infra.preview.recording import RecordedResource, Recording
from stacks.settings import Settings

POLICY_KEYS: Final = ("assumeRolePolicy", "policy")
POLICY_VERSION: Final = "2012-10-17"


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each document that IAM, S3 or KMS would not parse."""
    for resource in recording:
        if resource.package == "aws":
            for key in POLICY_KEYS:
                if key in resource.inputs:
                    yield from _policy_findings(resource, key, resource.inputs[key])
        elif resource.type == "pulumi:providers:kubernetes":
            yield from _kubeconfig_findings(resource)


def _policy_findings(resource: RecordedResource, key: str, text: Any) -> Iterator[Finding]:
    where = f"{title(resource)}: {key}"
    try:
        document = json.loads(text) if isinstance(text, str) else text
    except ValueError as error:
        yield refused(f"{where} is no JSON ({error})")
        return
    if not isinstance(document, dict) or document.get("Version") != POLICY_VERSION:
        yield refused(f'{where} has no "Version": "{POLICY_VERSION}"')
        return
    statements = document.get("Statement")
    if not isinstance(statements, list):
        yield refused(f"{where} has no list of statements")
        return
    for index, statement in enumerate(statements):
        yield from _statement_findings(f"{where} statement {index}", statement)


def _statement_findings(where: str, statement: dict[str, Any]) -> Iterator[Finding]:
    if statement.get("Effect") not in ("Allow", "Deny"):
        yield refused(f"{where}: Effect is {statement.get('Effect')!r}; allowed: Allow, Deny")
    if not (statement.get("Action") or statement.get("NotAction")):
        yield refused(f"{where} names no action")
    if statement.get("Effect") == "Allow" and statement.get("Principal") in ("*", {"AWS": "*"}):
        yield refused(f"{where} allows everybody; name the principal")


def _kubeconfig_findings(provider: RecordedResource) -> Iterator[Finding]:
    text = provider.inputs.get("kubeconfig")
    if not text:
        yield refused(f"{title(provider)} has no kubeconfig and would use the machine's own")
        return
    try:
        document = json.loads(text)
    except (TypeError, ValueError):
        yield refused(f"{title(provider)}: kubeconfig is no JSON; pass kubeconfig_json")
        return
    if document.get("kind") != "Config":
        yield refused(f"{title(provider)}: kubeconfig is not of kind Config")


CHECK = Check(
    name="policy documents",
    claim="every policy document and kubeconfig parses and has its parts",
    find=find,
)
