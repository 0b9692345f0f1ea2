"""One moto server for the whole folder; each test gets names of its own, not an account."""

import asyncio
import itertools
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pulumi.provider.experimental import provider as engine

from infra.rehearsal.aws import server
from infra.rehearsal.aws.clock import Clock
from infra.rehearsal.aws.plain import plain_map, wrapped_map
from infra.rehearsal.aws.provider import EmulatedAws

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def moto_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("rehearsal")
    server.start(folder)
    yield folder
    server.stop(folder)


class Engine:
    """Calls the provider as the engine does, with plain data."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.provider = EmulatedAws(folder, clock=Clock(timeout_floor_seconds=0.5))
        self.number = next(_numbers)

    @property
    def account(self) -> Any:
        return self.provider.account

    def urn(self, aws_type: str, name: str) -> str:
        return f"urn:pulumi:dev::gangway::{aws_type}::{name}"

    def check(
        self, aws_type: str, inputs: dict[str, Any], *, name: str = "it", old: Any = None
    ) -> tuple[dict[str, Any], list[str]]:
        answer = asyncio.run(
            self.provider.check(
                engine.CheckRequest(
                    self.urn(aws_type, name),
                    wrapped_map(old or {}),
                    wrapped_map(inputs),
                    f"{name}{self.number}".encode(),
                )
            )
        )
        return plain_map(answer.inputs or {}), [one.reason for one in answer.failures or []]

    def create(self, aws_type: str, logical: str = "it", /, **inputs: Any) -> "Made":
        checked, failures = self.check(aws_type, inputs, name=logical)
        assert failures == []
        request = engine.CreateRequest(
            self.urn(aws_type, logical), wrapped_map(checked), timeout=0, preview=False
        )
        answer = asyncio.run(self.provider.create(request))
        assert answer.resource_id
        return Made(self, aws_type, answer.resource_id, checked, plain_map(answer.properties))

    def foresee(self, aws_type: str, **inputs: Any) -> dict[str, Any]:
        request = engine.CreateRequest(
            self.urn(aws_type, "it"), wrapped_map(inputs), timeout=0, preview=True
        )
        return plain_map(asyncio.run(self.provider.create(request)).properties)

    def invoke(self, function: str, **arguments: Any) -> dict[str, Any]:
        request = engine.InvokeRequest(function, wrapped_map(arguments))
        return plain_map(asyncio.run(self.provider.invoke(request)).return_value or {})


class Made:
    """A resource that was created."""

    def __init__(
        self, engine_: Engine, aws_type: str, id_: str, inputs: dict[str, Any], state: Any
    ) -> None:
        self.engine, self.aws_type, self.id = engine_, aws_type, id_
        self.inputs: dict[str, Any] = inputs
        self.state: dict[str, Any] = state

    def __getitem__(self, name: str) -> Any:
        return self.state[name]

    def diff(self, **changes: Any) -> engine.DiffResponse:
        new = {name: value for name, value in (self.inputs | changes).items() if value is not None}
        request = engine.DiffRequest(
            self.engine.urn(self.aws_type, "it"),
            self.id,
            wrapped_map(self.state),
            wrapped_map(new),
            [],
        )
        request.old_inputs = wrapped_map(self.inputs)  # type: ignore[attr-defined]
        return asyncio.run(self.engine.provider.diff(request))

    def read(self) -> "Made | None":
        request = engine.ReadRequest(
            self.engine.urn(self.aws_type, "it"),
            self.id,
            wrapped_map(self.state),
            wrapped_map(self.inputs),
        )
        answer = asyncio.run(self.engine.provider.read(request))
        if not answer.resource_id:
            return None
        return Made(
            self.engine,
            self.aws_type,
            answer.resource_id,
            plain_map(answer.inputs),
            plain_map(answer.properties),
        )

    def refreshed(self) -> "Made":
        found = self.read()
        assert found is not None
        return found

    def imported(self) -> "Made":
        return Made(self.engine, self.aws_type, self.id, {}, {}).refreshed()

    def update(self, **changes: Any) -> "Made":
        new = {name: value for name, value in (self.inputs | changes).items() if value is not None}
        request = engine.UpdateRequest(
            self.engine.urn(self.aws_type, "it"),
            self.id,
            wrapped_map(self.state),
            wrapped_map(new),
            timeout=0,
            ignore_changes=[],
            preview=False,
        )
        answer = asyncio.run(self.engine.provider.update(request))
        return Made(self.engine, self.aws_type, self.id, new, plain_map(answer.properties))

    def delete(self) -> None:
        request = engine.DeleteRequest(
            self.engine.urn(self.aws_type, "it"), self.id, wrapped_map(self.state), timeout=0
        )
        asyncio.run(self.engine.provider.delete(request))


@pytest.fixture
def aws(moto_folder: Path, socket_enabled: None) -> Engine:
    return Engine(moto_folder)


def trust(service: str) -> str:
    statement = {
        "Effect": "Allow",
        "Action": "sts:AssumeRole",
        "Principal": {"Service": service},
    }
    return json.dumps({"Version": "2012-10-17", "Statement": [statement]})


@pytest.fixture
def network(aws: Engine) -> dict[str, Made]:
    """A VPC with a private subnet in each of two zones."""
    vpc = aws.create(
        "aws:ec2/vpc:Vpc", cidrBlock="10.20.0.0/16", enableDnsHostnames=True, tags={"Name": "it"}
    )
    subnets = {
        name: aws.create(
            "aws:ec2/subnet:Subnet",
            vpcId=vpc.id,
            cidrBlock=cidr,
            availabilityZoneId=zone,
            tags={"Name": name},
        )
        for name, cidr, zone in (
            ("a", "10.20.0.0/19", "use1-az4"),
            ("b", "10.20.32.0/19", "use1-az6"),
        )
    }
    return {"vpc": vpc, **subnets}


@pytest.fixture
def cluster(aws: Engine, network: dict[str, Made]) -> Made:
    role = aws.create(
        "aws:iam/role:Role", "cluster-role", assumeRolePolicy=trust("eks.amazonaws.com")
    )
    return aws.create(
        "aws:eks/cluster:Cluster",
        name=f"it-{aws.number}",
        roleArn=role["arn"],
        version="1.35",
        accessConfig={"authenticationMode": "API"},
        vpcConfig={
            "subnetIds": [network["a"].id, network["b"].id],
            "endpointPrivateAccess": True,
            "endpointPublicAccess": False,
        },
        tags={"Name": "it"},
    )


@pytest.fixture
def node_role(aws: Engine) -> Made:
    role = aws.create("aws:iam/role:Role", "node-role", assumeRolePolicy=trust("ec2.amazonaws.com"))
    aws.create(
        "aws:iam/rolePolicyAttachment:RolePolicyAttachment",
        role=role.id,
        policyArn="arn:aws:iam::aws:policy/AmazonEKSWorkerNodePolicy",
    )
    return role
