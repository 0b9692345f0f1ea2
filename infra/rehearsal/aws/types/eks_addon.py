"""EKS add-ons: pods in kube-system, active only when a node can hold them."""

import json
from typing import Any

from typing_extensions import override

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.addon_catalogue import (
    ADDONS,
    NAMESPACE,
    default_version,
    workload,
)
from infra.rehearsal.aws.clock import ADDON_TIMEOUT_SECONDS
from infra.rehearsal.aws.refusals import AwsError, NotReadyError
from infra.rehearsal.aws.resource import Properties, ResourceType, words
from infra.rehearsal.aws.types.eks_access import exists, now
from infra.rehearsal.aws.types.eks_cluster import ADDON, cluster_record, invalid
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.waiting import DeadlineExceededError, wait_until


class Addon(ResourceType):
    """An EKS add-on."""

    aws_type = "aws:eks/addon:Addon"
    outputs = ("arn", "createdAt", "modifiedAt")
    # terraform-provider-aws internal/service/eks/addon.go: ForceNew
    replaces = words("addonName clusterName")

    @override
    def create(self, account: Account, inputs: Properties) -> str:
        cluster, name = inputs["clusterName"], inputs["addonName"]
        cluster_record(account, "CreateAddon", cluster)
        settings = self._refuse(account, "CreateAddon", inputs)
        if account.store.get(ADDON, f"{cluster}:{name}") is not None:
            raise AwsError(
                operation="CreateAddon",
                code="ResourceInUseException",
                reason="Addon already exists.",
            )
        # The pods first: an add-on of which nothing runs would be taken and useless.
        self._apply(account, name, settings)
        body = self._body(inputs) | {"createdAt": now(), "modifiedAt": now()}
        account.store.put(ADDON, f"{cluster}:{name}", body)
        return f"{cluster}:{name}"

    def _refuse(self, account: Account, operation: str, inputs: Properties) -> dict[str, Any]:
        """Raise EKS's refusals; return the configuration values."""
        name, version = inputs["addonName"], inputs.get("addonVersion")
        known = ADDONS.get(name)
        if known is None:
            raise invalid(
                operation=operation,
                reason=f"Addon {name} specified is not supported by this rehearsal, which knows"
                f" {', '.join(ADDONS)}",
            )
        if version and version not in known.versions:
            raise invalid(
                operation=operation,
                reason=f"Addon version specified is not supported: {name} {version}; this rehearsal"
                f" knows {', '.join(known.versions)}",
            )
        role = inputs.get("serviceAccountRoleArn")
        if role and not exists(account, role):
            raise invalid(operation=operation, reason=f"The role {role} does not exist")
        return _settings(operation, name, inputs.get("configurationValues"))

    def _body(self, inputs: Properties) -> Properties:
        return {
            name: value
            for name, value in inputs.items()
            if value is not None and not name.startswith("__")
        }

    def _apply(self, account: Account, name: str, settings: dict[str, Any]) -> None:
        api = account.kubernetes
        if api is not None:
            manifest = workload(name, settings)
            api.apply(_collection(manifest["kind"]), manifest, manager="eks")

    @override
    def settle(self, account: Account, resource_id: str, inputs: Properties) -> None:
        """Wait until the pods of a Deployment are available; a DaemonSet's may be none."""
        api = account.kubernetes
        name = resource_id.split(":", 1)[1]
        if api is None or ADDONS[name].pods.kind == "DaemonSet":
            return
        try:
            wait_until(
                lambda: _is_available(api, name),
                what=f"add-on {resource_id}",
                deadline_seconds=account.clock.patience(ADDON_TIMEOUT_SECONDS),
            )
        except DeadlineExceededError as error:
            reason = (
                f"waiting for EKS Add-On ({resource_id}) create: timeout while waiting for state"
                " to become 'ACTIVE' (last state: 'DEGRADED', timeout: 20m0s)."
                " InsufficientNumberOfReplicas: The add-on is unhealthy because it doesn't have"
                " the desired number of replicas."
            )
            outputs = self.observe(account, resource_id, inputs) or {}
            raise NotReadyError(resource_id, {**inputs, **outputs}, reason) from error

    @override
    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        record = account.store.get(ADDON, resource_id)
        if record is None:
            return None
        cluster, name = resource_id.split(":", 1)
        tags = record.get("tags") or {}
        return record | {
            "addonVersion": record.get("addonVersion") or default_version(name),
            "arn": account.arn("eks", f"addon/{cluster}/{name}"),
            "tags": tags,
            "tagsAll": tags,
        }

    @override
    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        settings = self._refuse(account, "UpdateAddon", new)
        record = account.store.get(ADDON, resource_id)
        if record is None:
            raise AwsError(
                operation="UpdateAddon", code="ResourceNotFoundException", reason="No addon found"
            )
        kept = {"createdAt": record["createdAt"], "modifiedAt": now()}
        account.store.put(ADDON, resource_id, self._body(new) | kept)
        self._apply(account, resource_id.split(":", 1)[1], settings)

    @override
    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        name = resource_id.split(":", 1)[1]
        account.store.remove(ADDON, resource_id)
        api = account.kubernetes
        if api is not None and not state.get("preserve") and name in ADDONS:
            pods = ADDONS[name].pods
            api.delete(f"{_collection(pods.kind)}/{pods.name}")


def _settings(operation: str, addon: str, text: Any) -> dict[str, Any]:
    if not text:
        return {}
    try:
        settings = json.loads(text)
    except ValueError as error:
        raise invalid(
            operation=operation,
            reason=f"ConfigurationValue provided in request is no JSON: {error}",
        ) from error
    unknown = sorted(set(settings) - ADDONS[addon].settings)
    if unknown:
        raise invalid(
            operation=operation,
            reason="ConfigurationValue provided in request is not supported: Json schema validation"
            f" failed with error: [$.{unknown[0]}: is not defined in the schema and the schema"
            " does not allow additional properties]",
        )
    return dict(settings)


def _collection(kind: str) -> str:
    return f"/apis/apps/v1/namespaces/{NAMESPACE}/{kind.lower()}s"


def _is_available(api: KubernetesApi, addon: str) -> bool:
    found = api.find(f"{_collection('Deployment')}/{ADDONS[addon].pods.name}")
    if not found:
        return False
    wanted = found["spec"].get("replicas", 1)
    return bool(found.get("status", {}).get("availableReplicas", 0) >= wanted)
