"""Readiness probes against a local process."""

import subprocess
from collections.abc import Mapping
from typing import Any

import urllib3

from infra.rehearsal.ports import LOOPBACK, is_listening

_GOOD_STATUS = range(200, 400)


def holds(
    probe: Mapping[str, Any], ports: Mapping[int, int], environment: Mapping[str, str]
) -> bool:
    """Whether the probe succeeds now; ports are the container's, mapped to local ones."""
    if "httpGet" in probe:
        return _http(probe["httpGet"], ports)
    if "tcpSocket" in probe:
        return is_listening(_local(probe["tcpSocket"]["port"], ports))
    if "exec" in probe:
        return _command(probe["exec"]["command"], environment)
    return True


def _http(action: Mapping[str, Any], ports: Mapping[int, int]) -> bool:
    scheme = str(action.get("scheme", "HTTP")).lower()
    url = f"{scheme}://{LOOPBACK}:{_local(action['port'], ports)}{action.get('path', '/')}"
    pool = urllib3.PoolManager(cert_reqs="CERT_NONE", retries=False, timeout=1.0)
    try:
        return pool.request("GET", url).status in _GOOD_STATUS
    except urllib3.exceptions.HTTPError:
        return False


def _command(command: list[str], environment: Mapping[str, str]) -> bool:
    try:
        run = subprocess.run(  # noqa: S603 - the pod's own probe
            command, env=dict(environment), capture_output=True, timeout=5, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return run.returncode == 0


def _local(port: Any, ports: Mapping[int, int]) -> int:
    return ports.get(int(port), int(port)) if str(port).isdigit() else 0
