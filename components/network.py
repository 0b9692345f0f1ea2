"""The VPC: private subnets for nodes, public ones for NAT only, or ids of a VPC that exists."""

import ipaddress
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

import pulumi
import pulumi_aws as aws

from components import tokens
from components.limits import FEWEST_ZONES, MOST_ZONES, ZONES_WITHOUT_EKS

EIGHTHS: Final = 3
"""Prefix bits that cut a network into eight."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ZoneCidrs:
    """The two ranges of one zone."""

    private: str
    public: str


def subnet_plan(vpc_cidr: str, zone_ids: tuple[str, ...]) -> dict[str, ZoneCidrs]:
    """Ranges for each zone by its place in the list: appending a zone moves none of the others.

    Raises ValueError for fewer than two, repeated, or more than seven zones.
    """
    _check_zones(zone_ids)
    eighths = list(ipaddress.IPv4Network(vpc_cidr).subnets(prefixlen_diff=EIGHTHS))
    public = list(eighths[-1].subnets(prefixlen_diff=EIGHTHS))
    return {
        zone: ZoneCidrs(private=str(eighths[place]), public=str(public[place]))
        for place, zone in enumerate(zone_ids)
    }


def _check_zones(zone_ids: tuple[str, ...]) -> None:
    given = ", ".join(zone_ids) or "nothing"
    if len(set(zone_ids)) != len(zone_ids):
        message = f"availability_zone_ids is {given}; name each zone once"
        raise ValueError(message)
    if not FEWEST_ZONES <= len(zone_ids) <= MOST_ZONES:
        message = (
            f"availability_zone_ids is {given}; allowed: {FEWEST_ZONES} to {MOST_ZONES} zones, "
            "as EKS needs two and the VPC is cut for seven"
        )
        raise ValueError(message)
    _check_eks_offers(zone_ids)


def _check_eks_offers(zone_ids: Iterable[str]) -> None:
    refused = sorted(ZONES_WITHOUT_EKS.intersection(zone_ids))
    if refused:
        message = f"{', '.join(refused)}: EKS takes no subnet in this zone; choose another zone"
        raise ValueError(message)


@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingNetwork:
    """A VPC that somebody else made, by ids; offers what nodes and cluster ask of a `Network`."""

    private_subnets: Mapping[str, str]
    vpc_id: str

    def __post_init__(self) -> None:
        """Refuse fewer zones than EKS takes."""
        if len(self.private_subnets) < FEWEST_ZONES:
            given = ", ".join(self.private_subnets) or "nothing"
            message = f"private_subnets covers {given}; EKS needs subnets in two zones or more"
            raise ValueError(message)
        _check_eks_offers(self.private_subnets)


@dataclass(frozen=True, kw_only=True, slots=True)
class NetworkArgs:
    """What the VPC looks like.

    `nat_gateways`: `single` saves money, `per-zone` survives the loss of a zone.
    `interface_endpoints`: short service names (`sts`, `ecr.api`); each costs by the hour and
    zone, none is needed while there is NAT.
    """

    availability_zone_ids: tuple[str, ...]
    cluster_name: str
    nat_gateways: Literal["single", "per-zone"]
    region: str
    vpc_cidr: str
    interface_endpoints: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Refuse an unknown NAT layout and zones that EKS would refuse."""
        if self.nat_gateways not in ("single", "per-zone"):
            message = f"nat_gateways is {self.nat_gateways!r}; allowed: single, per-zone"
            raise ValueError(message)
        _check_zones(self.availability_zone_ids)


