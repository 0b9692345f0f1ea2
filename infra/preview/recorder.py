"""Runs a Pulumi program without engine, plugins, account or network and records it whole.

Strict: a type, invoke or lookup that is not known is an error that names it. Answers are
realistic and nested (`mock_outputs`). Plain mocks do not show dependencies and options; this
monitor reads them off the registration itself.
"""

import asyncio
import contextvars
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Final

import pulumi
from google.protobuf import empty_pb2
from pulumi.runtime import mocks
from pulumi.runtime import settings as runtime_settings
from pulumi.runtime.proto import engine_pb2, provider_pb2, resource_pb2
from pulumi.runtime.stack import run_in_stack

from infra.preview import mock_outputs, wire
from infra.preview.recording import RecordedResource, Recording, RecordingError

__all__ = ["RecordedResource", "Recording", "RecordingError", "record"]

NO_CONFIG: Final[Mapping[str, str]] = MappingProxyType({})
DEFAULT_REGION: Final = "us-east-1"
STACK_TYPE: Final = "pulumi:pulumi:Stack"
EKS_CLUSTER: Final = "eks:index:Cluster"

INVOKES: Final[dict[str, dict[str, str]]] = {
    "aws:index/getCallerIdentity:getCallerIdentity": {
        "accountId": mock_outputs.ACCOUNT_ID,
        "arn": f"arn:aws:iam::{mock_outputs.ACCOUNT_ID}:user/recorded",
        "id": mock_outputs.ACCOUNT_ID,
        "userId": "RECORDED",
    },
    "aws:index/getPartition:getPartition": {
        "dnsSuffix": "amazonaws.com",
        "id": "aws",
        "partition": "aws",
        "reverseDnsPrefix": "com.amazonaws",
    },
}
"""Invokes with one right answer everywhere; whatever looks something up is refused."""


def record(
    program: Callable[[], None],
    *,
    project: str = "gangway",
    stack: str = "dev",
    config: Mapping[str, str] = NO_CONFIG,
) -> Recording:
    """Run `program` and return what it declared.

    Whatever the program raises, inside `apply` too, comes out as it is; what the recorder does
    not know raises RecordingError. Each call stands alone: nothing stays behind for the next.
    """
    return contextvars.copy_context().run(_record, program, project, stack, dict(config))


def _record(
    program: Callable[[], None], project: str, stack: str, config: dict[str, str]
) -> Recording:
    monitor = Monitor(project=project, stack=stack, region=config.get("aws:region"))
    engine = Engine()
    loop = asyncio.new_event_loop()
    loop.set_default_executor(_Inline())
    loop.set_exception_handler(lambda _loop, _context: None)
    asyncio.set_event_loop(loop)
    try:
        pulumi.runtime.set_all_config(config, [])
        # The class is untyped; run_in_stack asks the monitor for its features.
        settings_class: Any = mocks.MockSettings
        runtime_settings.configure(
            settings_class(
                monitor=monitor,
                monitor_features=set(),
                engine=engine,
                project=project,
                stack=stack,
                dry_run=False,
                organization=None,
                root_directory=None,
                callbacks=None,
                outputs=set(),
            )
        )
        runtime_settings.ROOT.set(None)
        loop.run_until_complete(run_in_stack(program))
    finally:
        asyncio.set_event_loop(None)
        loop.close()
    return monitor.recording(messages=tuple(sorted(engine.messages)))


class _Inline(ThreadPoolExecutor):
    """Runs each call at once on the caller's thread: no races, the same order every time."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()
        try:
            future.set_result(fn(*args, **kwargs))
        except Exception as error:
            future.set_exception(error)
        return future


class Engine:
    """Takes the program's log messages from warning upwards."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def Log(self, request: engine_pb2.LogRequest) -> None:  # noqa: N802 - protocol name
        """Keep warnings and errors."""
        if request.severity >= engine_pb2.WARNING:
            self.messages.append(request.message)


@dataclass(frozen=True, kw_only=True, slots=True)
class Inner:
    """A resource inside a remote component: not recorded, but other resources may refer to it."""

    component: str
    answer: mock_outputs.Answer


