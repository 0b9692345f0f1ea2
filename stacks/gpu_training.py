"""The one stack: gang-scheduled GPU training on EKS, every part in its order.

Order of creation: network, cluster, the add-ons that nodes need, nodes, the add-ons that need
nodes, controllers, readiness gate, queues, identity, job. Destruction is the exact reverse, so
the job frees its GPUs first and the network goes last.
"""

from collections.abc import Mapping
from typing import Any

import pulumi

from components.eks_cluster import EksCluster
from components.node_role import NodeRole, NodeRoleArgs
from components.results_bucket import ResultsBucket
from components.training_job import TrainingJob
from stacks import aws_layer, kubernetes_layer
from stacks.plan import Plan, plan_for
from stacks.settings import Settings

Exports = Mapping[str, pulumi.Input[Any]]


def deploy(settings: Settings) -> Exports:
    """Declare every resource of the environment and return the stack's exports."""
    plan = plan_for(settings)
    network = aws_layer.network(plan)
    cluster = aws_layer.cluster(plan, network)
    node_addons = aws_layer.node_addons(plan, cluster)
    role = NodeRole("nodes", NodeRoleArgs(tags=plan.tags))
    system_nodes = aws_layer.system_nodes(plan, cluster, role, network, node_addons)
    gpu_nodes = aws_layer.gpu_nodes(plan, cluster, role, network, node_addons)
    cluster_addons = aws_layer.cluster_addons(plan, cluster, system_nodes)
    provider = kubernetes_layer.cluster_provider(cluster)
    volcano = kubernetes_layer.volcano(plan, provider, [cluster_addons])
    plugin = kubernetes_layer.device_plugin(plan, provider, [cluster_addons])
    # After the GPU groups, so that at the end it is gone before them and cannot scale them up.
    autoscaler = kubernetes_layer.autoscaler(plan, provider, cluster, [cluster_addons, *gpu_nodes])
    queues = kubernetes_layer.queues(plan, provider, volcano)
    bucket = aws_layer.bucket(plan)
    identity = aws_layer.identity(plan, cluster, bucket, [node_addons])
    job = kubernetes_layer.training_job(
        plan,
        provider,
        kubernetes_layer.job_provider(cluster),
        queues[settings.training_job.queue],
        bucket,
        identity,
        [cluster_addons, *gpu_nodes],
        [volcano, plugin, *autoscaler],
    )
    return _exports(plan, cluster, bucket, job)


def _exports(plan: Plan, cluster: EksCluster, bucket: ResultsBucket, job: TrainingJob) -> Exports:
    """What other programs read, and the commands that a user runs next."""
    namespace = plan.settings.training_job.namespace
    return {
        "clusterName": cluster.cluster_name,
        "kubeconfig": cluster.kubeconfig_json,
        "kubeconfigCommand": pulumi.Output.concat(
            f"aws eks update-kubeconfig --region {plan.settings.region} --name ",
            cluster.cluster_name,
        ),
        "queueName": plan.settings.training_job.queue,
        "jobName": job.job_name,
        "resultsBucket": bucket.bucket_name,
        "resultsCommand": pulumi.Output.concat("gangway results --bucket ", bucket.bucket_name),
        # Without --watch, which kubectl refuses for several kinds at once.
        "statusCommand": f"kubectl get vcjob,podgroup,pod --namespace {namespace}",
    }
