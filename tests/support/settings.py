"""Valid settings with some values replaced, for tests of one rule at a time."""

import copy
import datetime
from collections.abc import Mapping
from typing import Any

from stacks import loader
from stacks.settings import Settings

TODAY = datetime.date(2026, 11, 30)
REMOVED = object()
"""Marks a key to leave out."""

DOCUMENT: Mapping[str, Any] = {
    "aws:region": "us-east-1",
    "gangway:network": {
        "vpcCidr": "10.20.0.0/16",
        "availabilityZoneIds": ["use1-az4", "use1-az6"],
        "natGateways": "single",
    },
    "gangway:cluster": {
        "version": "1.35",
        "adminRoleArns": ["arn:aws:iam::111122223333:role/admin"],
        "previewRoleArns": ["arn:aws:iam::111122223333:role/preview"],
        "publicAccessCidrs": ["198.18.0.0/24"],
        "protect": False,
    },
    "gangway:systemNodes": {"instanceTypes": ["t3.medium"], "minSize": 2, "maxSize": 3},
    "gangway:gpuNodes": {
        "instanceTypes": ["g4dn.xlarge", "g4dn.2xlarge"],
        "capacityType": "SPOT",
        "maxSizePerZone": 4,
    },
    "gangway:autoscaling": {"enabled": True},
    "gangway:queues": [{"name": "ml-queue"}],
    "gangway:results": {"forceDestroy": False},
    "gangway:training": {
        "image": "public.ecr.aws/deep-learning-containers/pytorch:2.12-cu130-amzn2023"
    },
}


def raw(changes: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The document with `changes` put in: key path (`gpuNodes.maxSizePerZone`) -> value."""
    document: dict[str, Any] = copy.deepcopy(dict(DOCUMENT))
    for path, value in (changes or {}).items():
        section, *rest = path.split(".")
        holder: Any = document
        keys = [section if ":" in section else f"gangway:{section}", *rest]
        for key in keys[:-1]:
            holder = holder.setdefault(key, {})
        if value is REMOVED:
            del holder[keys[-1]]
        else:
            holder[keys[-1]] = value
    return document


def settings(changes: Mapping[str, Any] | None = None, environment: str = "dev") -> Settings:
    """Parsed settings with `changes` put in."""
    return loader.parse(raw(changes), environment, today=TODAY)


def refused(changes: Mapping[str, Any], environment: str = "dev") -> tuple[str, ...]:
    """The sentences with which the changed document is refused; empty when it is accepted."""
    try:
        loader.parse(raw(changes), environment, today=TODAY)
    except loader.SettingsError as error:
        return error.sentences
    return ()
