"""Prove that the suite bites: undo one hardening or ordering line at a time, see a test fail.

Run by `make mutants`. Each mutant is made in a copy of the tree, so that the work tree is never
touched, and tried against the tests named beside it; one that no test notices ends the run with
exit code 1.
"""

import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import track

ROOT = Path(__file__).resolve().parents[2]
COPIED = ("components", "infra", "stacks", "tests", "trainer")
COPIED_FILES = (
    "Pulumi.yaml",
    "Pulumi.dev.yaml",
    "Pulumi.prod.yaml",
    "README.md",
    "constraints.txt",
    "pyproject.toml",
    "requirements.txt",
    "Makefile",
)
STACK_TESTS = "tests/stacks/test_gpu_training.py"
CONTRACTS = "tests/test_contracts.py"
WORKERS = 2
DEADLINE_SECONDS = 300


@dataclass(frozen=True, kw_only=True, slots=True)
class Mutant:
    """`old`, which must stand exactly once in `path`, becomes `new`; `tests` must notice."""

    path: str
    old: str
    new: str
    tests: str
    what: str


def _component(module: str, old: str, new: str, what: str) -> Mutant:
    return Mutant(
        path=f"components/{module}.py",
        old=old,
        new=new,
        tests=f"tests/components/test_{module}.py",
        what=what,
    )


