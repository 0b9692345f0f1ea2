"""The two or three facts about a resource that a reader wants beside its name."""

import json
import re
from collections.abc import Callable
from typing import Any, Final

from infra.preview.recording import RecordedResource

MISSING: Final = object()
TEMPLATES: Final[dict[str, tuple[str, ...]]] = {
    "aws:autoscaling/tag:Tag": ("{tag.key} = {tag.value}",),
    "aws:budgets/budget:Budget": ("{limitAmount} {limitUnit}", "{timeUnit}"),
    "aws:cloudwatch/logGroup:LogGroup": ("{name}", "kept {retentionInDays} days"),
    "aws:ec2/eip:Eip": ("{domain}",),
    "aws:ec2/launchTemplate:LaunchTemplate": (
        "{blockDeviceMappings[0].ebs.volumeSize} GiB {blockDeviceMappings[0].ebs.volumeType}",
        "encrypted {blockDeviceMappings[0].ebs.encrypted}",
        "IMDS tokens {metadataOptions.httpTokens}, hops {metadataOptions.httpPutResponseHopLimit}",
    ),
    "aws:ec2/natGateway:NatGateway": ("{connectivityType}",),
    "aws:ec2/route:Route": ("to {destinationCidrBlock}",),
    "aws:ec2/subnet:Subnet": ("{cidrBlock}", "zone {availabilityZoneId}"),
    "aws:ec2/vpc:Vpc": ("{cidrBlock}",),
    "aws:ec2/vpcEndpoint:VpcEndpoint": ("{serviceName}", "{vpcEndpointType}"),
    "aws:eks/accessEntry:AccessEntry": ("{principalArn}",),
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": ("{policyArn}",),
    "aws:eks/addon:Addon": ("{addonName}", "version {addonVersion}"),
    "aws:eks/nodeGroup:NodeGroup": (
        "{capacityType}",
        "{instanceTypes}",
        "{scalingConfig.minSize} to {scalingConfig.maxSize} nodes",
        "taint {taints[0].key}={taints[0].value}:{taints[0].effect}",
    ),
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": ("{namespace}/{serviceAccount}",),
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": ("{policyArn}",),
    "aws:kms/alias:Alias": ("{name}",),
    "aws:kms/key:Key": ("rotation: {enableKeyRotation}",),
    "aws:s3/bucket:Bucket": ("{bucket}", "force destroy: {forceDestroy}"),
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": ("{rule.objectOwnership}",),
    "aws:s3/bucketVersioning:BucketVersioning": ("{versioningConfiguration.status}",),
    "aws:sns/topicSubscription:TopicSubscription": ("{protocol} {endpoint}",),
    "eks:index:Cluster": (
        "Kubernetes {version}",
        "access by {authenticationMode}",
        "public endpoint: {endpointPublicAccess}",
    ),
    "kubernetes:batch.volcano.sh/v1alpha1:Job": (
        "gang of {spec.minAvailable}",
        "queue {spec.queue}",
        "retries {spec.maxRetry}",
    ),
    "kubernetes:batch/v1:Job": ("{metadata.namespace}",),
    "kubernetes:helm.sh/v3:Release": ("{chart} {version}", "namespace {namespace}"),
    "kubernetes:scheduling.volcano.sh/v1beta1:Queue": (
        "weight {spec.weight}",
        "capability {spec.capability}",
    ),
}
"""Type -> facts; one whose `{path}` is not among the inputs is left out."""

_PLACE: Final = re.compile(r"\{([^}]+)\}")


def facts(resource: RecordedResource) -> tuple[str, ...]:
    """Facts from the inputs, then those from options."""
    return (*_from_inputs(resource), *_from_options(resource))


def _from_inputs(resource: RecordedResource) -> tuple[str, ...]:
    if resource.type in SPECIAL:
        return SPECIAL[resource.type](resource)
    templates = TEMPLATES.get(resource.type, ())
    if not templates and resource.package == "kubernetes":
        templates = ("{metadata.namespace}",)
    filled = (_filled(template, resource.inputs) for template in templates)
    return tuple(text for text in filled if text)


def _from_options(resource: RecordedResource) -> tuple[str, ...]:
    found = []
    if resource.protect:
        found.append("protected")
    if resource.ignore_changes:
        found.append(f"ignores {', '.join(resource.ignore_changes)}")
    if resource.delete_before_replace:
        found.append("deleted before replaced")
    return tuple(found)


def _filled(template: str, inputs: dict[str, Any]) -> str:
    """The template with its places filled, or an empty string when one has no value."""
    values = {path: _value(path, inputs) for path in _PLACE.findall(template)}
    if any(value is MISSING for value in values.values()):
        return ""
    return _PLACE.sub(lambda match: _text(values[match[1]]), template)


def _value(path: str, data: Any) -> Any:
    for part in re.findall(r"[^.\[\]]+", path):
        if isinstance(data, list) and part.isdigit() and int(part) < len(data):
            data = data[int(part)]
        elif isinstance(data, dict) and data.get(part) not in (None, ""):
            data = data[part]
        else:
            return MISSING
    return data


def _text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(_text(item) for item in value)
    if isinstance(value, dict):
        return ", ".join(f"{key} {_text(value[key])}" for key in sorted(value))
    text = str(value).removeprefix("k8s.io/cluster-autoscaler/")
    return text.rpartition("/")[2] if text.startswith("arn:") else text


def _trust(resource: RecordedResource) -> tuple[str, ...]:
    try:
        document = json.loads(resource.inputs.get("assumeRolePolicy", ""))
    except (TypeError, ValueError):
        return ()
    services = {
        service
        for statement in document.get("Statement") or []
        for service in _listed((statement.get("Principal") or {}).get("Service"))
    }
    return tuple(f"for {service}" for service in sorted(services))


def _actions(resource: RecordedResource) -> tuple[str, ...]:
    try:
        document = json.loads(resource.inputs.get("policy", ""))
    except (TypeError, ValueError):
        return ()
    statements = document.get("Statement") or []
    actions = sorted({one for item in statements for one in _listed(item.get("Action"))})
    shown, more = actions[:3], len(actions) - 3
    return (", ".join(shown) + (f" and {more} more" if more > 0 else ""),) if actions else ()


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [str(value)]


SPECIAL: Final[dict[str, Callable[[RecordedResource], tuple[str, ...]]]] = {
    "aws:iam/role:Role": _trust,
    "aws:iam/policy:Policy": _actions,
    "aws:iam/rolePolicy:RolePolicy": _actions,
}
