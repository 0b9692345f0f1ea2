"""What a recorded program declared, as plain data."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from infra.errors import GangwayError


class RecordingError(GangwayError):
    """The program did something that no recording can answer; the message names it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class RecordedResource:
    """One registration as the engine would have received it.

    `inputs` is JSON-like data: outputs resolved, secrets in clear (their paths stand in
    `secret_inputs`), references replaced by ids. `depends_on` joins explicit dependencies and
    those that came with a property; `property_dependencies` keeps the latter by property.
    """

    type: str
    name: str
    urn: str
    id: str
    inputs: dict[str, Any]
    outputs: dict[str, Any]
    custom: bool
    remote: bool = False
    parent: str = ""
    provider: str = ""
    providers: Mapping[str, str] = field(default_factory=dict)
    depends_on: tuple[str, ...] = ()
    property_dependencies: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    secret_inputs: tuple[str, ...] = ()
    protect: bool = False
    ignore_changes: tuple[str, ...] = ()
    replace_on_changes: tuple[str, ...] = ()
    delete_before_replace: bool | None = None
    retain_on_delete: bool = False
    deleted_with: str = ""
    aliases: tuple[str, ...] = ()
    custom_timeouts: Mapping[str, str] = field(default_factory=dict)

    @property
    def explicit_dependencies(self) -> tuple[str, ...]:
        """Dependencies that no property brings along, so only `depends_on` names them."""
        through_properties = {urn for urns in self.property_dependencies.values() for urn in urns}
        return tuple(urn for urn in self.depends_on if urn not in through_properties)

    @property
    def component(self) -> bool:
        """Whether this groups other resources instead of being one (remote ones included)."""
        return not self.custom

    @property
    def provider_urn(self) -> str:
        """URN of the explicit provider, or an empty string for the default one."""
        return self.provider.rpartition("::")[0]

    @property
    def package(self) -> str:
        """First part of the type: `aws`, `kubernetes`, `eks`, `gangway`, `pulumi`."""
        return self.type.partition(":")[0]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """Every resource of one run, sorted by URN, with the stack's exports and log messages."""

    project: str
    stack: str
    resources: tuple[RecordedResource, ...]
    exports: dict[str, Any]
    secret_exports: tuple[str, ...] = ()
    messages: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[RecordedResource]:
        return iter(self.resources)

    def __len__(self) -> int:
        return len(self.resources)

    def of_type(self, type_token: str) -> tuple[RecordedResource, ...]:
        """All resources of one type, in URN order."""
        return tuple(resource for resource in self.resources if resource.type == type_token)

    def one(self, type_token: str, name: str | None = None) -> RecordedResource:
        """The only resource of a type (and name). Raises RecordingError when there is not one."""
        found = [
            resource
            for resource in self.of_type(type_token)
            if name is None or resource.name == name
        ]
        if len(found) != 1:
            named = "" if name is None else f" named {name!r}"
            names = ", ".join(resource.name for resource in self.of_type(type_token)) or "none"
            message = f"{len(found)} resources of type {type_token}{named}; recorded: {names}"
            raise RecordingError(message)
        return found[0]

    def get(self, urn: str) -> RecordedResource | None:
        """The resource with this URN, if it was recorded."""
        return next((resource for resource in self.resources if resource.urn == urn), None)

    def children(self, urn: str) -> tuple[RecordedResource, ...]:
        """Resources whose parent is `urn` (an empty string means the stack itself)."""
        return tuple(resource for resource in self.resources if resource.parent == urn)
