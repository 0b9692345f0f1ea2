"""VPC, subnet, internet gateway, elastic IP and NAT gateway."""

from collections.abc import Iterator, Mapping
from typing import Any

from typing_extensions import override

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.refusals import AwsError
from infra.rehearsal.aws.resource import Properties, if_there, words
from infra.rehearsal.aws.types.ec2_base import (
    Ec2Type,
    delete_interface,
    given,
    interfaces,
    live_nat_gateways,
    refuse_dependency,
    retag,
)

_VPC_ATTRIBUTES = {
    "enableDnsSupport": "EnableDnsSupport",
    "enableDnsHostnames": "EnableDnsHostnames",
    "enableNetworkAddressUsageMetrics": "EnableNetworkAddressUsageMetrics",
}


def _attributes(names: Mapping[str, str], inputs: Properties) -> Iterator[dict[str, Any]]:
    """One argument a call, as EC2 changes one attribute at a time."""
    for name, attribute in names.items():
        if inputs.get(name) is not None:
            yield {attribute: {"Value": inputs[name]}}


class Vpc(Ec2Type):
    """A VPC with its main route table, default network ACL and default security group."""

    aws_type = "aws:ec2/vpc:Vpc"
    describe = ("describe_vpcs", "VpcIds", "Vpcs")
    tag_kind = "vpc"
    outputs = (
        "arn",
        "defaultNetworkAclId",
        "defaultRouteTableId",
        "defaultSecurityGroupId",
        "dhcpOptionsId",
        "ipv6AssociationId",
        "mainRouteTableId",
        "ownerId",
    )
    # terraform-provider-aws internal/service/ec2/vpc_.go: ForceNew
    replaces = words("cidrBlock ipv4IpamPoolId ipv4NetmaskLength instanceTenancy")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        ec2 = account.client("ec2")
        answer = ec2.create_vpc(
            **given(
                CidrBlock=inputs.get("cidrBlock"),
                InstanceTenancy=inputs.get("instanceTenancy"),
                AmazonProvidedIpv6CidrBlock=inputs.get("assignGeneratedIpv6CidrBlock"),
                TagSpecifications=self.tags(inputs),
            )
        )
        vpc_id: str = answer["Vpc"]["VpcId"]
        self._set_attributes(account, vpc_id, inputs)
        return vpc_id

    def _set_attributes(self, account: Account, vpc_id: str, inputs: Properties) -> None:
        modify = account.client("ec2").modify_vpc_attribute
        for attribute in _attributes(_VPC_ATTRIBUTES, inputs):
            modify(VpcId=vpc_id, **attribute)

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        self._set_attributes(account, resource_id, new)
        retag(account, resource_id, old, new)

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        vpc_id = item["VpcId"]
        ec2 = account.client("ec2")
        in_vpc = [{"Name": "vpc-id", "Values": [vpc_id]}]
        default_group = ec2.describe_security_groups(
            Filters=[*in_vpc, {"Name": "group-name", "Values": ["default"]}]
        )["SecurityGroups"]
        main_table = ec2.describe_route_tables(
            Filters=[*in_vpc, {"Name": "association.main", "Values": ["true"]}]
        )["RouteTables"][0]["RouteTableId"]
        lists = ec2.describe_network_acls(Filters=in_vpc)["NetworkAcls"]
        return {
            "arn": account.arn("ec2", f"vpc/{vpc_id}"),
            "assignGeneratedIpv6CidrBlock": bool(item["Ipv6CidrBlockAssociationSet"]),
            "cidrBlock": item["CidrBlock"],
            "defaultNetworkAclId": lists[0]["NetworkAclId"] if lists else "",
            "defaultRouteTableId": main_table,
            "defaultSecurityGroupId": default_group[0]["GroupId"] if default_group else "",
            "dhcpOptionsId": item["DhcpOptionsId"],
            "instanceTenancy": item["InstanceTenancy"],
            "mainRouteTableId": main_table,
            "ownerId": item["OwnerId"],
            **{
                name: ec2.describe_vpc_attribute(
                    VpcId=vpc_id, Attribute=attribute[0].lower() + attribute[1:]
                )[attribute]["Value"]
                for name, attribute in _VPC_ATTRIBUTES.items()
            },
        }

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        endpoints = account.client("ec2").describe_vpc_endpoints(
            Filters=[{"Name": "vpc-id", "Values": [resource_id]}]
        )["VpcEndpoints"]
        if any(endpoint["State"] != "deleted" for endpoint in endpoints):
            refuse_dependency(
                "DeleteVpc", f"The vpc '{resource_id}' has dependencies and cannot be deleted."
            )
        if_there(account.client("ec2").delete_vpc, VpcId=resource_id)


