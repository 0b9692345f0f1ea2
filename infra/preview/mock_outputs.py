"""What AWS and Kubernetes would answer: ids, ARNs and nested outputs for each known type.

Only types listed here exist for the recorder, so that a typing error in a token, or a resource
nobody thought about, is an error with a name and not an empty answer. Every answer is a pure
function of type, name and inputs.
"""

import base64
import hashlib
import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

ACCOUNT_ID: Final = "111122223333"
"""AWS's own documentation account."""

CERTIFICATE: Final = base64.b64encode(
    b"-----BEGIN CERTIFICATE-----\nrecorded\n-----END CERTIFICATE-----\n"
).decode()

Data = dict[str, Any]


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """One registration to be answered."""

    type: str
    name: str
    inputs: Data
    region: str
    urn: str

    def digest(self, length: int) -> str:
        """Hexadecimal digits that depend on type and name alone."""
        text = f"{self.type}/{self.name}"
        return hashlib.sha256(text.encode()).hexdigest()[:length]

    def generated_name(self, key: str) -> str:
        """The name given under `key`, one made from its prefix, or Pulumi's own kind of name."""
        given = self.inputs.get(key)
        prefix = self.inputs.get(f"{key}Prefix")
        return str(given or f"{prefix or self.name + '-'}{self.digest(7)}")

    def arn(self, service: str, resource: str, *, regional: bool = True) -> str:
        """An ARN in the documentation account."""
        region = self.region if regional else ""
        return f"arn:aws:{service}:{region}:{ACCOUNT_ID}:{resource}"


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """The physical id and the outputs beyond the inputs."""

    id: str
    outputs: Data


def _ec2(prefix: str, arn_kind: str, more: Callable[[Asked, str], Data] | None = None) -> Any:
    def answer(asked: Asked) -> Answer:
        id_ = f"{prefix}-{asked.digest(17)}"
        outputs = {"arn": asked.arn("ec2", f"{arn_kind}/{id_}"), "ownerId": ACCOUNT_ID}
        return Answer(id=id_, outputs=outputs | (more(asked, id_) if more else {}))

    return answer


def _vpc(asked: Asked, _id: str) -> Data:
    return {
        "defaultNetworkAclId": f"acl-{asked.digest(17)}",
        "defaultRouteTableId": f"rtb-{asked.digest(17)}",
        "defaultSecurityGroupId": f"sg-{asked.digest(17)}",
        "mainRouteTableId": f"rtb-{asked.digest(17)}",
    }


def _address(asked: Asked, id_: str) -> Data:
    last = int(asked.digest(2), 16)
    return {"allocationId": id_, "publicIp": f"203.0.113.{last}"}


def _subnet(asked: Asked, _id: str) -> Data:
    return {"availabilityZone": asked.inputs.get("availabilityZone", f"{asked.region}a")}


def _launch_template(asked: Asked, _id: str) -> Data:
    return {"defaultVersion": 1, "latestVersion": 1, "name": asked.generated_name("name")}


def _plain_id(asked: Asked) -> Answer:
    return Answer(id=f"{asked.name}-{asked.digest(7)}", outputs={})


def _named(service: str, arn_kind: str, key: str = "name", *, regional: bool = True) -> Any:
    def answer(asked: Asked) -> Answer:
        name = asked.generated_name(key)
        separator = ":" if arn_kind.endswith(":") else "/"
        resource = f"{arn_kind.rstrip(':/')}{separator}{name}" if arn_kind else name
        arn = asked.arn(service, resource, regional=regional)
        return Answer(id=name, outputs={key: name, "arn": arn})

    return answer


def _iam_policy(asked: Asked) -> Answer:
    name = asked.generated_name("name")
    arn = asked.arn("iam", f"policy/{name}", regional=False)
    return Answer(id=arn, outputs={"arn": arn, "name": name})


def _kms_key(asked: Asked) -> Answer:
    digits = asked.digest(32)
    parts = (digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:])
    key_id = "-".join(parts)
    return Answer(id=key_id, outputs={"keyId": key_id, "arn": asked.arn("kms", f"key/{key_id}")})


def _kms_alias(asked: Asked) -> Answer:
    name = str(asked.inputs.get("name") or f"alias/{asked.name}-{asked.digest(7)}")
    return Answer(id=name, outputs={"name": name, "arn": asked.arn("kms", name)})


def _bucket(asked: Asked) -> Answer:
    name = asked.generated_name("bucket")
    outputs = {
        "arn": f"arn:aws:s3:::{name}",
        "bucket": name,
        "bucketDomainName": f"{name}.s3.amazonaws.com",
        "bucketRegionalDomainName": f"{name}.s3.{asked.region}.amazonaws.com",
    }
    return Answer(id=name, outputs=outputs)


