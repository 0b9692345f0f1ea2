"""The moto server as the rehearsal runs it: services loaded, Auto Scaling as AWS does it.

moto starts every instance of a group in the group's first subnet and takes any desired capacity;
AWS balances the zones and refuses a capacity outside the group's limits.
"""

import json
from collections import Counter
from typing import Any, Final

from moto.autoscaling import models
from moto.autoscaling.exceptions import ValidationError
from moto.backends import get_backend
from moto.iam.access_control import IAMPolicy, PermissionResult
from moto.s3.models import FakeBucket
from moto.server import main as serve

_SERVICES: Final = ("autoscaling", "ec2", "eks", "iam", "kms", "logs", "s3", "sts")

_TRANSPORT_KEYS: Final = frozenset({"aws:SecureTransport", "s3:TlsVersion"})

_start_instances = models.FakeAutoScalingGroup.replace_autoscaling_group_instances
_delete_group = models.AutoScalingBackend.delete_auto_scaling_group
_set_capacity = models.AutoScalingBackend.set_desired_capacity


def start_balanced(group: Any, count_needed: int, propagated_tags: dict[str, str]) -> None:
    """Start instances one by one, each in the subnet that has the fewest of the group."""
    subnets = (group.vpc_zone_identifier or "").split(",")
    for _ in range(count_needed):
        held = Counter(state.instance.subnet_id for state in group.instance_states)
        chosen = min(subnets, key=lambda subnet: held[subnet])
        group.vpc_zone_identifier = chosen
        try:
            _start_instances(group, 1, dict(propagated_tags))
        finally:
            group.vpc_zone_identifier = ",".join(subnets)


def set_capacity_within_limits(backend: Any, group_name: str, desired_capacity: int | None) -> None:
    """Refuse a capacity outside the group's limits, with AWS's words."""
    group = backend.autoscaling_groups[group_name]
    for word, limit, is_outside in (
        ("above max", group.max_size, (desired_capacity or 0) > group.max_size),
        ("below min", group.min_size, (desired_capacity or 0) < group.min_size),
    ):
        if desired_capacity is not None and is_outside:
            message = (
                f"New SetDesiredCapacity value {desired_capacity} is {word} value {limit} for"
                " the AutoScalingGroup."
            )
            raise ValidationError(message)
    _set_capacity(backend, group_name, desired_capacity)


def delete_whole(backend: Any, group_name: str) -> None:
    """Delete a group; moto first sets its capacity to 0, which its least size must allow."""
    group = backend.autoscaling_groups.get(group_name)
    if group is not None:
        group.min_size = 0
    _delete_group(backend, group_name)


def permission_as_over_tls(bucket: Any, action: str, resource: str) -> Any:
    """What the bucket's policy says of a request that came over TLS.

    moto reads no conditions, and so would refuse everybody where a policy refuses plain HTTP. A
    request on this machine stands for one over TLS, which such statements do not concern.
    """
    if bucket.policy is None:
        return PermissionResult.NEUTRAL
    document = json.loads(bucket.policy)
    document["Statement"] = [
        statement
        for statement in document["Statement"]
        if statement["Effect"] != "Deny" or not _only_about_transport(statement)
    ]
    return IAMPolicy(json.dumps(document)).is_action_permitted(action, resource)


def _only_about_transport(statement: dict[str, Any]) -> bool:
    tests = [set(keys) for keys in statement.get("Condition", {}).values()]
    return bool(tests) and all(keys <= _TRANSPORT_KEYS for keys in tests)


_OURS: Final = (
    (models.FakeAutoScalingGroup, "replace_autoscaling_group_instances", start_balanced),
    (models.AutoScalingBackend, "set_desired_capacity", set_capacity_within_limits),
    (models.AutoScalingBackend, "delete_auto_scaling_group", delete_whole),
    (FakeBucket, "get_permission", permission_as_over_tls),
)


def main() -> None:
    """Run moto's server with the command line that moto takes."""
    for owner, method, ours in _OURS:
        setattr(owner, method, ours)
    for service in _SERVICES:
        get_backend(service)
    serve()


if __name__ == "__main__":
    main()
