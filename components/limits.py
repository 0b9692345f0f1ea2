"""What AWS and Volcano refuse, as plain data that components and settings both hold to."""

import re
from typing import Final

BUCKET_NAME: Final = re.compile(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]")
"""S3's naming rules for general purpose buckets, without dots, which break TLS host names."""

FEWEST_ZONES: Final = 2
"""EKS refuses a cluster whose subnets lie in one zone (CreateCluster, vpcConfig)."""

MOST_ZONES: Final = 7
"""An eighth of the VPC for each zone's nodes; the last eighth is shared by the public subnets."""

RESERVED_QUEUES: Final = ("default", "root")
"""Volcano makes these itself and refuses to delete them (its queue webhook)."""

ZONES_WITHOUT_EKS: Final = frozenset({"cac1-az3", "use1-az3", "usw1-az2"})
"""Zones in which EKS places no control plane (EKS user guide, subnet requirements)."""
