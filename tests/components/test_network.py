"""The VPC and its way out, or the ids of one that exists."""

import dataclasses
import ipaddress
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.network import (
    ExistingNetwork,
    Network,
    NetworkArgs,
    subnet_plan,
)
from tests.support.recorder import RecordedResource, Recording, names_of, record

ZONES = ("use1-az4", "use1-az6")
ARGS = NetworkArgs(
    availability_zone_ids=ZONES,
    cluster_name="gangway-dev",
    nat_gateways="single",
    region="us-east-1",
    tags={"team": "ml"},
    vpc_cidr="10.20.0.0/16",
)
VPC = "aws:ec2/vpc:Vpc"
SUBNET = "aws:ec2/subnet:Subnet"
ROUTE = "aws:ec2/route:Route"
NAT = "aws:ec2/natGateway:NatGateway"
ENDPOINT = "aws:ec2/vpcEndpoint:VpcEndpoint"
TABLE = "aws:ec2/routeTable:RouteTable"
ASSOCIATION = "aws:ec2/routeTableAssociation:RouteTableAssociation"
SECURITY_GROUP = "aws:ec2/securityGroup:SecurityGroup"


def build(**changes: object) -> Recording:
    return record(lambda: Network("network", dataclasses.replace(ARGS, **changes)) and None)


@pytest.fixture(scope="module")
def single() -> Recording:
    return build()


@pytest.fixture(scope="module")
def per_zone() -> Recording:
    return build(nat_gateways="per-zone", interface_endpoints=("sts", "ecr.api"))


def subnet(recording: Recording, kind: str, zone: str = "use1-az4") -> RecordedResource:
    return recording.one(SUBNET, f"network-{kind}-{zone}")


def test_zones_get_ranges_in_their_order() -> None:
    plan = subnet_plan("10.20.0.0/16", ZONES)
    assert [plan[zone].private for zone in ZONES] == ["10.20.0.0/19", "10.20.32.0/19"]
    assert [plan[zone].public for zone in ZONES] == ["10.20.224.0/22", "10.20.228.0/22"]


def test_an_appended_zone_moves_no_other() -> None:
    before = subnet_plan("10.20.0.0/16", ZONES)
    after = subnet_plan("10.20.0.0/16", (*ZONES, "use1-az1"))
    assert {zone: after[zone] for zone in ZONES} == before


@given(prefix=st.integers(min_value=16, max_value=20), zones=st.integers(min_value=2, max_value=7))
def test_no_two_subnets_share_an_address(prefix: int, zones: int) -> None:
    vpc = ipaddress.IPv4Network(f"10.0.0.0/{prefix}")
    plan = subnet_plan(str(vpc), tuple(f"euw1-az{number}" for number in range(zones)))
    networks = [
        ipaddress.IPv4Network(cidr)
        for zone in plan.values()
        for cidr in (zone.private, zone.public)
    ]
    assert all(network.subnet_of(vpc) for network in networks)
    assert sum(network.num_addresses for network in networks) == sum(
        network.num_addresses for network in ipaddress.collapse_addresses(networks)
    )


REFUSED_ZONES = {
    "one-zone": (("use1-az4",), "availability_zone_ids is use1-az4; allowed: 2 to 7 zones"),
    "no-zone": ((), "availability_zone_ids is nothing; allowed: 2 to 7 zones"),
    "eight-zones": (tuple(f"use1-az{i}" for i in range(8)), "allowed: 2 to 7 zones"),
    "twice": (("use1-az4", "use1-az4"), "use1-az4, use1-az4; name each zone once"),
    "without-eks": (("use1-az3", "use1-az4"), "use1-az3: EKS takes no subnet in this zone"),
}


@pytest.mark.parametrize(("zones", "message"), REFUSED_ZONES.values(), ids=REFUSED_ZONES)
def test_rejects_zones(zones: tuple[str, ...], message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)):
        dataclasses.replace(ARGS, availability_zone_ids=zones)