_SUBNET_ATTRIBUTES = {
    "mapPublicIpOnLaunch": "MapPublicIpOnLaunch",
    "assignIpv6AddressOnCreation": "AssignIpv6AddressOnCreation",
}


class Subnet(Ec2Type):
    """A subnet in one zone."""

    aws_type = "aws:ec2/subnet:Subnet"
    describe = ("describe_subnets", "SubnetIds", "Subnets")
    tag_kind = "subnet"
    outputs = ("arn", "ipv6CidrBlockAssociationId", "ownerId")
    # terraform-provider-aws internal/service/ec2/vpc_subnet.go: ForceNew
    replaces = words(
        "availabilityZone availabilityZoneId cidrBlock ipv4IpamPoolId ipv4NetmaskLength"
        " ipv6Native outpostArn vpcId"
    )

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        answer = account.client("ec2").create_subnet(
            VpcId=inputs["vpcId"],
            **given(
                CidrBlock=inputs.get("cidrBlock"),
                AvailabilityZone=inputs.get("availabilityZone"),
                AvailabilityZoneId=inputs.get("availabilityZoneId"),
                TagSpecifications=self.tags(inputs),
            ),
        )
        subnet_id: str = answer["Subnet"]["SubnetId"]
        # moto gives each first subnet of a zone public addresses, as only default subnets have.
        self._set_attributes(account, subnet_id, {"mapPublicIpOnLaunch": False} | inputs)
        return subnet_id

    def _set_attributes(self, account: Account, subnet_id: str, inputs: Properties) -> None:
        modify = account.client("ec2").modify_subnet_attribute
        for attribute in _attributes(_SUBNET_ATTRIBUTES, inputs):
            modify(SubnetId=subnet_id, **attribute)

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        self._set_attributes(account, resource_id, new)
        retag(account, resource_id, old, new)

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        return {
            "arn": item["SubnetArn"],
            "assignIpv6AddressOnCreation": item["AssignIpv6AddressOnCreation"],
            "availabilityZone": item["AvailabilityZone"],
            "availabilityZoneId": item["AvailabilityZoneId"],
            "cidrBlock": item["CidrBlock"],
            "mapPublicIpOnLaunch": item["MapPublicIpOnLaunch"],
            "ownerId": item["OwnerId"],
            "vpcId": item["VpcId"],
        }

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        if live_nat_gateways(account, subnet_id=resource_id) or interfaces(
            account, subnet_id=resource_id
        ):
            refuse_dependency(
                "DeleteSubnet",
                f"The subnet '{resource_id}' has dependencies and cannot be deleted.",
            )
        if_there(account.client("ec2").delete_subnet, SubnetId=resource_id)