MUTANTS = (
    _component("network", "egress=[],", "", "default security group left open"),
    _component("network", "enable_dns_support=True,", "", "VPC without DNS"),
    _component("eks_cluster", "enable_key_rotation=True,", "", "KMS key without rotation"),
    _component("eks_cluster", "encryption_config_key_arn=key.arn,", "", "Secrets not encrypted"),
    _component(
        "eks_cluster",
        "endpoint_public_access=bool(args.public_access_cidrs),",
        "endpoint_public_access=True,",
        "API server public without a list of networks",
    ),
    _component(
        "eks_cluster",
        "enabled_cluster_log_types=list(LOG_TYPES),",
        "",
        "control plane without logs",
    ),
    _component(
        "eks_cluster",
        'upgrade_policy=aws.eks.ClusterUpgradePolicyArgs(support_type="STANDARD"),',
        "",
        "extended support bought silently",
    ),
    _component(
        "eks_cluster",
        "skip_default_node_group=True,",
        "",
        "a second node group nobody asked for",
    ),
    _component(
        "node_group",
        "http_put_response_hop_limit=1,",
        "http_put_response_hop_limit=2,",
        "pods reach the metadata service",
    ),
    _component("node_group", 'http_tokens="required",', "", "IMDSv1 answers"),
    _component("node_group", 'encrypted="true",', "", "node disks not encrypted"),
    _component(
        "node_group",
        'ignore_changes=["scalingConfig.desiredSize"]',
        "",
        "`up` resizes what the autoscaler sized",
    ),
    _component(
        "node_group",
        "node_repair_config=aws.eks.NodeGroupNodeRepairConfigArgs(enabled=True),",
        "",
        "broken nodes stay",
    ),
    _component(
        "node_group",
        "node_group_name_prefix=name_prefix(name),",
        "node_group_name=name,",
        "a replacement meets its own name",
    ),
    _component("cluster_addons", "preserve=False,", "", "add-ons outlive the stack"),
    _component(
        "cluster_autoscaler",
        '"Condition": {"StringEquals": {f"{OWNER_TAG}{cluster_name}": "owned"}},',
        "",
        "autoscaler may resize every group of the account",
    ),
    _component(
        "cluster_autoscaler",
        "opts=pulumi.ResourceOptions(parent=self, depends_on=[association, role_policy]),",
        "opts=pulumi.ResourceOptions(parent=self),",
        "autoscaler starts without its identity",
    ),
    _component("results_bucket", "block_public_policy=True,", "", "bucket may be made public"),
    _component("results_bucket", "restrict_public_buckets=True,", "", "public policies count"),
    _component("results_bucket", '"aws:SecureTransport": "false"', "", "plain HTTP accepted"),
    _component(
        "trainer_identity",
        '"Resource": f"{bucket_arn}/{prefix}*",',
        '"Resource": f"{bucket_arn}/*",',
        "trainer may write everywhere",
    ),
    _component("pod_security", '"runAsNonRoot": True,', "", "pods may run as root"),
    _component(
        "pod_security",
        '"seccompProfile": {"type": "RuntimeDefault"},',
        "",
        "pods without seccomp profile",
    ),
    _component(
        "pod_security", '"allowPrivilegeEscalation": False, ', "", "pods may gain privileges"
    ),
    _component(
        "nvidia_device_plugin",
        '"tolerations": [taint.toleration() for taint in args.taints],',
        "",
        "device plugin kept off by taints",
    ),
    _component(
        "volcano",
        "pulumi.ResourceOptions(parent=self, depends_on=[release]),",
        "pulumi.ResourceOptions(parent=self),",
        "readiness gate does not wait for the release",
    ),
    _component(
        "volcano_values",
        'actions = ["allocate", "backfill"]',
        'actions = ["enqueue", "allocate", "backfill"]',
        "gang never scales from zero",
    ),
    _component(
        "volcano_values",
        '        {"name": "gang", "enablePreemptable": False},\n',
        "",
        "gang plugin gone",
    ),
    _component("training_job", "delete_before_replace=True,", "", "new job deleted with the old"),
    _component(
        "training_job",
        '"minAvailable": sum(counts.values()),',
        '"minAvailable": 1,',
        "one worker starts alone",
    ),
    _component("gang", '{"action": "RestartJob", "event": "PodEvicted"},', "", "spot ends it"),
    _component(
        "training_pod",
        '"schedulerName": SCHEDULER_NAME,',
        "",
        "pods go to the default scheduler",
    ),
    _component("training_pod", '{SAFE_TO_EVICT: "false"}', "{}", "scale-down evicts a worker"),
    _component("training_pod", '"restartPolicy": "Never",', "", "the kubelet restarts one rank"),
    _component("charts", "atomic=True,", "", "a failed install blocks the next"),
    _component(
        "volcano",
        'pod_security_level="baseline",',
        'pod_security_level="privileged",',
        "Volcano's namespace admits any pod",
    ),
    _component(
        "charts",
        '"labels": pod_security.namespace_labels(pod_security_level)',
        "",
        "a release's namespace admits any pod",
    ),
    _component(
        "training_job",
        "depends_on=[*args.job_after, *needed],",
        "depends_on=needed,",
        "the job waits for no controller",
    ),
    _component(
        "cluster_autoscaler",
        '"bypassed-scheduler-names": volcano.SCHEDULER_NAME,',
        "",
        "a gang waits half a minute, or for ever, for its nodes",
    ),
    _component(
        "volcano",
        "self.ready += whole_gangs",
        "whole_gangs",
        "the job does not wait until gangs are shown whole",
    ),
    _component(
        "volcano",
        'proof={"values": values, "version": args.chart.pin.version},',
        "proof={},",
        "an upgrade is not proven again",
    ),
    _component(
        "volcano_values",
        '"image_pull_policy": "IfNotPresent",',
        "",
        "every restart depends on the registry",
    ),
    _component(
        "volcano_values",
        '"leader_elect_enable": controller_replicas > 1,',
        '"leader_elect_enable": False,',
        "two schedulers bind at once",
    ),
    _component(
        "volcano_values",
        '"default_ns": {gpu.NODE_ROLE_LABEL: gpu.SYSTEM_NODE_ROLE},',
        "",
        "Volcano lands on GPU nodes or nowhere",
    ),
    _component(
        "volcano_values",
        '        {"name": "predicates"},\n',
        "",
        "taints and selectors ignored",
    ),
    _component(
        "volcano_values",
        "    if capacity_plugin and queue_hierarchy:\n",
        "    if capacity_plugin:\n",
        "queues larger than the fleet of the moment stop everything",
    ),
    _component(
        "readiness_gate",
        '"--dry-run=server", ',
        "",
        "the gate leaves a queue behind",
    ),
    _component(
        "readiness_gate",
        "depends_on=[account, binding, probe],",
        "",
        "the gate starts without its permission",
    ),
    _component(
        "queue",
        '"pulumi.com/waitFor": WAIT_FOR_OPEN',
        "",
        "a job meets a queue that is not open",
    ),
    _component(
        "queue",
        '"reclaimable": args.reclaimable,',
        "",
        "a queue that lends never gets back",
    ),
    _component(
        "training_job",
        'replace_on_changes=["metadata.annotations"],',
        "",
        "a changed image is an update that Volcano refuses",
    ),
    _component(
        "training_job",
        "depends_on=[*args.job_after, *needed],",
        "depends_on=list(args.job_after),",
        "pods start before their account and files",
    ),
    _component(
        "training_job",
        "immutable=True,",
        "",
        "scripts change under running pods",
    ),
    _component(
        "gang",
        '{"action": "RestartJob", "event": "PodFailed"},',
        "",
        "one lost rank hangs the others",
    ),
    _component(
        "gang",
        '{"action": "AbortJob", "event": "PodPending", "timeout":',
        '{"action": "AbortJob", "event": "PodUnknown", "timeout":',
        "a gang that cannot start holds its GPUs",
    ),
    _component(
        "results_bucket",
        "opts=pulumi.ResourceOptions(parent=self, depends_on=[versioned]),",
        "opts=pulumi.ResourceOptions(parent=self),",
        "lifecycle before versioning",
    ),
    _component(
        "results_bucket",
        "opts=pulumi.ResourceOptions(parent=self, depends_on=[closed]),",
        "opts=pulumi.ResourceOptions(parent=self),",
        "policy beside the access block",
    ),
    _component(
        "results_bucket",
        "bucket.bucket, closed.id, encrypted.id, owned.id, policy.id",
        "bucket.bucket",
        "written to before it is closed",
    ),
    _component(
        "results_bucket",
        '"NumericLessThan": {"s3:TlsVersion": OLDEST_TLS}',
        '"NumericLessThan": {"s3:TlsVersion": "1.0"}',
        "old TLS accepted",
    ),
    _component(
        "trainer_identity",
        "opts=pulumi.ResourceOptions(parent=self, depends_on=[policy]),",
        "opts=pulumi.ResourceOptions(parent=self),",
        "pods get a role that may nothing",
    ),
    _component(
        "trainer_identity",
        '"Condition": {"StringLike": {"s3:prefix": checkpoints}},',
        "",
        "trainer may list the whole bucket",
    ),
    _component(
        "identity",
        '"aws:RequestTag/kubernetes-namespace": namespace,',
        "",
        "an account of the same name elsewhere takes the role",
    ),
    _component(
        "nvidia_device_plugin",
        '"nodeSelector": {gpu.GPU_PRESENT_LABEL: "true"},',
        "",
        "the plugin runs, and fails, on CPU nodes",
    ),
    _component(
        "charts",
        "wait_for_jobs=True,",
        "",
        "a release is done before its install hook",
    ),
    Mutant(
        path="stacks/kubernetes_layer.py",
        old="after(*volcano.ready, providers=[provider]),",
        new="after(providers=[provider]),",
        tests=STACK_TESTS,
        what="queue does not wait for the webhooks",
    ),
    Mutant(
        path="stacks/gpu_training.py",
        old="[volcano, plugin, *autoscaler],",
        new="[],",
        tests=STACK_TESTS,
        what="job waits for nothing",
    ),
    Mutant(
        path="stacks/gpu_training.py",
        old="volcano = kubernetes_layer.volcano(plan, provider, [cluster_addons])",
        new="volcano = kubernetes_layer.volcano(plan, provider, [])",
        tests=STACK_TESTS,
        what="Volcano does not wait for nodes and DNS",
    ),
    Mutant(
        path="stacks/aws_layer.py",
        old='return _addons("cluster-addons", plan, cluster, specs, after(system_nodes))',
        new='return _addons("cluster-addons", plan, cluster, specs, pulumi.ResourceOptions())',
        tests=STACK_TESTS,
        what="CoreDNS beside missing nodes",
    ),
    Mutant(
        path="components/gpu.py",
        old='Taint(key=GPU_RESOURCE, value="present", effect="NoSchedule")',
        new='Taint(key=GPU_RESOURCE, value="true", effect="NoSchedule")',
        tests="tests/components/test_gpu.py",
        what="feature discovery's worker kept off",
    ),
    Mutant(
        path="stacks/rules.py",
        old='refuse(f"{value!r} changes under you',
        new='print(f"{value!r} changes under you',
        tests="tests/stacks/test_rules.py",
        what="images named latest accepted",
    ),
)