@pytest.mark.parametrize("zones", [("use1-az4",), ("use1-az3", "use1-az4")])
def test_rejects_a_plan_for_zones_that_eks_refuses(zones: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match=r"availability_zone_ids|EKS takes no subnet"):
        subnet_plan("10.20.0.0/16", zones)


def test_rejects_an_unknown_nat_layout() -> None:
    with pytest.raises(ValueError, match="nat_gateways is 'none'; allowed: single, per-zone"):
        dataclasses.replace(ARGS, nat_gateways="none")


def test_the_vpc_has_the_range_and_names_by_dns(single: Recording) -> None:
    inputs = single.one(VPC).inputs
    assert inputs["cidrBlock"] == "10.20.0.0/16"
    assert inputs["enableDnsHostnames"] is True
    assert inputs["enableDnsSupport"] is True


def test_the_default_security_group_is_left_without_rules(single: Recording) -> None:
    group = single.one("aws:ec2/defaultSecurityGroup:DefaultSecurityGroup").inputs
    assert (group["ingress"], group["egress"]) == ([], [])
    assert group["vpcId"] == single.one(VPC).id


def test_a_subnet_is_placed_by_zone_id(single: Recording) -> None:
    assert subnet(single, "private", "use1-az6").inputs["availabilityZoneId"] == "use1-az6"


@pytest.mark.parametrize("kind", ["private", "public"])
def test_no_subnet_gives_public_addresses(single: Recording, kind: str) -> None:
    assert subnet(single, kind).inputs["mapPublicIpOnLaunch"] is False


@pytest.mark.parametrize(("kind", "role"), [("private", "internal-elb"), ("public", "elb")])
def test_subnets_carry_the_tags_that_eks_looks_for(single: Recording, kind: str, role: str) -> None:
    tags = subnet(single, kind).inputs["tags"]
    assert tags[f"kubernetes.io/role/{role}"] == "1"
    assert tags["kubernetes.io/cluster/gangway-dev"] == "shared"


def test_the_callers_tags_reach_what_can_be_tagged(per_zone: Recording) -> None:
    untagged = [r.name for r in per_zone if "tags" in r.inputs and r.inputs["tags"]["team"] != "ml"]
    tagged = [r.name for r in per_zone if "tags" in r.inputs]
    assert untagged == []
    assert len(tagged) == 19


def test_public_subnets_reach_the_internet_directly(single: Recording) -> None:
    route = single.one(ROUTE, "network-public-internet").inputs
    gateway = single.one("aws:ec2/internetGateway:InternetGateway")
    assert route["destinationCidrBlock"] == "0.0.0.0/0"
    assert route["gatewayId"] == gateway.id


@pytest.mark.parametrize("zone", ZONES)
def test_public_subnets_use_the_public_table(single: Recording, zone: str) -> None:
    association = single.one(ASSOCIATION, f"network-public-{zone}").inputs
    assert association["subnetId"] == subnet(single, "public", zone).id
    assert association["routeTableId"] == single.one(TABLE, "network-public").id


def test_single_nat_gateway_serves_every_zone(single: Recording) -> None:
    nat = single.one(NAT)
    routes = [single.one(ROUTE, f"network-private-{zone}-internet").inputs for zone in ZONES]
    assert [route["natGatewayId"] for route in routes] == [nat.id, nat.id]


def test_each_zone_has_its_own_nat_gateway_when_asked(per_zone: Recording) -> None:
    assert names_of(per_zone.of_type(NAT)) == [f"network-nat-{zone}" for zone in ZONES]
    for zone in ZONES:
        route = per_zone.one(ROUTE, f"network-private-{zone}-internet").inputs
        assert route["natGatewayId"] == per_zone.one(NAT, f"network-nat-{zone}").id


def test_going_to_a_nat_gateway_per_zone_replaces_no_table(
    single: Recording, per_zone: Recording
) -> None:
    assert names_of(single.of_type(TABLE)) == names_of(per_zone.of_type(TABLE))


def test_a_nat_gateway_stands_in_its_zones_public_subnet(per_zone: Recording) -> None:
    nat = per_zone.one(NAT, "network-nat-use1-az6").inputs
    assert nat["subnetId"] == subnet(per_zone, "public", "use1-az6").id


