"""Security groups and their rules."""

import hashlib
from collections.abc import Mapping
from typing import Any, ClassVar

from typing_extensions import override

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.resource import Naming, Properties, ResourceType, if_there, words
from infra.rehearsal.aws.types.ec2_base import (
    Ec2Type,
    given,
    interfaces,
    refuse_dependency,
    retag,
)

_SIDES = {"ingress": "IpPermissions", "egress": "IpPermissionsEgress"}
_ANY_PROTOCOL = "-1"


def permission(block: Properties, own_group: str) -> dict[str, Any]:
    """Return the classic rule block as an EC2 IpPermission."""
    described = given(Description=block.get("description"))
    groups = [*(block.get("securityGroups") or ())]
    groups += [own_group] if block.get("self") else []
    groups += [block["sourceSecurityGroupId"]] if block.get("sourceSecurityGroupId") else []
    protocol = str(block["protocol"])
    ports = {"FromPort": block["fromPort"], "ToPort": block["toPort"]}
    return {
        "IpProtocol": _ANY_PROTOCOL if protocol == "all" else protocol,
        **(ports if protocol not in (_ANY_PROTOCOL, "all") else {}),
        **given(
            IpRanges=[{"CidrIp": cidr} | described for cidr in block.get("cidrBlocks") or ()],
            Ipv6Ranges=[
                {"CidrIpv6": cidr} | described for cidr in block.get("ipv6CidrBlocks") or ()
            ],
            PrefixListIds=[
                {"PrefixListId": name} | described for name in block.get("prefixListIds") or ()
            ],
            UserIdGroupPairs=[{"GroupId": group} | described for group in groups],
        ),
    }


def holds(present: list[Mapping[str, Any]], wanted: Mapping[str, Any]) -> bool:
    """Return whether the permissions of a group hold every source of a wanted one."""
    sources = {
        source for other in present if _scope(other) == _scope(wanted) for source in _sources(other)
    }
    return bool(sources) and _sources(wanted) <= sources


