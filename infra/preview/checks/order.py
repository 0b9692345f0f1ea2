"""What must exist before what, so that `up` does not hang and `destroy` leaves nothing."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from infra.preview.checks.verdict import Check, Finding, refused
from infra.preview.checks.walk import NODE_GROUP, RELEASE, VOLCANO_JOB, VOLCANO_QUEUE, title
from infra.preview.graph import Graph
from infra.preview.recording import RecordedResource, Recording
from stacks.settings import Settings

Select = Callable[[RecordedResource], bool]

ADDONS_BEFORE_NODES: Final = ("eks-pod-identity-agent", "kube-proxy", "vpc-cni")
ADDONS_AFTER_NODES: Final = ("coredns", "metrics-server")


@dataclass(frozen=True, kw_only=True, slots=True)
class Rule:
    """`later` waits for all (or any) of `earlier`, where both exist; `why` ends the sentence."""

    later: Select
    earlier: Select
    need: Literal["all", "any"]
    why: str


def _type(token: str) -> Select:
    return lambda resource: resource.type == token


def _addon(*names: str) -> Select:
    return lambda resource: (
        resource.type == "aws:eks/addon:Addon" and resource.inputs.get("addonName") in names
    )


def _system_nodes(resource: RecordedResource) -> bool:
    return resource.type == NODE_GROUP and not resource.inputs.get("taints")


def _control_plane(resource: RecordedResource) -> bool:
    return resource.type in ("eks:index:Cluster", "aws:eks/cluster:Cluster")


def _control_plane_log(resource: RecordedResource) -> bool:
    name = str(resource.inputs.get("name", ""))
    return resource.type == "aws:cloudwatch/logGroup:LogGroup" and name.startswith("/aws/eks/")


def _volcano(resource: RecordedResource) -> bool:
    return resource.type == RELEASE and "volcano" in str(resource.inputs.get("chart", ""))


def _gate(resource: RecordedResource) -> bool:
    return resource.type == "kubernetes:batch/v1:Job"


RULES: Final = (
    Rule(
        later=_type("aws:ec2/natGateway:NatGateway"),
        earlier=_type("aws:ec2/internetGateway:InternetGateway"),
        need="all",
        why="a NAT gateway needs the internet gateway attached",
    ),
    Rule(
        later=_control_plane,
        earlier=_control_plane_log,
        need="all",
        why="else EKS makes the log group itself, without our retention",
    ),
    Rule(
        later=_type(NODE_GROUP),
        earlier=_type("aws:ec2/natGateway:NatGateway"),
        need="all",
        why="nodes without a way out do not join",
    ),
    Rule(
        later=_type(NODE_GROUP),
        earlier=_addon(*ADDONS_BEFORE_NODES),
        need="all",
        why="nodes stay NotReady without it",
    ),
    Rule(
        later=_addon(*ADDONS_AFTER_NODES),
        earlier=_system_nodes,
        need="any",
        why="without a node to run on, its creation hangs for 20 minutes",
    ),
    Rule(
        later=_type(RELEASE),
        earlier=_system_nodes,
        need="any",
        why="its pods have nowhere to run and the release times out",
    ),
    Rule(
        later=_type(RELEASE),
        earlier=_addon("coredns"),
        need="all",
        why="its pods find no service by name",
    ),
    Rule(
        later=_type(VOLCANO_QUEUE),
        earlier=_volcano,
        need="all",
        why="its kind and webhook come with the release, and must outlive it on destroy",
    ),
    Rule(
        later=_type(VOLCANO_QUEUE),
        earlier=_gate,
        need="any",
        why="the admission webhook may not answer yet",
    ),
    Rule(
        later=_type(VOLCANO_JOB),
        earlier=_type(VOLCANO_QUEUE),
        need="any",
        why="a job without its queue is refused",
    ),
    Rule(
        later=_type(VOLCANO_JOB),
        earlier=_type("aws:eks/podIdentityAssociation:PodIdentityAssociation"),
        need="any",
        why="pods that start before it run without their role",
    ),
)


def find(recording: Recording, _settings: Settings | None) -> Iterator[Finding]:
    """A refusal for each pair in the wrong, or no, order."""
    graph = Graph(recording)
    for rule in RULES:
        earlier = [resource for resource in recording if rule.earlier(resource)]
        for resource in recording:
            if earlier and rule.later(resource):
                yield from _rule_findings(graph, rule, resource, earlier)


def _rule_findings(
    graph: Graph, rule: Rule, resource: RecordedResource, earlier: list[RecordedResource]
) -> Iterator[Finding]:
    missing = [other for other in earlier if not graph.waits_for(resource.urn, other.urn)]
    if rule.need == "all" and missing:
        names = ", ".join(title(other) for other in missing)
        yield refused(f"{title(resource)} does not wait for {names}: {rule.why}")
    if rule.need == "any" and len(missing) == len(earlier):
        names = " or ".join(title(other) for other in missing)
        yield refused(f"{title(resource)} does not wait for {names}: {rule.why}")


CHECK = Check(
    name="order",
    claim="network, cluster, add-ons, nodes, controllers, queue, identity, job: each waits for "
    "what it needs, and destroy is the reverse",
    find=find,
)