class Network(pulumi.ComponentResource):
    """VPC, subnets, internet and NAT gateways, routes and endpoints.

    A private subnet's id becomes known only once its route to the internet stands, so whatever
    is placed in it can pull images from its first second, and is gone before the route goes.
    """

    vpc_id: pulumi.Output[str]
    private_subnets: dict[str, pulumi.Output[str]]
    public_subnets: dict[str, pulumi.Output[str]]

    def __init__(
        self, name: str, args: NetworkArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.NETWORK, name, None, opts)
        self._name, self._args = name, args
        plan = subnet_plan(args.vpc_cidr, args.availability_zone_ids)
        self._vpc = aws.ec2.Vpc(
            f"{name}-vpc",
            cidr_block=args.vpc_cidr,
            # Interface endpoints and nodes of a private cluster are found by VPC DNS.
            enable_dns_hostnames=True,
            enable_dns_support=True,
            tags=self._tags("vpc"),
            opts=pulumi.ResourceOptions(parent=self),
        )
        self.vpc_id = self._vpc.id
        self._close_default_security_group()
        public = {zone: self._subnet(zone, cidrs.public, "public") for zone, cidrs in plan.items()}
        private = {
            zone: self._subnet(zone, cidrs.private, "private") for zone, cidrs in plan.items()
        }
        nat_gateways = self._nat_gateways(self._internet_gateway(public), public)
        tables = {zone: self._route_table(f"private-{zone}") for zone in private}
        self.public_subnets = {zone: subnet.id for zone, subnet in public.items()}
        self.private_subnets = {
            zone: self._routed(zone, subnet, tables[zone], nat_gateways[zone])
            for zone, subnet in private.items()
        }
        self._gateway_endpoint(tables)
        self._interface_endpoints(private)
        self.register_outputs(
            {
                "vpc_id": self.vpc_id,
                "private_subnets": self.private_subnets,
                "public_subnets": self.public_subnets,
            }
        )

    def _tags(self, part: str) -> dict[str, str]:
        return {**self._args.tags, "Name": f"{self._args.cluster_name}-{part}"}

    def _close_default_security_group(self) -> None:
        """Adopt the group every VPC is born with and leave it no rule."""
        aws.ec2.DefaultSecurityGroup(
            f"{self._name}-default-security-group",
            vpc_id=self.vpc_id,
            egress=[],
            ingress=[],
            tags=self._tags("default-closed"),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _subnet(self, zone: str, cidr: str, kind: Literal["private", "public"]) -> aws.ec2.Subnet:
        # Load balancers find their subnets by these tags (EKS network requirements).
        role = "internal-elb" if kind == "private" else "elb"
        tags = {
            f"kubernetes.io/role/{role}": "1",
            f"kubernetes.io/cluster/{self._args.cluster_name}": "shared",
        }
        return aws.ec2.Subnet(
            f"{self._name}-{kind}-{zone}",
            vpc_id=self.vpc_id,
            availability_zone_id=zone,
            cidr_block=cidr,
            # NAT gateways bring their own address; nothing else belongs in a public subnet.
            map_public_ip_on_launch=False,
            tags={**self._tags(f"{kind}-{zone}"), **tags},
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _route_table(self, part: str) -> aws.ec2.RouteTable:
        return aws.ec2.RouteTable(
            f"{self._name}-{part}",
            vpc_id=self.vpc_id,
            tags=self._tags(part),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _internet_gateway(self, public: dict[str, aws.ec2.Subnet]) -> aws.ec2.Route:
        """Make the public subnets public; return the route they depend on."""
        gateway = aws.ec2.InternetGateway(
            f"{self._name}-internet-gateway",
            vpc_id=self.vpc_id,
            tags=self._tags("internet-gateway"),
            opts=pulumi.ResourceOptions(parent=self),
        )
        table = self._route_table("public")
        for zone, subnet in public.items():
            self._associate(f"public-{zone}", subnet, table)
        return aws.ec2.Route(
            f"{self._name}-public-internet",
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            gateway_id=gateway.id,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _associate(
        self, part: str, subnet: aws.ec2.Subnet, table: aws.ec2.RouteTable
    ) -> aws.ec2.RouteTableAssociation:
        return aws.ec2.RouteTableAssociation(
            f"{self._name}-{part}",
            subnet_id=subnet.id,
            route_table_id=table.id,
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _nat_gateways(
        self, internet: aws.ec2.Route, public: dict[str, aws.ec2.Subnet]
    ) -> dict[str, aws.ec2.NatGateway]:
        """The NAT gateway that serves each zone: its own, or the first zone's for all."""
        zones = self._args.availability_zone_ids
        own = zones if self._args.nat_gateways == "per-zone" else zones[:1]
        made = {zone: self._nat_gateway(zone, internet, public[zone]) for zone in own}
        return {zone: made.get(zone, made[zones[0]]) for zone in zones}

    def _nat_gateway(
        self, zone: str, internet: aws.ec2.Route, subnet: aws.ec2.Subnet
    ) -> aws.ec2.NatGateway:
        address = aws.ec2.Eip(
            f"{self._name}-nat-{zone}",
            domain="vpc",
            tags=self._tags(f"nat-{zone}"),
            # The VPC has no address to give, nor takes one back, while it has no gateway.
            opts=pulumi.ResourceOptions(parent=self, depends_on=[internet]),
        )
        return aws.ec2.NatGateway(
            f"{self._name}-nat-{zone}",
            allocation_id=address.id,
            subnet_id=subnet.id,
            tags=self._tags(f"nat-{zone}"),
            opts=pulumi.ResourceOptions(parent=self, depends_on=[internet]),
        )

    def _routed(
        self,
        zone: str,
        subnet: aws.ec2.Subnet,
        table: aws.ec2.RouteTable,
        nat_gateway: aws.ec2.NatGateway,
    ) -> pulumi.Output[str]:
        """The subnet's id, known once its way out stands.

        Each zone has its own table even with one NAT gateway, so that going from `single` to
        `per-zone` changes a route in place.
        """
        route = aws.ec2.Route(
            f"{self._name}-private-{zone}-internet",
            route_table_id=table.id,
            destination_cidr_block="0.0.0.0/0",
            nat_gateway_id=nat_gateway.id,
            opts=pulumi.ResourceOptions(parent=self),
        )
        association = self._associate(f"private-{zone}", subnet, table)
        return pulumi.Output.all(subnet.id, route.id, association.id).apply(lambda ids: str(ids[0]))

    def _gateway_endpoint(self, tables: dict[str, aws.ec2.RouteTable]) -> None:
        """Keep S3 traffic, image layers included, off the NAT gateway; it costs nothing."""
        aws.ec2.VpcEndpoint(
            f"{self._name}-s3",
            vpc_id=self.vpc_id,
            service_name=f"com.amazonaws.{self._args.region}.s3",
            vpc_endpoint_type="Gateway",
            route_table_ids=[table.id for table in tables.values()],
            tags=self._tags("s3"),
            opts=pulumi.ResourceOptions(parent=self),
        )

    def _interface_endpoints(self, private: dict[str, aws.ec2.Subnet]) -> None:
        if not self._args.interface_endpoints:
            return
        group = aws.ec2.SecurityGroup(
            f"{self._name}-endpoints",
            description="HTTPS from inside the VPC to AWS interface endpoints",
            vpc_id=self.vpc_id,
            tags=self._tags("endpoints"),
            opts=pulumi.ResourceOptions(parent=self),
        )
        aws.vpc.SecurityGroupIngressRule(
            f"{self._name}-endpoints-https",
            security_group_id=group.id,
            cidr_ipv4=self._args.vpc_cidr,
            description="HTTPS from the VPC",
            from_port=443,
            ip_protocol="tcp",
            to_port=443,
            tags=self._tags("endpoints-https"),
            opts=pulumi.ResourceOptions(parent=self),
        )
        for service in self._args.interface_endpoints:
            aws.ec2.VpcEndpoint(
                f"{self._name}-{service}",
                vpc_id=self.vpc_id,
                service_name=f"com.amazonaws.{self._args.region}.{service}",
                vpc_endpoint_type="Interface",
                private_dns_enabled=True,
                security_group_ids=[group.id],
                subnet_ids=[subnet.id for subnet in private.values()],
                tags=self._tags(service),
                opts=pulumi.ResourceOptions(parent=self),
            )
