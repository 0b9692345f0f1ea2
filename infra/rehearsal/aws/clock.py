"""How long AWS takes, times a factor: near 0 for a quick rehearsal, 1 to try a forecast."""

import os
import threading
from dataclasses import dataclass, field
from typing import Final

TIME_FACTOR_VARIABLE: Final = "GANGWAY_AWS_TIME_FACTOR"
TIMEOUT_FLOOR_VARIABLE: Final = "GANGWAY_AWS_TIMEOUT_SECONDS"

CREATE_SECONDS: Final = {
    # 8 min 33 s in a log of November 2024 (DevopsArtFactory #46); "9 minutes or less" (AWS, 2021).
    "aws:eks/cluster:Cluster": 513.0,
    # 2 to 3 min from the call to ACTIVE with one node: common experience, not measured.
    "aws:eks/nodeGroup:NodeGroup": 150.0,
    # 1.5 to 2 min: common experience, not measured.
    "aws:ec2/natGateway:NatGateway": 105.0,
    # Interface endpoints take about a minute: common experience, not measured.
    "aws:ec2/vpcEndpoint:VpcEndpoint": 30.0,
    "aws:ec2/internetGateway:InternetGateway": 1.0,
    "aws:eks/addon:Addon": 15.0,
}
"""Seconds that a create takes on AWS; what is not named here answers within a second or two."""

DELETE_SECONDS: Final = {
    "aws:eks/cluster:Cluster": 180.0,
    "aws:eks/nodeGroup:NodeGroup": 240.0,
    "aws:ec2/natGateway:NatGateway": 60.0,
}
"""Seconds that a delete takes on AWS: common experience, not measured."""

ADDON_TIMEOUT_SECONDS: Final = 1200.0
"""20 minutes (pulumi-eks #1525, #1819: CoreDNS without a node waits that long, then fails)."""
NODE_GROUP_TIMEOUT_SECONDS: Final = 3600.0
"""The provider's default for a node group (registry, aws.eks.NodeGroup, timeouts: 60 min)."""


class CancelledError(Exception):
    """The engine asked to stop."""


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Waits what AWS would, scaled, and stops waiting when the run is cancelled."""

    factor: float = 0.0
    timeout_floor_seconds: float = 90.0
    cancelled: threading.Event = field(default_factory=threading.Event)

    @staticmethod
    def from_environment() -> "Clock":
        """Return the clock that the environment variables ask for."""
        return Clock(
            factor=float(os.environ.get(TIME_FACTOR_VARIABLE, "0")),
            timeout_floor_seconds=float(os.environ.get(TIMEOUT_FLOOR_VARIABLE, "90")),
        )

    def pass_time(self, seconds: float) -> None:
        """Let `seconds` of AWS's time pass."""
        if self.cancelled.wait(seconds * self.factor):
            raise CancelledError

    def patience(self, seconds: float) -> float:
        """Return how long to wait for what AWS gives up on after `seconds`."""
        return max(seconds * self.factor, self.timeout_floor_seconds)