class Monitor(mocks.MockMonitor):
    """The engine's side of registrations: records the request, answers realistically."""

    def __init__(self, *, project: str, stack: str, region: str | None) -> None:
        self.project = project
        self.stack = stack
        self.region = region or DEFAULT_REGION
        self.recorded: dict[str, RecordedResource] = {}
        self.inner: dict[str, Inner] = {}
        self.exports: dict[str, Any] = {}
        self.secret_exports: tuple[str, ...] = ()
        self._stack_transforms = []
        self._stack_invoke_transforms = []

    def recording(self, *, messages: tuple[str, ...]) -> Recording:
        """Everything recorded, sorted by URN."""
        return Recording(
            project=self.project,
            stack=self.stack,
            resources=tuple(self.recorded[urn] for urn in sorted(self.recorded)),
            exports=self.exports,
            secret_exports=self.secret_exports,
            messages=messages,
        )

    def urn(self, parent: str, type_: str, name: str) -> str:
        """The URN as the engine builds it: parent types joined, the stack's own left out."""
        if parent:
            parent_type = parent.split("::")[2]
            if parent_type != STACK_TYPE:
                type_ = f"{parent_type}${type_}"
        return f"urn:pulumi:{self.stack}::{self.project}::{type_}::{name}"

    def RegisterResource(  # noqa: N802 - protocol name
        self, request: resource_pb2.RegisterResourceRequest
    ) -> resource_pb2.RegisterResourceResponse:
        """Record one resource and answer with its id and outputs."""
        urn = self.urn(request.parent, request.type, request.name)
        if request.type == STACK_TYPE:
            return resource_pb2.RegisterResourceResponse(urn=urn)
        if urn in self.recorded:
            message = f"{request.type} {request.name!r} is declared twice; names must differ"
            raise RecordingError(message)
        inputs, secrets = wire.from_struct(request.object)
        asked = mock_outputs.Asked(
            type=request.type,
            name=request.name,
            inputs=inputs,
            region=str(inputs.get("region") or self.region),
            urn=urn,
        )
        answer = self._answer(asked, request)
        outputs = inputs | answer.outputs
        struct = wire.to_struct(outputs)
        self.recorded[urn] = self._resource(request, urn, answer.id, inputs, secrets, outputs)
        return resource_pb2.RegisterResourceResponse(urn=urn, id=answer.id, object=struct)

    def _answer(
        self, asked: mock_outputs.Asked, request: resource_pb2.RegisterResourceRequest
    ) -> mock_outputs.Answer:
        if asked.type in mock_outputs.AWS_ANSWERS:
            return mock_outputs.AWS_ANSWERS[asked.type](asked)
        if asked.type == EKS_CLUSTER:
            return self._eks_cluster(asked)
        if asked.type.startswith("pulumi:providers:"):
            return mock_outputs.Answer(id=f"provider-{asked.digest(8)}", outputs={})
        if not request.custom and not request.remote:
            return mock_outputs.Answer(id="", outputs={})
        package, _, rest = asked.type.partition(":")
        if package == "kubernetes" and rest.rpartition(":")[0] in mock_outputs.KUBERNETES_GROUPS:
            return mock_outputs.kubernetes_answer(asked)
        message = (
            f"resource type {asked.type} ({asked.name!r}) is not known to the recorder; "
            "add it to infra/preview/mock_outputs.py with what it answers"
        )
        raise RecordingError(message)

    def _eks_cluster(self, asked: mock_outputs.Asked) -> mock_outputs.Answer:
        """The remote component: its control plane can be read through a resource reference."""
        inner_type, inner_name = "aws:eks/cluster:Cluster", f"{asked.name}-eksCluster"
        inner_urn = self.urn(asked.urn, inner_type, inner_name)
        inner = mock_outputs.control_plane(
            mock_outputs.Asked(
                type=inner_type,
                name=inner_name,
                inputs=asked.inputs,
                region=asked.region,
                urn=inner_urn,
            )
        )
        self.inner[inner_urn] = Inner(component=asked.urn, answer=inner)
        group = inner.outputs["vpcConfig"]["clusterSecurityGroupId"]
        issuer = inner.outputs["identities"][0]["oidcs"][0]["issuer"]
        config = mock_outputs.kubeconfig(inner, asked.region)
        outputs = {
            "clusterIngressRuleId": "",
            "clusterSecurityGroupId": group,
            "core": {
                "cluster": wire.reference(inner_urn, inner.id),
                "endpoint": inner.outputs["endpoint"],
                "subnetIds": asked.inputs.get("privateSubnetIds", []),
                "vpcId": asked.inputs.get("vpcId", ""),
            },
            "eksCluster": wire.reference(inner_urn, inner.id),
            "instanceRoles": [],
            "kubeconfig": wire.secret(config),
            "kubeconfigJson": wire.secret(mock_outputs.kubeconfig_json(inner, asked.region)),
            "nodeSecurityGroupId": group,
            "oidcIssuer": issuer.removeprefix("https://"),
            "oidcProviderArn": "",
            "oidcProviderUrl": issuer,
        }
        return mock_outputs.Answer(id="", outputs=outputs)

    def _resource(
        self,
        request: resource_pb2.RegisterResourceRequest,
        urn: str,
        id_: str,
        inputs: dict[str, Any],
        secrets: tuple[str, ...],
        outputs: dict[str, Any],
    ) -> RecordedResource:
        parent_is_stack = STACK_TYPE in request.parent.split("::")
        timeouts = request.customTimeouts
        return RecordedResource(
            type=request.type,
            name=request.name,
            urn=urn,
            id=id_,
            inputs=inputs,
            outputs=wire.from_struct(wire.to_struct(outputs))[0],
            custom=request.custom,
            remote=request.remote,
            parent="" if parent_is_stack else request.parent,
            provider=request.provider,
            providers=dict(sorted(request.providers.items())),
            depends_on=self._outer(request.dependencies),
            property_dependencies={
                key: self._outer(dependencies.urns)
                for key, dependencies in sorted(request.propertyDependencies.items())
                if dependencies.urns
            },
            secret_inputs=secrets,
            protect=request.protect,
            ignore_changes=tuple(request.ignoreChanges),
            replace_on_changes=tuple(request.replaceOnChanges),
            delete_before_replace=(
                request.deleteBeforeReplace if request.deleteBeforeReplaceDefined else None
            ),
            retain_on_delete=request.retainOnDelete,
            deleted_with=request.deletedWith,
            aliases=tuple(
                alias.urn or f"{alias.spec.type}::{alias.spec.name}" for alias in request.aliases
            ),
            custom_timeouts={
                key: value
                for key in ("create", "delete", "update")
                if (value := getattr(timeouts, key))
            },
        )

    def _outer(self, urns: Iterable[str]) -> tuple[str, ...]:
        """Sorted URNs; what stands inside the remote component counts as the component."""
        return tuple(
            sorted({self.inner[urn].component if urn in self.inner else urn for urn in urns})
        )

    def RegisterResourceOutputs(  # noqa: N802 - protocol name
        self, request: resource_pb2.RegisterResourceOutputsRequest
    ) -> empty_pb2.Empty:
        """Keep the stack's exports and each component's outputs."""
        outputs, secrets = wire.from_struct(request.outputs)
        if request.urn.split("::")[2] == STACK_TYPE:
            self.exports, self.secret_exports = outputs, secrets
        elif request.urn in self.recorded:
            self.recorded[request.urn].outputs.update(outputs)
        return empty_pb2.Empty()

    def Invoke(  # noqa: N802 - protocol name
        self, request: resource_pb2.ResourceInvokeRequest
    ) -> provider_pb2.InvokeResponse:
        """Answer the few invokes that need no lookup; refuse all others by name."""
        arguments, _ = wire.from_struct(request.args)
        if request.tok == "pulumi:pulumi:getResource":
            answer = self._registered(str(arguments.get("urn", "")))
        elif request.tok in INVOKES:
            answer = INVOKES[request.tok]
        else:
            message = (
                f"the program calls {request.tok}, which looks something up; a plan without an "
                "account needs the value from settings"
            )
            raise RecordingError(message)
        return resource_pb2.ResourceInvokeResponse(**{"return": wire.to_struct(answer)})

    def _registered(self, urn: str) -> dict[str, Any]:
        if urn in self.inner:
            inner = self.inner[urn].answer
            return {"urn": urn, "id": inner.id, "state": inner.outputs}
        resource = self.recorded.get(urn)
        if resource is None:
            message = f"{urn} is referred to but was never registered"
            raise RecordingError(message)
        return {"urn": urn, "id": resource.id, "state": resource.outputs}

    def ReadResource(  # noqa: N802 - protocol name
        self, request: resource_pb2.ReadResourceRequest
    ) -> resource_pb2.ReadResourceResponse:
        """Refuse: reading an existing resource needs the account."""
        message = (
            f"the program reads {request.type} {request.id!r} from the account; take its ids "
            "from settings instead"
        )
        raise RecordingError(message)

    def Call(self, request: resource_pb2.ResourceCallRequest) -> None:  # noqa: N802
        """Refuse: a method of a remote component runs in a plugin."""
        message = f"the program calls the method {request.tok}, which only a plugin can answer"
        raise RecordingError(message)
