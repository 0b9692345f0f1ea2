"""What of the user's own environment must not reach a rehearsal."""

from collections.abc import MutableMapping
from typing import Final

from infra.rehearsal.ports import LOOPBACK

ENGINE_PREFIX: Final = "PULUMI_"
"""The user's engine: his passphrase, his access token, his backend, his experiments."""

NO_PROXY_NAMES: Final = ("NO_PROXY", "no_proxy")
"""Programs differ in which of the two they read."""

OWN_HOSTS: Final = (LOOPBACK, "localhost")


def shield(variables: MutableMapping[str, str]) -> None:
    """Take the user's Pulumi settings away, and keep calls of this machine off any proxy.

    A proxy itself stays: downloads of tools may need it. Called with `os.environ`, since the
    Automation API hands that to the engine and can only add to it.
    """
    for name in [name for name in variables if name.startswith(ENGINE_PREFIX)]:
        del variables[name]
    for name in NO_PROXY_NAMES:
        kept = [host for host in variables.get(name, "").split(",") if host]
        variables[name] = ",".join(dict.fromkeys([*kept, *OWN_HOSTS]))