def _of_bucket(asked: Asked) -> Answer:
    return Answer(id=str(asked.inputs.get("bucket", "")), outputs={})


def _node_group(asked: Asked) -> Answer:
    cluster = asked.inputs.get("clusterName", "")
    name = asked.generated_name("nodeGroupName")
    group = f"eks-{name}-{asked.digest(8)}"
    outputs = {
        "arn": asked.arn("eks", f"nodegroup/{cluster}/{name}/{asked.digest(8)}"),
        "nodeGroupName": name,
        "resources": [{"autoscalingGroups": [{"name": group}], "remoteAccessSecurityGroupId": ""}],
        "status": "ACTIVE",
    }
    return Answer(id=f"{cluster}:{name}", outputs=outputs)


def _addon(asked: Asked) -> Answer:
    cluster, addon = asked.inputs.get("clusterName", ""), asked.inputs.get("addonName", "")
    return Answer(
        id=f"{cluster}:{addon}", outputs={"arn": asked.arn("eks", f"addon/{cluster}/{addon}")}
    )


def _pod_identity(asked: Asked) -> Answer:
    cluster = asked.inputs.get("clusterName", "")
    id_ = f"a-{asked.digest(17)}"
    arn = asked.arn("eks", f"podidentityassociation/{cluster}/{id_}")
    return Answer(id=id_, outputs={"associationArn": arn, "associationId": id_})


def _access_entry(asked: Asked) -> Answer:
    cluster, principal = asked.inputs.get("clusterName", ""), asked.inputs.get("principalArn", "")
    arn = asked.arn("eks", f"access-entry/{cluster}/{asked.digest(8)}")
    return Answer(id=f"{cluster}:{principal}", outputs={"accessEntryArn": arn})


def control_plane(asked: Asked) -> Answer:
    """An `aws.eks.Cluster`: endpoint, authority, issuer, the security group EKS makes."""
    name = str(asked.inputs.get("name") or f"{asked.name}-{asked.digest(7)}")
    host = f"{asked.digest(32).upper()}.gr7.{asked.region}.eks.amazonaws.com"
    issuer = f"https://oidc.eks.{asked.region}.amazonaws.com/id/{asked.digest(32).upper()}"
    outputs = {
        "arn": asked.arn("eks", f"cluster/{name}"),
        "certificateAuthorities": [{"data": CERTIFICATE}],
        "certificateAuthority": {"data": CERTIFICATE},
        "endpoint": f"https://{host}",
        "identities": [{"oidcs": [{"issuer": issuer}]}],
        "name": name,
        "status": "ACTIVE",
        "vpcConfig": {"clusterSecurityGroupId": f"sg-{asked.digest(17)}"},
    }
    return Answer(id=name, outputs=outputs)


def kubeconfig(cluster: Answer, region: str) -> Data:
    """The kubeconfig that pulumi-eks makes for a control plane."""
    name, arguments = cluster.id, ["--region", region, "eks", "get-token", "--cluster-name"]
    command = {
        "apiVersion": "client.authentication.k8s.io/v1beta1",
        "args": [*arguments, cluster.id, "--output", "json"],
        "command": "aws",
    }
    server = {
        "certificate-authority-data": CERTIFICATE,
        "server": cluster.outputs["endpoint"],
    }
    return {
        "apiVersion": "v1",
        "clusters": [{"cluster": server, "name": name}],
        "contexts": [{"context": {"cluster": name, "user": "aws"}, "name": "aws"}],
        "current-context": "aws",
        "kind": "Config",
        "users": [{"name": "aws", "user": {"exec": command}}],
    }


def kubeconfig_json(cluster: Answer, region: str) -> str:
    """The same kubeconfig as text."""
    return json.dumps(kubeconfig(cluster, region), sort_keys=True)


def _topic(asked: Asked) -> Answer:
    arn = asked.arn("sns", asked.generated_name("name"))
    return Answer(id=arn, outputs={"arn": arn})


