"""The emulated account as a resource type sees it: clients to moto, the store, the clock."""

import functools
import threading
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from infra.rehearsal.aws import server
from infra.rehearsal.aws.clock import Clock
from infra.rehearsal.aws.store import Store
from infra.rehearsal.kubernetes_api import KubernetesApi
from infra.rehearsal.state import StateFolder

ACCOUNT_ID: Final = "123456789012"
"""moto's account."""
PARTITION: Final = "aws"


DEFAULT_REGION: Final = "us-east-1"


def remember_region(state_dir: Path, region: str) -> None:
    """Keep the region that the stack runs in, for those who see only the state folder."""
    file = state_dir / "aws" / "region"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(region, "utf-8")


def remembered_region(state_dir: Path) -> str:
    """Return the region that the stack runs in."""
    file = state_dir / "aws" / "region"
    return file.read_text("utf-8") if file.exists() else DEFAULT_REGION


@dataclass(kw_only=True)
class Account:
    """Everything a resource type needs to act on the emulated account of one rehearsal."""

    state_dir: Path
    region: str
    clock: Clock = field(default_factory=Clock)
    _clients: dict[tuple[str, str, str], Any] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    @functools.cached_property
    def store(self) -> Store:
        """What moto does not model."""
        return Store(self.state_dir / "aws" / "store.sqlite")

    def client(self, service: str) -> Any:
        """Return the client of a service, pointed at moto."""
        endpoint = server.running(self.state_dir).endpoint
        key = (service, self.region, endpoint)
        with self._lock:
            if key not in self._clients:
                self._clients[key] = _client(service, self.region, endpoint)
            return self._clients[key]

    @property
    def kubernetes(self) -> KubernetesApi | None:
        """The local control plane that stands for the cluster's, if one runs."""
        state = StateFolder(self.state_dir)
        return KubernetesApi.of(state) if state.section("kubernetes") else None

    def arn(self, service: str, path: str, *, is_global: bool = False) -> str:
        """Return an ARN of this account."""
        region = "" if is_global else self.region
        return f"arn:{PARTITION}:{service}:{region}:{ACCOUNT_ID}:{path}"


def _client(service: str, region: str, endpoint: str) -> Any:
    # A fifth of a second that whoever only looks at an account, or plans, need not spend.
    import boto3  # noqa: PLC0415 - see above
    from botocore.config import Config  # noqa: PLC0415 - see above

    return boto3.client(
        service,
        endpoint_url=endpoint,
        region_name=region,
        aws_access_key_id="rehearsal",
        aws_secret_access_key="rehearsal",  # noqa: S106 - moto takes any
        config=Config(
            retries={"total_max_attempts": 1},
            max_pool_connections=50,
            s3={"addressing_style": "path"},
        ),
    )
