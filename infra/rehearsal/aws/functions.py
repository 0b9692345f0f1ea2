"""The functions (invokes) of the aws provider that the program and pulumi-eks call."""

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from infra.errors import GangwayError
from infra.rehearsal.aws.account import ACCOUNT_ID, PARTITION, Account
from infra.rehearsal.aws.addon_catalogue import default_version


def call(account: Account, function: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Answer a function, or refuse it by name."""
    answer = FUNCTIONS.get(function)
    if answer is None:
        message = f"the rehearsal's AWS has no function {function}; it knows {', '.join(FUNCTIONS)}"
        raise GangwayError(message)
    return answer(account, arguments)


def _partition(_account: Account, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": PARTITION,
        "partition": PARTITION,
        "dnsSuffix": "amazonaws.com",
        "reverseDnsPrefix": "com.amazonaws",
    }


def _caller(_account: Account, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": ACCOUNT_ID,
        "accountId": ACCOUNT_ID,
        "arn": f"arn:aws:iam::{ACCOUNT_ID}:user/rehearsal",
        "userId": "AIDAREHEARSALREHEARSA",
    }


def _region(account: Account, _arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "id": account.region,
        "name": account.region,
        "region": account.region,
        "description": account.region,
        "endpoint": f"ec2.{account.region}.amazonaws.com",
    }


def _zones(account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    found = account.client("ec2").describe_availability_zones()["AvailabilityZones"]
    state = arguments.get("state", "available")
    zones = [zone for zone in found if zone["State"] == state]
    return {
        "id": account.region,
        "groupNames": [account.region],
        "names": [zone["ZoneName"] for zone in zones],
        "zoneIds": [zone["ZoneId"] for zone in zones],
    }


def _addon_version(_account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    name, kubernetes = arguments["addonName"], arguments["kubernetesVersion"]
    recent = bool(arguments.get("mostRecent"))
    version = default_version(name, most_recent=recent)
    if version is None:
        message = f"no EKS add-on version found for {name} and Kubernetes {kubernetes}"
        raise GangwayError(message)
    return {
        "id": name,
        "addonName": name,
        "kubernetesVersion": kubernetes,
        "mostRecent": recent,
        "version": version,
    }


def _policy_document(_account: Account, arguments: Mapping[str, Any]) -> dict[str, Any]:
    document = {
        "Version": arguments.get("version") or "2012-10-17",
        "Statement": [_statement(one) for one in arguments.get("statements") or ()],
    }
    text = json.dumps(document, indent=2)
    return {"id": str(abs(hash(text)) % 10**10), "json": text, "minifiedJson": json.dumps(document)}


def _statement(given: Mapping[str, Any]) -> dict[str, Any]:
    statement: dict[str, Any] = {"Effect": given.get("effect") or "Allow"}
    for name, member in (("sid", "Sid"), ("actions", "Action"), ("resources", "Resource")):
        if given.get(name):
            entry = given[name]
            statement[member] = entry[0] if isinstance(entry, list) and len(entry) == 1 else entry
    for principal in given.get("principals") or ():
        names = principal["identifiers"]
        held = statement.setdefault("Principal", {})
        held[principal["type"]] = names[0] if len(names) == 1 else names
    for condition in given.get("conditions") or ():
        held = statement.setdefault("Condition", {}).setdefault(condition["test"], {})
        held[condition["variable"]] = condition["values"]
    return statement


FUNCTIONS: Final[Mapping[str, Callable[[Account, Mapping[str, Any]], dict[str, Any]]]] = {
    "aws:eks/getAddonVersion:getAddonVersion": _addon_version,
    "aws:iam/getPolicyDocument:getPolicyDocument": _policy_document,
    "aws:index/getAvailabilityZones:getAvailabilityZones": _zones,
    "aws:index/getCallerIdentity:getCallerIdentity": _caller,
    "aws:index/getPartition:getPartition": _partition,
    "aws:index/getRegion:getRegion": _region,
}
"""Each function by its token."""