@pytest.mark.parametrize("type_token", [NAT, "aws:ec2/eip:Eip"])
def test_nat_waits_for_the_way_to_the_internet(single: Recording, type_token: str) -> None:
    route = single.one(ROUTE, "network-public-internet")
    assert route.urn in single.one(type_token).explicit_dependencies


def test_nat_addresses_belong_to_the_vpc(single: Recording) -> None:
    assert single.one("aws:ec2/eip:Eip").inputs["domain"] == "vpc"


@pytest.mark.parametrize("zone", ZONES)
def test_a_private_subnet_is_known_once_its_route_stands(zone: str) -> None:
    def program() -> None:
        network = Network("network", ARGS)
        Network(
            "probe",
            dataclasses.replace(ARGS, tags={"uses": network.private_subnets[zone]}),
        )

    recording = record(program)
    needs = recording.one(VPC, "probe-vpc").depends_on
    assert recording.one(ROUTE, f"network-private-{zone}-internet").urn in needs
    assert recording.one(ASSOCIATION, f"network-private-{zone}").urn in needs
    assert subnet(recording, "private", zone).urn in needs


def test_s3_traffic_of_every_private_table_stays_off_nat(single: Recording) -> None:
    endpoint = single.one(ENDPOINT).inputs
    tables = [single.one(TABLE, f"network-private-{zone}").id for zone in ZONES]
    assert endpoint["vpcEndpointType"] == "Gateway"
    assert endpoint["serviceName"] == "com.amazonaws.us-east-1.s3"
    assert endpoint["routeTableIds"] == tables


def test_without_interface_endpoints_there_is_no_security_group(single: Recording) -> None:
    assert single.of_type(SECURITY_GROUP) == ()


def test_interface_endpoints_answer_under_the_services_own_name(per_zone: Recording) -> None:
    endpoint = per_zone.one(ENDPOINT, "network-ecr.api").inputs
    assert endpoint["serviceName"] == "com.amazonaws.us-east-1.ecr.api"
    assert endpoint["vpcEndpointType"] == "Interface"
    assert endpoint["privateDnsEnabled"] is True


def test_interface_endpoints_stand_in_every_private_subnet(per_zone: Recording) -> None:
    endpoint = per_zone.one(ENDPOINT, "network-sts").inputs
    assert endpoint["subnetIds"] == [subnet(per_zone, "private", zone).id for zone in ZONES]
    assert endpoint["securityGroupIds"] == [per_zone.one(SECURITY_GROUP).id]


def test_interface_endpoints_take_https_from_the_vpc_only(per_zone: Recording) -> None:
    rule = per_zone.one("aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule").inputs
    assert (rule["fromPort"], rule["toPort"], rule["ipProtocol"]) == (443, 443, "tcp")
    assert rule["cidrIpv4"] == "10.20.0.0/16"


def test_everything_belongs_to_the_component(per_zone: Recording) -> None:
    component = per_zone.one("gangway:components:Network")
    assert {r.parent for r in per_zone if r is not component} == {component.urn}


def test_an_existing_network_offers_what_was_given() -> None:
    subnets = {"use1-az4": "subnet-1", "use1-az6": "subnet-2"}
    network = ExistingNetwork(private_subnets=subnets, vpc_id="vpc-1")
    assert (network.vpc_id, network.private_subnets) == ("vpc-1", subnets)


def test_rejects_an_existing_network_in_one_zone() -> None:
    with pytest.raises(ValueError, match="private_subnets covers use1-az4; EKS needs subnets in"):
        ExistingNetwork(private_subnets={"use1-az4": "subnet-1"}, vpc_id="vpc-1")


def test_rejects_an_existing_network_where_eks_is_not() -> None:
    with pytest.raises(ValueError, match="usw1-az2: EKS takes no subnet in this zone"):
        ExistingNetwork(private_subnets={"usw1-az1": "subnet-1", "usw1-az2": "s"}, vpc_id="vpc-1")