def _scope(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    return entry["IpProtocol"], entry.get("FromPort"), entry.get("ToPort")


def _sources(entry: Mapping[str, Any]) -> set[str]:
    lists = (
        ("IpRanges", "CidrIp"),
        ("Ipv6Ranges", "CidrIpv6"),
        ("PrefixListIds", "PrefixListId"),
        ("UserIdGroupPairs", "GroupId"),
    )
    return {source[key] for name, key in lists for source in entry.get(name) or ()}


def change_rules(
    account: Account, group_id: str, side: str, entries: list[dict[str, Any]], *, add: bool
) -> None:
    """Authorize or revoke the permissions of one side of a group."""
    if entries:
        verb = "authorize" if add else "revoke"
        call = getattr(account.client("ec2"), f"{verb}_security_group_{side}")
        call(GroupId=group_id, IpPermissions=entries)


class _Group(Ec2Type):
    """What a group of our own and a VPC's default group have in common."""

    describe = ("describe_security_groups", "GroupIds", "SecurityGroups")
    tag_kind = "security-group"

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        return {
            "arn": account.arn("ec2", f"security-group/{item['GroupId']}"),
            "description": item["Description"],
            "name": item["GroupName"],
            "ownerId": item["OwnerId"],
            "vpcId": item["VpcId"],
        }

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        observed = super().observe(account, resource_id, state)
        if observed is not None:
            item = self.item(account, resource_id)
            for side, listed in _SIDES.items():
                if state.get(side) is not None:
                    observed[side] = [
                        block
                        for block in state[side]
                        if holds(item[listed], permission(block, resource_id))
                    ]
        return observed

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        for side in _SIDES:
            before = [permission(block, resource_id) for block in old.get(side) or ()]
            after = [permission(block, resource_id) for block in new.get(side) or ()]
            gone = [entry for entry in before if entry not in after]
            come = [entry for entry in after if entry not in before]
            change_rules(account, resource_id, side, gone, add=False)
            change_rules(account, resource_id, side, come, add=True)
        retag(account, resource_id, old, new)


class SecurityGroup(_Group):
    """A security group with the rules of its own blocks."""

    aws_type = "aws:ec2/securityGroup:SecurityGroup"
    outputs = ("arn", "ownerId")
    naming = Naming()
    # terraform-provider-aws internal/service/ec2/vpc_security_group.go: ForceNew
    replaces = words("description name namePrefix vpcId")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        ec2 = account.client("ec2")
        group_id: str = ec2.create_security_group(
            GroupName=inputs["name"],
            Description=inputs.get("description") or "Managed by Pulumi",
            **given(VpcId=inputs.get("vpcId"), TagSpecifications=self.tags(inputs)),
        )["GroupId"]
        # The provider takes away the rule that lets everything out; rules are declared.
        change_rules(
            account,
            group_id,
            "egress",
            self.item(account, group_id)["IpPermissionsEgress"],
            add=False,
        )
        self.change(account, group_id, {"tags": inputs.get("tags")}, inputs)
        return group_id

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        refuse_group_in_use(account, resource_id)
        if_there(account.client("ec2").delete_security_group, GroupId=resource_id)


def refuse_group_in_use(account: Account, group_id: str) -> None:
    """Refuse to delete a group that an interface or another group's rule names."""
    groups = account.client("ec2").describe_security_groups()["SecurityGroups"]
    named = any(
        group_id in _sources(entry)
        for group in groups
        if group["GroupId"] != group_id
        for listed in _SIDES.values()
        for entry in group[listed]
    )
    # moto puts an endpoint's interfaces into the default group, so the endpoints are asked.
    endpoints = account.client("ec2").describe_vpc_endpoints()["VpcEndpoints"]
    used = any(
        group["GroupId"] == group_id
        for endpoint in endpoints
        if endpoint["State"] != "deleted"
        for group in endpoint["Groups"]
    )
    if named or used or interfaces(account, group_id=group_id):
        refuse_dependency("DeleteSecurityGroup", f"resource {group_id} has a dependent object")


class DefaultSecurityGroup(_Group):
    """A VPC's default group, adopted: it gets exactly the rules that are declared."""

    aws_type = "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup"
    outputs = ("arn", "description", "name", "namePrefix", "ownerId")
    # terraform-provider-aws internal/service/ec2/vpc_default_security_group.go: ForceNew
    replaces = words("vpcId")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        groups = account.client("ec2").describe_security_groups(
            Filters=[
                {"Name": "vpc-id", "Values": [inputs["vpcId"]]},
                {"Name": "group-name", "Values": ["default"]},
            ]
        )["SecurityGroups"]
        group = groups[0]
        for side, listed in _SIDES.items():
            change_rules(account, group["GroupId"], side, group[listed], add=False)
        self.change(account, group["GroupId"], {}, inputs)
        group_id: str = group["GroupId"]
        return group_id

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        """Leave it: AWS deletes it with its VPC, and refuses to before."""


class SecurityGroupRule(ResourceType):
    """One rule of a group, in the classic form that pulumi-eks uses."""

    aws_type = "aws:ec2/securityGroupRule:SecurityGroupRule"
    has_tags = False
    outputs = ("securityGroupRuleId",)
    # terraform-provider-aws internal/service/ec2/vpc_security_group_rule.go: all but description
    replaces = words(
        "cidrBlocks fromPort ipv6CidrBlocks prefixListIds protocol securityGroupId self"
        " sourceSecurityGroupId toPort type"
    )

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        entry = permission(inputs, inputs["securityGroupId"])
        change_rules(account, inputs["securityGroupId"], inputs["type"], [entry], add=True)
        return f"sgrule-{int(hashlib.sha256(repr(entry).encode()).hexdigest()[:8], 16)}"

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        present = _rules_of(account, state["securityGroupId"], state["type"])
        wanted = permission(state, state["securityGroupId"])
        if present is None or not holds(present, wanted):
            return None
        rule_id = hashlib.sha256(resource_id.encode()).hexdigest()[:17]
        return {"securityGroupRuleId": f"sgr-{rule_id}"}

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        self.delete(account, resource_id, old)
        self.create(account, new)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if self.observe(account, resource_id, state) is not None:
            entry = permission(state, state["securityGroupId"])
            change_rules(account, state["securityGroupId"], state["type"], [entry], add=False)


def _rules_of(account: Account, group_id: str, side: str) -> list[Mapping[str, Any]] | None:
    groups = account.client("ec2").describe_security_groups(
        Filters=[{"Name": "group-id", "Values": [group_id]}]
    )["SecurityGroups"]
    return groups[0][_SIDES[side]] if groups else None


class _VpcRule(ResourceType):
    """One rule of a group with an id and tags of its own."""

    side: ClassVar[str]
    outputs = ("arn", "securityGroupRuleId")
    # terraform-provider-aws internal/service/ec2/vpc_security_group_ingress_rule.go
    replaces = words("securityGroupId")

    def _block(self, inputs: Properties) -> Properties:
        lists = (
            ("cidrIpv4", "cidrBlocks"),
            ("cidrIpv6", "ipv6CidrBlocks"),
            ("prefixListId", "prefixListIds"),
            ("referencedSecurityGroupId", "securityGroups"),
        )
        return {
            "protocol": inputs["ipProtocol"],
            "fromPort": inputs.get("fromPort"),
            "toPort": inputs.get("toPort"),
            "description": inputs.get("description"),
            **{many: [inputs[one]] for one, many in lists if inputs.get(one)},
        }

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        group = inputs["securityGroupId"]
        call = getattr(account.client("ec2"), f"authorize_security_group_{self.side}")
        answer = call(GroupId=group, IpPermissions=[permission(self._block(inputs), group)])
        rules = answer.get("SecurityGroupRules") or [{}]
        rule_id: str = rules[0].get("SecurityGroupRuleId", "")
        if rule_id and inputs.get("tags"):
            retag(account, rule_id, {}, inputs)
        return rule_id or f"sgr-{hashlib.sha256(repr(inputs).encode()).hexdigest()[:17]}"

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        group = state["securityGroupId"]
        present = _rules_of(account, group, self.side)
        if present is None or not holds(present, permission(self._block(state), group)):
            return None
        tags = state.get("tags") or {}
        return {
            "arn": account.arn("ec2", f"security-group-rule/{resource_id}"),
            "securityGroupRuleId": resource_id,
            "tagsAll": tags,
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        if self._block(old) != self._block(new):
            group = new["securityGroupId"]
            change_rules(
                account, group, self.side, [permission(self._block(old), group)], add=False
            )
            change_rules(account, group, self.side, [permission(self._block(new), group)], add=True)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        group = state["securityGroupId"]
        if self.observe(account, resource_id, state) is not None:
            entry = permission(self._block(state), group)
            change_rules(account, group, self.side, [entry], add=False)


class IngressRule(_VpcRule):
    """A rule that lets traffic in."""

    aws_type = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
    side = "ingress"


class EgressRule(_VpcRule):
    """A rule that lets traffic out."""

    aws_type = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
    side = "egress"
