"""What of the user's own environment must not reach a rehearsal."""

import os
from collections.abc import MutableMapping
from typing import Final

from infra.rehearsal.ports import LOOPBACK

PREFIXES: Final = ("AWS_", "HELM_", "PULUMI_")
"""The user's own account, releases and engine: profile, passphrase, access token, backend."""

NO_FILES: Final = ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE")
"""Set to nothing: left out, they are looked for in the user's home."""

EVERY_HOST: Final = "*"

NO_PROXY_NAMES: Final = ("NO_PROXY", "no_proxy")
"""Programs differ in which of the two they read."""

OWN_HOSTS: Final = (LOOPBACK, "localhost")


def shield(variables: MutableMapping[str, str]) -> None:
    """Take the user's AWS, Helm and Pulumi settings away; call this machine without a proxy.

    A proxy itself stays: downloads of tools may need it. Called with `os.environ`, since the
    Automation API hands that to the engine and can only add to it.
    """
    for name in [name for name in variables if name.startswith(PREFIXES)]:
        del variables[name]
    variables.update(dict.fromkeys(NO_FILES, os.devnull))
    direct = dict.fromkeys(
        host for name in NO_PROXY_NAMES for host in variables.get(name, "").split(",") if host
    )
    hosts = [EVERY_HOST] if EVERY_HOST in direct else [*(direct | dict.fromkeys(OWN_HOSTS))]
    variables.update(dict.fromkeys(NO_PROXY_NAMES, ",".join(hosts)))
