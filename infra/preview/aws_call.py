"""What one entry of the table in `aws_types` says: an API call and where properties go in it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

PROVIDER: Final = ""
"""Target of a property that no API call takes as it is."""

Target = str | tuple[str, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class CreateCall:
    """The API call that creates a resource, and where its properties differ in name."""

    service: str
    operation: str
    under: str = ""
    """Member of the input under which properties are looked for first."""
    targets: Mapping[str, Target] = field(default_factory=dict)
    filled: frozenset[str] = frozenset()
    """Required members that the provider fills in when the program does not."""
    documented: Mapping[str, Mapping[str, object]] = field(default_factory=dict)
    """Limits that stand in the call's documentation but not in its model, by property."""