AWS_ANSWERS: Final[dict[str, Callable[[Asked], Answer]]] = {
    "aws:autoscaling/tag:Tag": _plain_id,
    "aws:budgets/budget:Budget": _named("budgets", "budget", regional=False),
    "aws:cloudwatch/logGroup:LogGroup": _named("logs", "log-group:"),
    "aws:cloudwatch/metricAlarm:MetricAlarm": _named("cloudwatch", "alarm:"),
    "aws:ec2/defaultSecurityGroup:DefaultSecurityGroup": _ec2("sg", "security-group"),
    "aws:ec2/eip:Eip": _ec2("eipalloc", "elastic-ip", _address),
    "aws:ec2/flowLog:FlowLog": _ec2("fl", "vpc-flow-log"),
    "aws:ec2/internetGateway:InternetGateway": _ec2("igw", "internet-gateway"),
    "aws:ec2/launchTemplate:LaunchTemplate": _ec2("lt", "launch-template", _launch_template),
    "aws:ec2/natGateway:NatGateway": _ec2("nat", "natgateway", _address),
    "aws:ec2/route:Route": _plain_id,
    "aws:ec2/routeTable:RouteTable": _ec2("rtb", "route-table"),
    "aws:ec2/routeTableAssociation:RouteTableAssociation": _ec2("rtbassoc", "association"),
    "aws:ec2/securityGroup:SecurityGroup": _ec2("sg", "security-group"),
    "aws:ec2/securityGroupRule:SecurityGroupRule": _ec2("sgrule", "security-group-rule"),
    "aws:ec2/subnet:Subnet": _ec2("subnet", "subnet", _subnet),
    "aws:ec2/vpc:Vpc": _ec2("vpc", "vpc", _vpc),
    "aws:ec2/vpcEndpoint:VpcEndpoint": _ec2("vpce", "vpc-endpoint"),
    "aws:ec2/vpcEndpointRouteTableAssociation:VpcEndpointRouteTableAssociation": _plain_id,
    "aws:eks/accessEntry:AccessEntry": _access_entry,
    "aws:eks/accessPolicyAssociation:AccessPolicyAssociation": _plain_id,
    "aws:eks/addon:Addon": _addon,
    "aws:eks/cluster:Cluster": control_plane,
    "aws:eks/nodeGroup:NodeGroup": _node_group,
    "aws:eks/podIdentityAssociation:PodIdentityAssociation": _pod_identity,
    "aws:iam/instanceProfile:InstanceProfile": _named("iam", "instance-profile", regional=False),
    "aws:iam/policy:Policy": _iam_policy,
    "aws:iam/role:Role": _named("iam", "role", regional=False),
    "aws:iam/rolePolicy:RolePolicy": _plain_id,
    "aws:iam/rolePolicyAttachment:RolePolicyAttachment": _plain_id,
    "aws:kms/alias:Alias": _kms_alias,
    "aws:kms/key:Key": _kms_key,
    "aws:kms/keyPolicy:KeyPolicy": _plain_id,
    "aws:s3/bucket:Bucket": _bucket,
    "aws:s3/bucketLifecycleConfiguration:BucketLifecycleConfiguration": _of_bucket,
    "aws:s3/bucketOwnershipControls:BucketOwnershipControls": _of_bucket,
    "aws:s3/bucketPolicy:BucketPolicy": _of_bucket,
    "aws:s3/bucketPublicAccessBlock:BucketPublicAccessBlock": _of_bucket,
    "aws:s3/bucketServerSideEncryptionConfiguration:BucketServerSideEncryptionConfiguration": (
        _of_bucket
    ),
    "aws:s3/bucketVersioning:BucketVersioning": _of_bucket,
    "aws:sns/topic:Topic": _topic,
    "aws:sns/topicPolicy:TopicPolicy": _plain_id,
    "aws:sns/topicSubscription:TopicSubscription": _plain_id,
    "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule": _ec2("sgr", "security-group-rule"),
    "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule": _ec2("sgr", "security-group-rule"),
}
"""AWS resource types the recorder knows, with what each answers."""

KUBERNETES_GROUPS: Final = (
    "admissionregistration.k8s.io/v1",
    "apps/v1",
    "batch.volcano.sh/v1alpha1",
    "batch/v1",
    "core/v1",
    "helm.sh/v3",
    "networking.k8s.io/v1",
    "policy/v1",
    "rbac.authorization.k8s.io/v1",
    "scheduling.k8s.io/v1",
    "scheduling.volcano.sh/v1beta1",
    "storage.k8s.io/v1",
)
"""API groups that the program may declare objects of."""


def kubernetes_answer(asked: Asked) -> Answer:
    """A Kubernetes object with its name, namespace and uid; a release with its status."""
    if asked.type == "kubernetes:helm.sh/v3:Release":
        return _release(asked)
    metadata = dict(asked.inputs.get("metadata") or {})
    metadata.setdefault("name", f"{asked.name}-{asked.digest(8)}")
    metadata["uid"] = asked.digest(32)
    namespace = metadata.get("namespace")
    id_ = f"{namespace}/{metadata['name']}" if namespace else str(metadata["name"])
    return Answer(id=id_, outputs={"metadata": metadata})


def _release(asked: Asked) -> Answer:
    name = str(asked.inputs.get("name") or f"{asked.name}-{asked.digest(8)}")
    namespace = str(asked.inputs.get("namespace") or "default")
    status = {
        "chart": asked.inputs.get("chart", ""),
        "name": name,
        "namespace": namespace,
        "revision": 1,
        "status": "deployed",
        "version": asked.inputs.get("version", ""),
    }
    return Answer(id=f"{namespace}/{name}", outputs={"name": name, "status": status})
