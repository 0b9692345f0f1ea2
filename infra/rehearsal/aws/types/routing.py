"""Route tables, routes, associations, VPC endpoints and flow logs."""

import hashlib
from collections.abc import Mapping
from typing import Any

from typing_extensions import override

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.refusals import AwsError
from infra.rehearsal.aws.resource import Properties, ResourceType, if_there, words
from infra.rehearsal.aws.types.ec2_base import Ec2Type, delete_interface, given, retag

_DESTINATIONS = {
    "destinationCidrBlock": "DestinationCidrBlock",
    "destinationIpv6CidrBlock": "DestinationIpv6CidrBlock",
    "destinationPrefixListId": "DestinationPrefixListId",
}
_GATES = {
    "gatewayId": "GatewayId",
    "natGatewayId": "NatGatewayId",
    "egressOnlyGatewayId": "EgressOnlyInternetGatewayId",
    "networkInterfaceId": "NetworkInterfaceId",
    "transitGatewayId": "TransitGatewayId",
    "vpcPeeringConnectionId": "VpcPeeringConnectionId",
}


class RouteTable(Ec2Type):
    """A route table, with the routes that its `routes` block names."""

    aws_type = "aws:ec2/routeTable:RouteTable"
    describe = ("describe_route_tables", "RouteTableIds", "RouteTables")
    tag_kind = "route-table"
    outputs = ("arn", "ownerId")
    # terraform-provider-aws internal/service/ec2/vpc_route_table.go: ForceNew
    replaces = words("vpcId")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        ec2 = account.client("ec2")
        answer = ec2.create_route_table(
            VpcId=inputs["vpcId"], **given(TagSpecifications=self.tags(inputs))
        )
        table: str = answer["RouteTable"]["RouteTableId"]
        for route in inputs.get("routes") or ():
            ec2.create_route(RouteTableId=table, **_block_arguments(route))
        return table

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        return {
            "arn": account.arn("ec2", f"route-table/{item['RouteTableId']}"),
            "ownerId": item["OwnerId"],
            "vpcId": item["VpcId"],
        }

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        observed = super().observe(account, resource_id, state)
        if observed is not None and state.get("routes"):
            present = [_from_ec2(route) for route in self.item(account, resource_id)["Routes"]]
            observed["routes"] = [
                route
                for route in state["routes"]
                if any(_block_arguments(route) == other for other in present)
            ]
        return observed

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        ec2 = account.client("ec2")
        before = [_block_arguments(route) for route in old.get("routes") or ()]
        after = [_block_arguments(route) for route in new.get("routes") or ()]
        for route in before:
            if route not in after:
                ec2.delete_route(RouteTableId=resource_id, **_only_destination(route))
        for route in after:
            if route not in before:
                ec2.create_route(RouteTableId=resource_id, **route)
        retag(account, resource_id, old, new)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if_there(account.client("ec2").delete_route_table, RouteTableId=resource_id)


def _block_arguments(route: Properties) -> dict[str, str]:
    named = {"DestinationCidrBlock": route.get("cidrBlock")}
    named["DestinationIpv6CidrBlock"] = route.get("ipv6CidrBlock")
    named["DestinationPrefixListId"] = route.get("destinationPrefixListId")
    named |= {argument: route.get(name) for name, argument in _GATES.items()}
    return {name: value for name, value in named.items() if value}


def _only_destination(route: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in route.items() if name.startswith("Destination")}


def _from_ec2(route: Mapping[str, str]) -> dict[str, str]:
    wanted = {*_DESTINATIONS.values(), *_GATES.values()}
    return {name: value for name, value in route.items() if name in wanted and value}


