"""The emulated AWS under the real engine, with the network and node role of the real stack."""

import contextlib
import os
import signal
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path

import psutil
import pulumi
import pulumi_aws as aws
import pytest
from pulumi import automation

from components.network import Network, NetworkArgs
from components.node_role import NodeRole, NodeRoleArgs
from infra.rehearsal.aws import server
from infra.rehearsal.aws.shims import write_shims
from infra.rehearsal.aws.types.network import NatGateway
from infra.rehearsal.aws.world import World
from infra.waiting import wait_until
from tests.support.rehearsal import built_tools

pytestmark = pytest.mark.enable_socket

TAGS = {"owner": "rehearsal"}


def declare() -> None:
    network = Network(
        "network",
        NetworkArgs(
            availability_zone_ids=("use1-az4", "use1-az6"),
            cluster_name="it",
            interface_endpoints=("ecr.api",),
            nat_gateways="single",
            region="us-east-1",
            tags=TAGS,
            vpc_cidr="10.20.0.0/16",
        ),
    )
    NodeRole("nodes", NodeRoleArgs(tags=TAGS))
    pulumi.export("vpc", network.vpc_id)


def declare_a_nat_gateway() -> None:
    vpc = aws.ec2.Vpc("vpc", cidr_block="10.20.0.0/16")
    subnet = aws.ec2.Subnet("public", cidr_block="10.20.0.0/20", vpc_id=vpc.id)
    address = aws.ec2.Eip("nat", domain="vpc")
    aws.ec2.NatGateway("nat", allocation_id=address.id, subnet_id=subnet.id)


class Rehearsal:
    """A stack on a file backend whose aws provider is the emulated one."""

    def __init__(self, folder: Path, more: Mapping[str, str] | None = None) -> None:
        self.folder = folder
        program = built_tools(["pulumi"])["pulumi"]
        for name in ("backend", "pulumi"):
            (folder / name).mkdir(exist_ok=True)
        path = [str(write_shims(folder)), str(program.parent), os.environ["PATH"]]
        self.variables = {
            "PATH": os.pathsep.join(path),
            "PULUMI_BACKEND_URL": f"file://{folder}/backend",
            "PULUMI_CONFIG_PASSPHRASE": "",
            "PULUMI_DISABLE_AUTOMATIC_PLUGIN_ACQUISITION": "true",
            "PULUMI_HOME": str(folder / "pulumi"),
            "PULUMI_SKIP_UPDATE_CHECK": "true",
            **(more or {}),
        }

    def stack(self, program: object = declare) -> automation.Stack:
        stack = automation.create_or_select_stack(
            stack_name="dev",
            project_name="gangway",
            program=program,  # type: ignore[arg-type]
            opts=automation.LocalWorkspaceOptions(
                env_vars=self.variables, pulumi_home=self.variables["PULUMI_HOME"]
            ),
        )
        stack.set_config("aws:region", automation.ConfigValue("us-east-1"))
        return stack

    def providers(self) -> list[psutil.Process]:
        """The provider processes of this rehearsal, and of no other."""
        found = []
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                words = process.cmdline()
                if "infra.rehearsal.aws.serve" in words and str(self.folder) in words:
                    found.append(process)
        return found


@pytest.fixture
def rehearsal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Rehearsal]:
    made = Rehearsal(tmp_path)
    # The Automation API looks for the engine on the PATH of its own process.
    monkeypatch.setenv("PATH", made.variables["PATH"])
    server.start(tmp_path)
    yield made
    server.stop(tmp_path)


def test_what_is_up_stays_as_it_is_and_leaves_nothing_behind(rehearsal: Rehearsal) -> None:
    stack = rehearsal.stack()
    foreseen = stack.preview().change_summary
    made = stack.up().summary.resource_changes or {}

    assert made["create"] > 25
    assert foreseen == made
    assert stack.preview(expect_no_changes=True).change_summary.keys() == {"same"}
    assert stack.refresh(expect_no_changes=True).summary.result == "succeeded"
    assert (stack.up().summary.resource_changes or {}).keys() == {"same"}

    stack.destroy()

    assert World.open(rehearsal.folder).leftovers() == {}
    assert rehearsal.providers() == []


def test_a_change_by_hand_is_seen_by_refresh_and_undone_by_up(rehearsal: Rehearsal) -> None:
    stack = rehearsal.stack()
    vpc = stack.up().outputs["vpc"].value
    ec2 = World.open(rehearsal.folder)._account.client("ec2")
    ec2.create_tags(Resources=[vpc], Tags=[{"Key": "owner", "Value": "somebody"}])

    assert (stack.refresh().summary.resource_changes or {})["update"] == 1
    assert (stack.up().summary.resource_changes or {})["update"] == 1
    tags = ec2.describe_vpcs(VpcIds=[vpc])["Vpcs"][0]["Tags"]
    assert {"Key": "owner", "Value": "rehearsal"} in tags


def test_rejects_what_aws_would_with_its_words_and_no_stack_trace(rehearsal: Rehearsal) -> None:
    def taken_twice() -> None:
        policy = '{"Version": "2012-10-17", "Statement": []}'
        first = aws.iam.Role("first", name="taken", assume_role_policy=policy)
        aws.iam.Role(
            "second",
            name="taken",
            assume_role_policy=policy,
            opts=pulumi.ResourceOptions(depends_on=[first]),
        )

    with pytest.raises(automation.CommandError) as caught:
        rehearsal.stack(taken_twice).up()

    said = str(caught.value)
    assert "CreateRole: EntityAlreadyExists: Role with name taken already exists." in said
    assert "Traceback" not in said
    assert "site-packages" not in said


def test_rejects_an_unknown_property_at_preview(rehearsal: Rehearsal) -> None:
    def misspelt() -> None:
        aws.ec2.LaunchTemplate("gpu", metadata_options={"http_token": "required"})  # type: ignore[typeddict-unknown-key]

    with pytest.raises(automation.CommandError, match=r"metadataOptions\.http_token is no"):
        rehearsal.stack(misspelt).preview()


def test_a_run_whose_provider_was_killed_leaves_what_aws_would(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Rehearsal(tmp_path, {"GANGWAY_AWS_TIME_FACTOR": "1"})
    monkeypatch.setenv("PATH", slow.variables["PATH"])
    server.start(tmp_path)
    try:
        _kill_during_the_nat_gateway(slow)
        quick = Rehearsal(tmp_path).stack(declare_a_nat_gateway)
        # AWS made the gateway, and its answer was lost: it holds the address.
        with pytest.raises(automation.CommandError, match=r"Resource\.AlreadyAssociated"):
            quick.up()
        account = World.open(tmp_path)._account
        for gateway in account.client("ec2").describe_nat_gateways()["NatGateways"]:
            NatGateway().delete(account, gateway["NatGatewayId"], {})

        quick.up()
        quick.destroy()

        assert World.open(tmp_path).leftovers() == {}
    finally:
        server.stop(tmp_path)


def _kill_during_the_nat_gateway(slow: Rehearsal) -> None:
    """Kill the provider while it waits for a NAT gateway that AWS has already begun to make."""
    failure: list[Exception] = []

    def run() -> None:
        try:
            slow.stack(declare_a_nat_gateway).up()
        except automation.CommandError as error:
            failure.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    ec2 = World.open(slow.folder)._account.client("ec2")
    wait_until(
        lambda: ec2.describe_nat_gateways()["NatGateways"],
        what="a NAT gateway",
        deadline_seconds=120,
    )
    for provider in slow.providers():
        provider.send_signal(signal.SIGKILL)
    thread.join(120)
    assert failure