@contextmanager
def _copy_of_the_tree() -> Iterator[Path]:
    with tempfile.TemporaryDirectory(prefix="gangway-mutant-") as folder:
        for name in COPIED:
            shutil.copytree(
                ROOT / name,
                Path(folder, name),
                ignore=shutil.ignore_patterns("__pycache__", "rehearsal"),
            )
        for name in COPIED_FILES:
            shutil.copy(ROOT / name, folder)
        yield Path(folder)


def is_current(mutant: Mutant) -> bool:
    """Whether the code that the mutant undoes is still there, once."""
    return (ROOT / mutant.path).read_text(encoding="utf-8").count(mutant.old) == 1


def passes_unchanged() -> bool:
    """Whether the tests pass on a copy of the tree; else every mutant would seem caught."""
    with _copy_of_the_tree() as tree:
        return _exit_code(tree, *sorted({mutant.tests for mutant in MUTANTS})) == 0


def is_caught(mutant: Mutant) -> bool:
    """Whether a test fails with the mutant in place."""
    original = (ROOT / mutant.path).read_text(encoding="utf-8")
    with _copy_of_the_tree() as tree:
        (tree / mutant.path).write_text(original.replace(mutant.old, mutant.new), encoding="utf-8")
        return _exit_code(tree, mutant.tests) == 1