class InternetGateway(Ec2Type):
    """An internet gateway, attached to its VPC."""

    aws_type = "aws:ec2/internetGateway:InternetGateway"
    describe = ("describe_internet_gateways", "InternetGatewayIds", "InternetGateways")
    tag_kind = "internet-gateway"
    outputs = ("arn", "ownerId")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        ec2 = account.client("ec2")
        answer = ec2.create_internet_gateway(**given(TagSpecifications=self.tags(inputs)))
        gateway_id: str = answer["InternetGateway"]["InternetGatewayId"]
        if inputs.get("vpcId"):
            ec2.attach_internet_gateway(InternetGatewayId=gateway_id, VpcId=inputs["vpcId"])
        return gateway_id

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        attached = item["Attachments"]
        return {
            "arn": account.arn("ec2", f"internet-gateway/{item['InternetGatewayId']}"),
            "ownerId": item["OwnerId"],
            "vpcId": attached[0]["VpcId"] if attached else "",
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        if old.get("vpcId") != new.get("vpcId"):
            self._detach(account, resource_id)
            account.client("ec2").attach_internet_gateway(
                InternetGatewayId=resource_id, VpcId=new["vpcId"]
            )
        retag(account, resource_id, old, new)

    def _detach(self, account: Account, gateway_id: str) -> None:
        item = self.item(account, gateway_id)
        for attachment in item["Attachments"] if item else ():
            vpc_id = attachment["VpcId"]
            if live_nat_gateways(account, vpc_id=vpc_id):
                refuse_dependency(
                    "DetachInternetGateway",
                    f"Network {vpc_id} has some mapped public address(es). Please unmap those"
                    " public address(es) before detaching the gateway.",
                )
            account.client("ec2").detach_internet_gateway(
                InternetGatewayId=gateway_id, VpcId=vpc_id
            )

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        self._detach(account, resource_id)
        if_there(account.client("ec2").delete_internet_gateway, InternetGatewayId=resource_id)


class Eip(Ec2Type):
    """An elastic IP address."""

    aws_type = "aws:ec2/eip:Eip"
    describe = ("describe_addresses", "AllocationIds", "Addresses")
    tag_kind = "elastic-ip"
    outputs = (
        "allocationId",
        "arn",
        "associationId",
        "carrierIp",
        "customerOwnedIp",
        "privateDns",
        "privateIp",
        "ptrRecord",
        "publicDns",
        "publicIp",
    )
    # terraform-provider-aws internal/service/ec2/ec2_eip.go: ForceNew
    replaces = words(
        "address customerOwnedIpv4Pool domain ipamPoolId networkBorderGroup publicIpv4Pool"
    )

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        answer = account.client("ec2").allocate_address(
            Domain=inputs.get("domain", "vpc"), **given(TagSpecifications=self.tags(inputs))
        )
        allocation: str = answer["AllocationId"]
        return allocation

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        address = item["PublicIp"]
        return {
            "allocationId": item["AllocationId"],
            "arn": account.arn("ec2", f"elastic-ip/{item['AllocationId']}"),
            "domain": item["Domain"],
            "networkBorderGroup": account.region,
            "publicDns": f"ec2-{address.replace('.', '-')}.compute-1.amazonaws.com",
            "publicIp": address,
            "publicIpv4Pool": "amazon",
        }

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        in_use = any(
            address.get("AllocationId") == resource_id
            for gate in live_nat_gateways(account)
            for address in gate["NatGatewayAddresses"]
        )
        if in_use:
            raise AwsError(
                operation="ReleaseAddress",
                code="InvalidIPAddress.InUse",
                reason=f"The address with allocation id [{resource_id}] cannot be released because"
                " it is in use.",
            )
        if_there(account.client("ec2").release_address, AllocationId=resource_id)


class NatGateway(Ec2Type):
    """A NAT gateway in a public subnet."""

    aws_type = "aws:ec2/natGateway:NatGateway"
    describe = ("describe_nat_gateways", "NatGatewayIds", "NatGateways")
    tag_kind = "natgateway"
    outputs = (
        "associationId",
        "autoProvisionZones",
        "autoScalingIps",
        "networkInterfaceId",
        "publicIp",
        "regionalNatGatewayAddresses",
        "regionalNatGatewayAutoMode",
        "routeTableId",
    )
    # terraform-provider-aws internal/service/ec2/vpc_nat_gateway.go: ForceNew
    replaces = words("allocationId availabilityMode connectivityType privateIp subnetId vpcId")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        used = {
            address.get("AllocationId")
            for gate in live_nat_gateways(account)
            for address in gate["NatGatewayAddresses"]
        }
        if inputs.get("allocationId") in used:
            raise AwsError(
                operation="CreateNatGateway",
                code="Resource.AlreadyAssociated",
                reason=f"Elastic IP address [{inputs['allocationId']}] is already associated",
            )
        answer = account.client("ec2").create_nat_gateway(
            **given(
                SubnetId=inputs.get("subnetId"),
                AllocationId=inputs.get("allocationId"),
                ConnectivityType=inputs.get("connectivityType"),
                TagSpecifications=self.tags(inputs),
            )
        )
        gateway_id: str = answer["NatGateway"]["NatGatewayId"]
        return gateway_id

    @override
    def item(self, account: Account, resource_id: str) -> Any:
        found = super().item(account, resource_id)
        return None if found and found["State"] in ("deleted", "deleting") else found

    @override
    def properties(self, account: Account, item: Mapping[str, Any]) -> Properties:
        address = item["NatGatewayAddresses"][0]
        return {
            "allocationId": address.get("AllocationId"),
            "associationId": address.get("AssociationId"),
            "availabilityMode": "zonal",
            "connectivityType": item.get("ConnectivityType", "public"),
            "networkInterfaceId": address["NetworkInterfaceId"],
            "privateIp": address["PrivateIp"],
            "publicIp": address.get("PublicIp"),
            "subnetId": item["SubnetId"],
            "vpcId": item["VpcId"],
        }

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        item = self.item(account, resource_id)
        if item is None:
            return
        account.client("ec2").delete_nat_gateway(NatGatewayId=resource_id)
        for address in item["NatGatewayAddresses"]:
            # AWS gives the address and the interface free by itself; moto keeps both.
            if address.get("AssociationId"):
                if_there(
                    account.client("ec2").disassociate_address,
                    AssociationId=address["AssociationId"],
                )
            delete_interface(account, address["NetworkInterfaceId"])
