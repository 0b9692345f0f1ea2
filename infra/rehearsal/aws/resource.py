"""What every emulated resource type does: create, observe, change, delete."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

from botocore.exceptions import ClientError

from infra.rehearsal.aws.account import Account
from infra.rehearsal.aws.refusals import is_absent

Properties = dict[str, Any]

_SYSTEM_TAGS = ("aws:", "eks:")


@dataclass(frozen=True, kw_only=True, slots=True)
class Naming:
    """How the provider names a resource that the program does not name."""

    property_name: str = "name"
    prefix_property: str = "namePrefix"
    lead: str = ""
    """What each name begins with, such as `alias/`."""
    longest: int = 255


class ResourceType:
    """One aws type. Subclasses say how the emulated account holds it."""

    aws_type: ClassVar[str]
    outputs: ClassVar[tuple[str, ...]] = ()
    """Properties that only AWS sets: not known before `up`."""
    nested_outputs: ClassVar[tuple[str, ...]] = ()
    """The same inside objects that the program sets in part: `vpcConfig.vpcId`."""
    naming: ClassVar[Naming | None] = None
    replaces: ClassVar[frozenset[str]] = frozenset()
    """Properties whose change makes a new resource (ForceNew in the provider's schema)."""
    has_tags: ClassVar[bool] = True

    def create(self, account: Account, inputs: Properties) -> str:
        """Make it and return its id."""
        raise NotImplementedError

    def observe(self, account: Account, resource_id: str, state: Properties) -> Properties | None:
        """Return its properties as AWS holds them now, None when it is gone."""
        raise NotImplementedError

    def change(self, account: Account, resource_id: str, old: Properties, new: Properties) -> None:
        """Bring it from the old inputs to the new ones."""
        message = f"{self.aws_type} {resource_id}: nothing but a replacement can change it"
        raise NotImplementedError(message)

    def delete(self, account: Account, resource_id: str, state: Properties) -> None:
        """Delete it; one that is gone already is deleted."""
        raise NotImplementedError

    def settle(self, account: Account, resource_id: str, inputs: Properties) -> None:
        """Wait until AWS would call it ready."""


def words(text: str) -> frozenset[str]:
    """Return the words of a text; tables of property names are easier to read this way."""
    return frozenset(text.split())


def aws_tags(tags: Mapping[str, str] | None) -> list[dict[str, str]]:
    """Return Pulumi's map of tags as most AWS calls want it."""
    return [{"Key": key, "Value": value} for key, value in (tags or {}).items()]


def pulumi_tags(tags: Any) -> Properties:
    """Return observed tags as the provider shows them, without those that AWS itself sets."""
    pairs = {tag["Key"]: tag["Value"] for tag in tags or ()} if isinstance(tags, list) else tags
    own = {key: value for key, value in (pairs or {}).items() if not key.startswith(_SYSTEM_TAGS)}
    return {"tags": own, "tagsAll": own}


def found_or_none(call: Any, **arguments: Any) -> Any:
    """Return a describing call's answer, None when AWS says that the thing is not there."""
    try:
        return call(**arguments)
    except ClientError as error:
        if is_absent(error):
            return None
        raise


def if_there(call: Any, **arguments: Any) -> None:
    """Make a deleting call; a thing that is not there is deleted already."""
    found_or_none(call, **arguments)
