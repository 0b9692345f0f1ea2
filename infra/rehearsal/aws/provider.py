"""The program `pulumi-resource-aws` of a rehearsal: the engine's calls on the emulated account."""

import asyncio
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Final, TypeVar

from botocore.exceptions import ClientError
from pulumi.provider.experimental import provider as engine
from typing_extensions import override

from infra.errors import GangwayError
from infra.preview.aws_api import create_problems, sdk_properties
from infra.preview.aws_values import UNKNOWN_TEXT
from infra.rehearsal.aws import functions, naming
from infra.rehearsal.aws.account import DEFAULT_REGION, Account, remember_region
from infra.rehearsal.aws.catalogue import RESOURCE_TYPES
from infra.rehearsal.aws.clock import CREATE_SECONDS, DELETE_SECONDS, Clock
from infra.rehearsal.aws.differences import (
    detailed,
    differences,
    inputs_of,
    replaces,
    settled_on_input,
)
from infra.rehearsal.aws.plain import plain_map, wrapped_map
from infra.rehearsal.aws.refusals import from_client
from infra.rehearsal.aws.resource import ResourceType

_WORKERS: Final = 64
_REGION_SETTING: Final = "region"

Answer = TypeVar("Answer")


class EmulatedAws(engine.Provider):
    """The aws provider of one rehearsal."""

    def __init__(
        self, state_dir: Path, *, region: str = DEFAULT_REGION, clock: Clock | None = None
    ):
        self.account = Account(
            state_dir=state_dir, region=region, clock=clock or Clock.from_environment()
        )
        self._pool = ThreadPoolExecutor(max_workers=_WORKERS)

    async def _apart(self, work: Callable[[], Answer]) -> Answer:
        """Run blocking work on a thread, and give moto's refusals AWS's form."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work)
        except ClientError as error:
            raise from_client(error) from error

    @override
    async def get_schema(self, request: engine.GetSchemaRequest) -> engine.GetSchemaResponse:
        return engine.GetSchemaResponse(schema='{"name": "aws", "version": "7.51.1"}')

    @override
    async def check_config(self, request: engine.CheckRequest) -> engine.CheckResponse:
        if _REGION_SETTING not in request.new_inputs:
            reason = "Missing region configuration: set aws:region in the stack's settings"
            failure = engine.CheckFailure(property=_REGION_SETTING, reason=reason)
            return engine.CheckResponse(inputs=request.new_inputs, failures=[failure])
        return engine.CheckResponse(inputs=request.new_inputs)

    @override
    async def configure(self, request: engine.ConfigureRequest) -> engine.ConfigureResponse:
        region = request.variables.get("aws:config:region") or plain_map(request.args).get(
            _REGION_SETTING
        )
        self.account.region = region or self.account.region
        remember_region(self.account.state_dir, self.account.region)
        return engine.ConfigureResponse(
            accept_secrets=True, supports_preview=True, accept_resources=False
        )

    @override
    async def check(self, request: engine.CheckRequest) -> engine.CheckResponse:
        kind = kind_of(request.type)
        old, new = plain_map(request.old_inputs), plain_map(request.new_inputs)
        failures = [
            engine.CheckFailure(property=one.property_path, reason=str(one))
            for one in create_problems(kind.aws_type, new)
        ]
        if kind.naming is not None:
            new = naming.named(kind.naming, request.name, old, new, request.random_seed)
            keep = {*request.new_inputs}
            extra = {name: value for name, value in new.items() if name not in keep}
            return engine.CheckResponse(
                inputs=request.new_inputs | wrapped_map(extra), failures=failures
            )
        return engine.CheckResponse(inputs=request.new_inputs, failures=failures)

    @override
    async def diff(self, request: engine.DiffRequest) -> engine.DiffResponse:
        kind = kind_of(request.type)
        new = plain_map(request.new_inputs)
        state = plain_map(request.old_state)
        old_inputs = getattr(request, "old_inputs", None)
        old = plain_map(old_inputs) if old_inputs else _known_inputs(state, new)
        found = list(differences(old, new))
        replacing = [path for path, _ in found if replaces(path, kind.replaces)]
        return engine.DiffResponse(
            changes=bool(found),
            replaces=replacing,
            diffs=[path for path, _ in found],
            detailed_diff=detailed(found, kind.replaces),
            delete_before_replace=bool(replacing)
            and naming.deletes_before_replacing(kind.naming, old, new),
        )

    @override
    async def create(self, request: engine.CreateRequest) -> engine.CreateResponse:
        kind = kind_of(request.type)
        inputs = plain_map(request.properties)
        if request.preview:
            return engine.CreateResponse(properties=wrapped_map(_foreseen(kind, inputs)))
        return await self._apart(lambda: self._create(kind, inputs))

    def _create(self, kind: ResourceType, inputs: dict[str, Any]) -> engine.CreateResponse:
        if kind.naming is not None:
            inputs = naming.prefixed(kind.naming, inputs)
        resource_id = kind.create(self.account, inputs)
        self.account.clock.pass_time(CREATE_SECONDS.get(kind.aws_type, 0))
        kind.settle(self.account, resource_id, inputs)
        state = self._state(kind, resource_id, inputs) or inputs
        return engine.CreateResponse(resource_id=resource_id, properties=wrapped_map(state))

    def _state(
        self, kind: ResourceType, resource_id: str, known: Mapping[str, Any]
    ) -> dict[str, Any] | None:
        observed = kind.observe(self.account, resource_id, dict(known))
        if observed is None:
            return None
        if "region" in sdk_properties()[kind.aws_type]:
            observed["region"] = self.account.region
        settled = {
            name: settled_on_input(value, known.get(name)) for name, value in observed.items()
        }
        return {**known, **settled}

    @override
    async def read(self, request: engine.ReadRequest) -> engine.ReadResponse:
        kind = kind_of(request.type)
        known, inputs = plain_map(request.properties), plain_map(request.inputs)
        state = await self._apart(lambda: self._state(kind, request.resource_id, known))
        if state is None:
            return engine.ReadResponse(resource_id="")
        if not inputs:
            accepted = {name.rstrip("!") for name in sdk_properties()[kind.aws_type]}
            inputs = {
                name: value
                for name, value in state.items()
                if name in accepted and value not in (None, "", [], {})
            }
        return engine.ReadResponse(
            resource_id=request.resource_id,
            properties=wrapped_map(state),
            inputs=wrapped_map(inputs_of(state, inputs)),
        )

    @override
    async def update(self, request: engine.UpdateRequest) -> engine.UpdateResponse:
        kind = kind_of(request.type)
        old, new = plain_map(request.olds), plain_map(request.news)
        if request.preview:
            fixed = {name: old[name] for name in old if name in _stable(kind)}
            return engine.UpdateResponse(properties=wrapped_map(_foreseen(kind, new) | fixed))
        return await self._apart(lambda: self._update(kind, request.resource_id, old, new))

    def _update(
        self, kind: ResourceType, resource_id: str, old: dict[str, Any], new: dict[str, Any]
    ) -> engine.UpdateResponse:
        before = {name: value for name, value in old.items() if name in new or name == "tags"}
        kind.change(self.account, resource_id, before, new)
        kind.settle(self.account, resource_id, new)
        state = self._state(kind, resource_id, new) or new
        return engine.UpdateResponse(properties=wrapped_map(state))

    @override
    async def delete(self, request: engine.DeleteRequest) -> None:
        kind = kind_of(request.type)
        state = plain_map(request.properties)

        def delete() -> None:
            kind.delete(self.account, request.resource_id, state)
            self.account.clock.pass_time(DELETE_SECONDS.get(kind.aws_type, 0))

        await self._apart(delete)

    @override
    async def invoke(self, request: engine.InvokeRequest) -> engine.InvokeResponse:
        arguments = plain_map(request.args)
        answer = await self._apart(lambda: functions.call(self.account, request.tok, arguments))
        return engine.InvokeResponse(return_value=wrapped_map(answer))

    @override
    async def cancel(self) -> None:
        self.account.clock.cancelled.set()


def kind_of(request_type: str) -> ResourceType:
    """Return the emulated type of a request; a child's is written behind its parents'."""
    aws_type = request_type.rsplit("$", 1)[-1]
    kind = RESOURCE_TYPES.get(aws_type)
    if kind is None:
        message = f"the rehearsal's AWS does not emulate {aws_type}: infra/rehearsal/aws/types"
        raise GangwayError(message)
    return kind


def _known_inputs(state: Mapping[str, Any], new: Mapping[str, Any]) -> dict[str, Any]:
    """Return the old inputs out of a state: what the new ones name, as far as it was set."""
    return inputs_of(state, {name: new[name] for name in new if name in state})


def _foreseen(kind: ResourceType, inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return a preview's outputs: the inputs, and all that only AWS can know as unknown."""
    accepted = {name.rstrip("!") for name in sdk_properties()[kind.aws_type]}
    unset = accepted | set(kind.outputs) | ({"tagsAll"} if kind.has_tags else set())
    foreseen: dict[str, Any] = {name: UNKNOWN_TEXT for name in sorted(unset) if name not in inputs}
    foreseen |= inputs
    for path in kind.nested_outputs:
        outer, inner = path.split(".")
        if isinstance(foreseen.get(outer), Mapping):
            foreseen[outer] = {inner: UNKNOWN_TEXT, **foreseen[outer]}
    return foreseen


def _stable(kind: ResourceType) -> set[str]:
    """Return the outputs that an update in place leaves as they are."""
    volatile = {"tagsAll", "modifiedAt", "latestVersion", "status", "resources"}
    optional = {name.rstrip("!") for name in sdk_properties()[kind.aws_type]}
    return (set(kind.outputs) | optional) - volatile
