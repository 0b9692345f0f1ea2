"""Order: every rule holds where it should, and each is told when it does not."""

import pytest

from infra.preview.checks import order
from infra.preview.recording import RecordedResource
from tests.support.recorded import only_sentence, recording, resource

RELEASE = "kubernetes:helm.sh/v3:Release"
NODE_GROUP = "aws:eks/nodeGroup:NodeGroup"


def addon(name: str, *after: RecordedResource) -> RecordedResource:
    return resource("aws:eks/addon:Addon", name, {"addonName": name}, after=after)


GATEWAY = resource("aws:ec2/internetGateway:InternetGateway", "way-out")
NAT = resource("aws:ec2/natGateway:NatGateway", "nat", after=[GATEWAY])
LOGS = resource("aws:cloudwatch/logGroup:LogGroup", "logs", {"name": "/aws/eks/x/cluster"})
CLUSTER = resource("eks:index:Cluster", "cluster", custom=False, after=[LOGS, NAT])
CNI = addon("vpc-cni", CLUSTER)
SYSTEM = resource(NODE_GROUP, "system", after=[CNI])
DNS = addon("coredns", SYSTEM)
VOLCANO = resource(RELEASE, "volcano", {"chart": "volcano"}, after=[DNS])
GATE = resource("kubernetes:batch/v1:Job", "gate", after=[VOLCANO])
QUEUE = resource("kubernetes:scheduling.volcano.sh/v1beta1:Queue", "queue", after=[GATE])
IDENTITY = resource("aws:eks/podIdentityAssociation:PodIdentityAssociation", "trainer")
JOB = resource("kubernetes:batch.volcano.sh/v1alpha1:Job", "job", after=[QUEUE, IDENTITY])
WHOLE = (
    GATEWAY, NAT, LOGS, CLUSTER, CNI, SYSTEM, DNS, VOLCANO, GATE, QUEUE, IDENTITY, JOB,
)  # fmt: skip


def test_the_whole_chain_is_fine() -> None:
    assert only_sentence(order.CHECK, "ok", recording(*WHOLE)) == order.CHECK.claim


@pytest.mark.parametrize(
    ("late", "sentence"),
    [
        pytest.param(NAT, "does not wait for aws.ec2.InternetGateway", id="nat"),
        pytest.param(CLUSTER, 'does not wait for aws.cloudwatch.LogGroup "logs"', id="logs"),
        pytest.param(SYSTEM, 'does not wait for aws.eks.Addon "vpc-cni"', id="nodes"),
        pytest.param(DNS, "hangs for 20 minutes", id="coredns"),
        pytest.param(VOLCANO, 'does not wait for aws.eks.Addon "coredns"', id="release"),
        pytest.param(GATE, "the admission webhook may not answer yet", id="gate"),
        pytest.param(QUEUE, 'does not wait for Release "volcano"', id="queue"),
        pytest.param(JOB, 'Job "job" does not wait for Queue "queue"', id="job"),
    ],
)
def test_rejects_a_part_that_does_not_wait(late: RecordedResource, sentence: str) -> None:
    inputs = late.inputs
    freed = resource(late.type, late.name, inputs, custom=late.custom)
    if late is GATE:
        freed = resource(QUEUE.type, QUEUE.name, after=[VOLCANO])
        late = QUEUE
    rest = [item for item in WHOLE if item is not late]
    said = [item.sentence for item in order.CHECK.verdicts(recording(*rest, freed), None)]
    assert any(sentence in item for item in said), said


def test_rejects_a_job_that_may_start_without_its_role() -> None:
    job = resource(JOB.type, JOB.name, after=[QUEUE])
    rest = [item for item in WHOLE if item is not JOB]
    said = only_sentence(order.CHECK, "refused", recording(*rest, job))
    assert "pods that start before it run without their role" in said


def test_tainted_nodes_do_not_count_as_system_nodes() -> None:
    taint = {"taints": [{"key": "nvidia.com/gpu"}]}
    gpu = resource(NODE_GROUP, "gpu", taint, after=[CNI])
    dns = addon("coredns", gpu)
    rest = [item for item in WHOLE if item is not DNS]
    said = [item.sentence for item in order.CHECK.verdicts(recording(*rest, gpu, dns), None)]
    assert any('"coredns" does not wait for aws.eks.NodeGroup "system"' in item for item in said)