def _exit_code(tree: Path, *tests: str) -> int:
    """Pytest's exit code; 1 means that a test failed."""
    run = subprocess.run(  # noqa: S603 - our own interpreter and tests
        [sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *tests],
        cwd=tree,
        check=False,
        capture_output=True,
        timeout=DEADLINE_SECONDS,
    )
    return run.returncode


def main() -> int:
    """Try every mutant; say which survived, or which code is gone that they would undo."""
    console = Console()
    stale = [mutant for mutant in MUTANTS if not is_current(mutant)]
    for mutant in stale:
        console.print(f"{mutant.path} does not hold {mutant.old!r} once; correct the mutant")
    if stale:
        return 1
    if not passes_unchanged():
        console.print("the tests fail without any mutant; run make test first")
        return 1
    with ThreadPoolExecutor(WORKERS) as pool:
        results = list(
            track(
                pool.map(is_caught, MUTANTS),
                description="Mutants",
                total=len(MUTANTS),
                console=console,
            )
        )
    for mutant, caught in zip(MUTANTS, results, strict=True):
        console.print(f"{'caught  ' if caught else 'SURVIVED'} {mutant.path}: {mutant.what}")
    survivors = results.count(False)
    console.print(f"{len(MUTANTS) - survivors} of {len(MUTANTS)} mutants caught")
    return 1 if survivors else 0


if __name__ == "__main__":
    sys.exit(main())
