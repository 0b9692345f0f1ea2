"""A Volcano queue: whose jobs wait together, and what they may use at most."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import pulumi
import pulumi_kubernetes as k8s

from components import limits, quantities, tokens

API_VERSION: Final = "scheduling.volcano.sh/v1beta1"
WAIT_FOR_OPEN: Final = "jsonpath={.status.state}=Open"
"""Volcano admits jobs only into a queue that its controller has opened."""

TAKE_BACK: Final[Mapping[str, str]] = {"pulumi.com/patchForce": "true"}
"""A queue edited by hand is set back by the next `refresh` and `up`. Without it, server-side apply
refuses every later change of the queue: the edited field has another manager then."""

OPEN_DEADLINE: Final = "2m"
HEAVIEST: Final = 65_535


@dataclass(frozen=True, kw_only=True, slots=True)
class QueueArgs:
    """One queue. `capability` names every resource that its jobs ask for.

    `deserved`, `guarantee` and `parent` are left to Volcano when left out: no share that is the
    queue's own, nothing reserved, a child of `root`. `reclaimable` says whether others get back
    what this queue uses beyond its share.
    """

    capability: Mapping[str, str]
    name: str
    deserved: Mapping[str, str] | None = None
    guarantee: Mapping[str, str] | None = None
    parent: pulumi.Input[str] | None = None
    reclaimable: bool = True
    weight: int = 1

    def __post_init__(self) -> None:
        """Refuse what Volcano's webhook refuses, before anything is created."""
        if self.name in limits.RESERVED_QUEUES:
            message = f"name is {self.name!r}, which Volcano owns; choose another name"
            raise ValueError(message)
        if not 1 <= self.weight <= HEAVIEST:
            message = f"weight is {self.weight}; allowed: 1 to {HEAVIEST}"
            raise ValueError(message)
        if not self.capability:
            message = "capability is empty; name every resource that the jobs ask for"
            raise ValueError(message)
        self._check_shares()

    def _check_shares(self) -> None:
        if self.guarantee and not self.deserved:
            message = "guarantee is set without deserved; set deserved to at least the guarantee"
            raise ValueError(message)
        layers = (
            ("guarantee", self.guarantee or {}, "deserved", self.deserved or {}),
            ("deserved", self.deserved or {}, "capability", self.capability),
        )
        for low_name, low, high_name, high in layers:
            for resource in quantities.exceeding(low, high):
                message = (
                    f"{low_name} {resource} is {low[resource]}, above {high_name} "
                    f"{high[resource]}; guarantee <= deserved <= capability"
                )
                raise ValueError(message)


def queue_spec(args: QueueArgs) -> dict[str, Any]:
    """The `spec` of the Queue; what is left out is absent."""
    spec: dict[str, Any] = {
        "capability": dict(args.capability),
        "reclaimable": args.reclaimable,
        "weight": args.weight,
    }
    if args.deserved:
        spec["deserved"] = dict(args.deserved)
    if args.guarantee:
        spec["guarantee"] = {"resource": dict(args.guarantee)}
    if args.parent is not None:
        spec["parent"] = args.parent
    return spec


class Queue(pulumi.ComponentResource):
    """A queue that is done when it is open.

    Creating it goes through Volcano's admission webhook: let it depend on `Volcano.ready`.
    """

    queue_name: pulumi.Output[str]

    def __init__(
        self, name: str, args: QueueArgs, opts: pulumi.ResourceOptions | None = None
    ) -> None:
        super().__init__(tokens.QUEUE, name, None, opts)
        queue = k8s.apiextensions.CustomResource(
            name,
            api_version=API_VERSION,
            kind="Queue",
            metadata={
                "annotations": {**TAKE_BACK, "pulumi.com/waitFor": WAIT_FOR_OPEN},
                "name": args.name,
            },
            spec=queue_spec(args),
            opts=pulumi.ResourceOptions(
                parent=self, custom_timeouts=pulumi.CustomTimeouts(create=OPEN_DEADLINE)
            ),
        )
        self.queue_name = queue.metadata["name"]
        self.register_outputs({"queue_name": self.queue_name})
