"""Serves the emulated provider to the engine, with refusals as plain sentences.

The SDK's own server answers a refusal with a stack trace, does not pass the old inputs to diff,
and cannot say that a resource exists although it did not come up.
"""

import argparse
import asyncio
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import grpc
from google.protobuf import any_pb2
from pulumi.provider.experimental import provider as engine
from pulumi.provider.experimental.property_value import PropertyValue
from pulumi.provider.experimental.server import ProviderServicer
from pulumi.runtime._grpc_settings import _GRPC_CHANNEL_OPTIONS
from pulumi.runtime.proto import provider_pb2, provider_pb2_grpc, status_pb2
from typing_extensions import override

from infra.errors import GangwayError
from infra.rehearsal.aws.clock import CancelledError
from infra.rehearsal.aws.plain import wrapped_map
from infra.rehearsal.aws.provider import EmulatedAws
from infra.rehearsal.aws.refusals import NotReadyError

VERSION = "7.51.1"


class Servicer(ProviderServicer):
    """The SDK's servicer with our refusals."""

    @override
    async def Create(self, request: Any, context: Any) -> Any:
        return await _answered(super().Create, request, context)

    @override
    async def Update(self, request: Any, context: Any) -> Any:
        return await _answered(super().Update, request, context)

    @override
    async def Delete(self, request: Any, context: Any) -> Any:
        return await _answered(super().Delete, request, context)

    @override
    async def Read(self, request: Any, context: Any) -> Any:
        return await _answered(super().Read, request, context)

    @override
    async def Check(self, request: Any, context: Any) -> Any:
        return await _answered(super().Check, request, context)

    @override
    async def Invoke(self, request: Any, context: Any) -> Any:
        return await _answered(super().Invoke, request, context)

    @override
    async def Diff(self, request: Any, context: Any) -> Any:
        old_inputs = PropertyValue.unmarshal_map(request.old_inputs)
        _OLD_INPUTS[asyncio.current_task()] = old_inputs
        try:
            return await _answered(super().Diff, request, context)
        finally:
            del _OLD_INPUTS[asyncio.current_task()]


_OLD_INPUTS: dict[Any, dict[str, PropertyValue]] = {}


class ServedAws(EmulatedAws):
    """The emulated provider, with the old inputs that the engine sends along with a diff."""

    @override
    async def diff(self, request: engine.DiffRequest) -> engine.DiffResponse:
        request.old_inputs = _OLD_INPUTS.get(asyncio.current_task())  # type: ignore[attr-defined]
        return await super().diff(request)


async def _answered(call: Callable[[Any, Any], Awaitable[Any]], request: Any, context: Any) -> Any:
    try:
        return await call(request, context)
    except Exception as error:
        cause = error.__context__ if isinstance(error.__context__, Exception) else error
        if isinstance(cause, NotReadyError):
            await context.abort_with_status(_not_ready(cause))
        if isinstance(cause, CancelledError):
            await context.abort(grpc.StatusCode.CANCELLED, "the run was cancelled")
        if isinstance(cause, GangwayError):
            await context.abort(grpc.StatusCode.UNKNOWN, str(cause))
        raise


class _Status(grpc.Status):  # type: ignore[misc]
    """A gRPC status with details."""

    def __init__(self, code: Any, details: str, trailing_metadata: Any) -> None:
        self.code = code
        self.details = details
        self.trailing_metadata = trailing_metadata


def _not_ready(error: NotReadyError) -> _Status:
    """Return the status by which the engine keeps a resource that did not come up."""
    failed = provider_pb2.ErrorResourceInitFailed(
        id=error.resource_id,
        properties=PropertyValue.marshal_map(wrapped_map(error.outputs)),
        reasons=[error.reason],
    )
    packed = any_pb2.Any()
    packed.Pack(failed)
    code = grpc.StatusCode.UNKNOWN
    status = status_pb2.Status(code=code.value[0], message=error.reason, details=[packed])
    details = (("grpc-status-details-bin", status.SerializeToString()),)
    return _Status(code, error.reason, details)


async def serve(state_dir: Path, engine_address: str) -> None:
    """Serve until the engine ends the process; the port is told on standard output."""
    server = grpc.aio.server(options=_GRPC_CHANNEL_OPTIONS)
    servicer = Servicer([], VERSION, ServedAws(state_dir), engine_address=engine_address)
    provider_pb2_grpc.add_ResourceProviderServicer_to_server(servicer, server)
    port = server.add_insecure_port("127.0.0.1:0")
    await server.start()
    sys.stdout.write(f"{port}\n")
    sys.stdout.flush()
    await server.wait_for_termination()


def main() -> None:
    """Run as `pulumi-resource-aws`: `--state-dir` from the rehearsal, the rest from the engine."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--state-dir", type=Path, required=True)
    parser.add_argument("engine", help="address of the Pulumi engine")
    known, _ = parser.parse_known_args()
    asyncio.run(serve(known.state_dir, known.engine))


if __name__ == "__main__":
    main()
