"""What the EC2 types share: describing by id, tags, waiting for what depends on them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import override

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.refusals import AwsError
from infra.rehearsal.aws.resource import (
    Properties,
    ResourceType,
    aws_tags,
    found_or_none,
    pulumi_tags,
)


class Ec2Type(ResourceType):
    """A type whose things EC2 describes by id."""

    describe: ClassVar[tuple[str, str, str]]
    """The describing call, its argument for ids, its answer's list."""
    tag_kind: ClassVar[str]

    def item(self, account: Account, resource_id: str) -> Any:
        """Return EC2's description of the thing, None when there is none."""
        call, argument, listed = self.describe
        answer = found_or_none(getattr(account.client("ec2"), call), **{argument: [resource_id]})
        return answer[listed][0] if answer and answer[listed] else None

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        """Return the described thing as the provider shows it."""
        item = self.item(account, resource_id)
        if item is None:
            return None
        return self.properties(account, item) | pulumi_tags(item.get("Tags", []))

    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        """Return the provider's properties of a described thing."""
        raise NotImplementedError

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        """Change the tags; subclasses change more."""
        retag(account, resource_id, old, new)

    def tags(self, inputs: Properties) -> list[dict[str, Any]]:
        """Return the TagSpecifications of a create call."""
        if not inputs.get("tags"):
            return []
        return [{"ResourceType": self.tag_kind, "Tags": aws_tags(inputs["tags"])}]


def retag(account: Account, resource_id: str, old: Properties, new: Properties) -> None:
    """Bring the tags of an EC2 thing from the old inputs to the new ones."""
    before, after = old.get("tags") or {}, new.get("tags") or {}
    gone = [{"Key": key} for key in before if key not in after]
    if gone:
        account.client("ec2").delete_tags(Resources=[resource_id], Tags=gone)
    if after:
        account.client("ec2").create_tags(Resources=[resource_id], Tags=aws_tags(after))


def given(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that are set."""
    return {name: value for name, value in arguments.items() if value not in (None, "", [])}


def refuse_dependency(operation: str, reason: str) -> None:
    """Refuse a delete as EC2 does while something depends on the thing."""
    raise AwsError(operation=operation, code="DependencyViolation", reason=reason)


def live_nat_gateways(account: Account, **filters: str) -> list[Mapping[str, Any]]:
    """Return the NAT gateways that are not deleted, by EC2's filters (`_` written for `-`)."""
    answer = account.client("ec2").describe_nat_gateways(Filters=_filters(filters))
    return [gate for gate in answer["NatGateways"] if gate["State"] not in ("deleted", "deleting")]


def interfaces(account: Account, **filters: str) -> list[Mapping[str, Any]]:
    """Return the network interfaces, by EC2's filters (`_` written for `-`).

    Those of terminated instances are left out: AWS deletes them with the instance, moto does not.
    """
    ec2 = account.client("ec2")
    found = ec2.describe_network_interfaces(Filters=_filters(filters))["NetworkInterfaces"]
    holders = {one["NetworkInterfaceId"]: _instance_of(one) for one in found}
    instances = sorted({holder for holder in holders.values() if holder})
    described = ec2.describe_instances(InstanceIds=instances) if instances else {}
    terminated = {
        instance["InstanceId"]
        for reservation in described.get("Reservations", ())
        for instance in reservation["Instances"]
        if instance["State"]["Name"] == "terminated"
    }
    return [one for one in found if holders[one["NetworkInterfaceId"]] not in terminated]


def _instance_of(interface: Mapping[str, Any]) -> str | None:
    holder: str | None = interface.get("Attachment", {}).get("InstanceId")
    return holder


def delete_interface(account: Account, interface_id: str) -> None:
    """Delete a network interface with the thing that AWS made it for."""
    found_or_none(account.client("ec2").delete_network_interface, NetworkInterfaceId=interface_id)


def _filters(filters: Mapping[str, str]) -> list[dict[str, Any]]:
    return [{"Name": name.replace("_", "-"), "Values": [value]} for name, value in filters.items()]