class Route(ResourceType):
    """One route of a route table."""

    aws_type = "aws:ec2/route:Route"
    has_tags = False
    outputs = ("instanceId", "instanceOwnerId", "origin", "state")
    # terraform-provider-aws internal/service/ec2/vpc_route.go: ForceNew
    replaces = words(
        "routeTableId destinationCidrBlock destinationIpv6CidrBlock destinationPrefixListId"
    )

    def _arguments(self, inputs: Properties, names: Mapping[str, str]) -> dict[str, Any]:
        return given(**{argument: inputs.get(name) for name, argument in names.items()})

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        table = inputs["routeTableId"]
        destination = self._arguments(inputs, _DESTINATIONS)
        if self._route(account, inputs):
            raise AwsError(
                operation="CreateRoute",
                code="RouteAlreadyExists",
                reason=f"The route identified by {next(iter(destination.values()))} already"
                " exists.",
            )
        account.client("ec2").create_route(
            RouteTableId=table, **destination, **self._arguments(inputs, _GATES)
        )
        tail = hashlib.sha256(str(destination).encode()).hexdigest()
        return f"r-{table}{int(tail[:8], 16)}"

    def _route(self, account: Account, inputs: Properties) -> Mapping[str, Any] | None:
        destination = self._arguments(inputs, _DESTINATIONS)
        tables = account.client("ec2").describe_route_tables(
            Filters=[{"Name": "route-table-id", "Values": [inputs["routeTableId"]]}]
        )["RouteTables"]
        for route in tables[0]["Routes"] if tables else ():
            if destination.items() <= route.items():
                found: Mapping[str, Any] = route
                return found
        return None

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        route = self._route(account, state)
        if route is None:
            return None
        gates = {name: route.get(argument) for name, argument in _GATES.items()}
        return {
            "routeTableId": state["routeTableId"],
            "origin": route.get("Origin", "CreateRoute"),
            "state": route.get("State", "active"),
            **{name: value for name, value in gates.items() if value},
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        account.client("ec2").replace_route(
            RouteTableId=new["routeTableId"],
            **self._arguments(new, _DESTINATIONS),
            **self._arguments(new, _GATES),
        )

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if self._route(account, state):
            account.client("ec2").delete_route(
                RouteTableId=state["routeTableId"], **self._arguments(state, _DESTINATIONS)
            )


class RouteTableAssociation(ResourceType):
    """A subnet's route table."""

    aws_type = "aws:ec2/routeTableAssociation:RouteTableAssociation"
    has_tags = False
    # terraform-provider-aws internal/service/ec2/vpc_route_table_association.go: ForceNew
    replaces = words("subnetId gatewayId")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        answer = account.client("ec2").associate_route_table(
            RouteTableId=inputs["routeTableId"],
            **given(SubnetId=inputs.get("subnetId"), GatewayId=inputs.get("gatewayId")),
        )
        association: str = answer["AssociationId"]
        return association

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        tables = account.client("ec2").describe_route_tables(
            Filters=[{"Name": "association.route-table-association-id", "Values": [resource_id]}]
        )["RouteTables"]
        for table in tables:
            for association in table["Associations"]:
                if association["RouteTableAssociationId"] == resource_id:
                    return given(
                        routeTableId=table["RouteTableId"],
                        subnetId=association.get("SubnetId"),
                        gatewayId=association.get("GatewayId"),
                    )
        return None

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        account.client("ec2").replace_route_table_association(
            AssociationId=resource_id, RouteTableId=new["routeTableId"]
        )

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if_there(account.client("ec2").disassociate_route_table, AssociationId=resource_id)


class VpcEndpoint(Ec2Type):
    """A gateway or interface endpoint to an AWS service."""

    aws_type = "aws:ec2/vpcEndpoint:VpcEndpoint"
    describe = ("describe_vpc_endpoints", "VpcEndpointIds", "VpcEndpoints")
    tag_kind = "vpc-endpoint"
    outputs = (
        "arn",
        "cidrBlocks",
        "dnsEntries",
        "networkInterfaceIds",
        "ownerId",
        "prefixListId",
        "requesterManaged",
        "state",
    )
    # terraform-provider-aws internal/service/ec2/vpc_endpoint.go: ForceNew
    replaces = words("serviceName serviceRegion vpcEndpointType vpcId resourceConfigurationArn")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        answer = account.client("ec2").create_vpc_endpoint(
            VpcId=inputs["vpcId"],
            ServiceName=inputs["serviceName"],
            VpcEndpointType=inputs.get("vpcEndpointType", "Gateway"),
            **given(
                PolicyDocument=inputs.get("policy"),
                RouteTableIds=inputs.get("routeTableIds"),
                SubnetIds=inputs.get("subnetIds"),
                SecurityGroupIds=inputs.get("securityGroupIds"),
                PrivateDnsEnabled=inputs.get("privateDnsEnabled"),
                TagSpecifications=self.tags(inputs),
            ),
        )
        endpoint: str = answer["VpcEndpoint"]["VpcEndpointId"]
        return endpoint

    @override
    def item(self, account: Account, resource_id: str) -> Any:
        found = super().item(account, resource_id)
        return None if found and found["State"] == "deleted" else found

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        is_gateway = item["VpcEndpointType"] == "Gateway"
        return {
            "arn": account.arn("ec2", f"vpc-endpoint/{item['VpcEndpointId']}"),
            "cidrBlocks": [],
            "dnsEntries": [
                {"dnsName": entry["DnsName"], "hostedZoneId": entry["HostedZoneId"]}
                for entry in item["DnsEntries"]
            ],
            "networkInterfaceIds": item["NetworkInterfaceIds"],
            "ownerId": item["OwnerId"],
            "policy": item["PolicyDocument"],
            "prefixListId": "pl-63a5400a" if is_gateway else "",
            "requesterManaged": False,
            "routeTableIds": item["RouteTableIds"],
            "securityGroupIds": [group["GroupId"] for group in item["Groups"]],
            "serviceName": item["ServiceName"],
            "state": item["State"],
            "subnetIds": item["SubnetIds"],
            "vpcEndpointType": item["VpcEndpointType"],
            "vpcId": item["VpcId"],
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        changes: dict[str, Any] = {}
        for name, member in (
            ("routeTableIds", "RouteTableIds"),
            ("subnetIds", "SubnetIds"),
            ("securityGroupIds", "SecurityGroupIds"),
        ):
            before, after = set(old.get(name) or ()), set(new.get(name) or ())
            changes |= given(
                **{
                    f"Add{member}": sorted(after - before),
                    f"Remove{member}": sorted(before - after),
                }
            )
        if new.get("policy") and new.get("policy") != old.get("policy"):
            changes["PolicyDocument"] = new["policy"]
        if changes:
            account.client("ec2").modify_vpc_endpoint(VpcEndpointId=resource_id, **changes)
        retag(account, resource_id, old, new)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        item = self.item(account, resource_id)
        if item is None:
            return
        account.client("ec2").delete_vpc_endpoints(VpcEndpointIds=[resource_id])
        for interface in item["NetworkInterfaceIds"]:
            delete_interface(account, interface)


class FlowLog(Ec2Type):
    """Flow logs of a VPC, a subnet or an interface."""

    aws_type = "aws:ec2/flowLog:FlowLog"
    describe = ("describe_flow_logs", "FlowLogIds", "FlowLogs")
    tag_kind = "vpc-flow-log"
    outputs = ("arn",)
    # terraform-provider-aws internal/service/ec2/vpc_flow_log.go: ForceNew
    replaces = words(
        "deliverCrossAccountRole destinationOptions eniId iamRoleArn logDestination"
        " logDestinationType logFormat maxAggregationInterval subnetId trafficType vpcId"
    )

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        kinds = (("vpcId", "VPC"), ("subnetId", "Subnet"), ("eniId", "NetworkInterface"))
        name, kind = next(pair for pair in kinds if inputs.get(pair[0]))
        answer = account.client("ec2").create_flow_logs(
            ResourceIds=[inputs[name]],
            ResourceType=kind,
            **given(
                TrafficType=inputs.get("trafficType"),
                LogDestination=inputs.get("logDestination"),
                LogDestinationType=inputs.get("logDestinationType"),
                DeliverLogsPermissionArn=inputs.get("iamRoleArn"),
                MaxAggregationInterval=inputs.get("maxAggregationInterval"),
                TagSpecifications=self.tags(inputs),
            ),
        )
        if answer.get("Unsuccessful"):
            error = answer["Unsuccessful"][0]["Error"]
            raise AwsError(operation="CreateFlowLogs", code=error["Code"], reason=error["Message"])
        flow_log: str = answer["FlowLogIds"][0]
        return flow_log

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        return {
            "arn": account.arn("ec2", f"vpc-flow-log/{item['FlowLogId']}"),
            "trafficType": item["TrafficType"],
        }

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if_there(account.client("ec2").delete_flow_logs, FlowLogIds=[resource_id])
