"""Single-value rules of the settings, each a sentence: what is given, what is allowed, what to do.

Pure functions that return the value or raise ValueError; `stacks/settings.py` attaches them to
fields, so that each problem is reported under its own key path.
"""

import datetime
import ipaddress
import re
from collections.abc import Iterable, Mapping, Sequence

from components import gpu, versions
from components.instance_types import INSTANCE_TYPES

VERSION_PATTERN = re.compile(r"^1\.\d{2}$")
OLDEST_KEPT_CUDA_MAJOR = 12


def refuse(problem: str) -> None:
    """Raise the one kind of error that settings validation collects."""
    raise ValueError(problem)


def kubernetes_version(value: str) -> str:
    """Accept `1.NN` that EKS still runs; anything else is refused with the list."""
    known = ", ".join(versions.EKS_KUBERNETES_SUPPORT)
    if not VERSION_PATTERN.match(value):
        refuse(f"{value!r} is no Kubernetes version; write major.minor in quotes, one of {known}")
    if value not in versions.EKS_KUBERNETES_SUPPORT:
        refuse(f"{value!r} is not offered by EKS; choose one of {known}")
    return value


def extended_support(version: str, *, allowed: bool, today: datetime.date) -> list[str]:
    """Say when `version` has left standard support and the higher price was not accepted."""
    support = versions.EKS_KUBERNETES_SUPPORT.get(version)
    if support is None or allowed:
        return []
    if today <= datetime.date.fromisoformat(support.standard_until):
        return []
    sentence = (
        f"version {version!r} left EKS standard support on {support.standard_until} and costs "
        "$0.60 instead of $0.10 an hour; choose a newer version or set allowExtendedSupport: true"
    )
    return [sentence]


def network_cidr(value: str) -> str:
    """Accept an IPv4 network in canonical form."""
    try:
        ipaddress.IPv4Network(value)
    except ValueError as error:
        refuse(f"{value!r} is no IPv4 network ({error}); write for example 10.20.0.0/16")
    return value


def vpc_cidr(value: str) -> str:
    """Accept a private IPv4 network that a VPC may have and that our subnets fit into."""
    network_cidr(value)
    network = ipaddress.IPv4Network(value)
    if not 16 <= network.prefixlen <= 20:  # noqa: PLR2004 - stated in the sentence
        refuse(
            f"{value!r} has prefix /{network.prefixlen}; allowed: /16 to /20, so that each zone "
            "gets a node subnet"
        )
    if not network.is_private:
        refuse(f"{value!r} is not a private range (RFC 1918); choose one such as 10.20.0.0/16")
    return value


def public_access_cidr(value: str) -> str:
    """Accept a network that may reach the public endpoint; the whole internet is refused."""
    network_cidr(value)
    if ipaddress.IPv4Network(value).prefixlen < 8:  # noqa: PLR2004 - stated in the sentence
        refuse(
            f"{value!r} opens the API server to the internet; list networks of your own, "
            "/8 or smaller"
        )
    return value


def distinct(values: Sequence[str], *, at_least: int, what: str) -> Sequence[str]:
    """Refuse repeated values and fewer than `at_least` of them."""
    if len(set(values)) < at_least or len(set(values)) != len(values):
        given = ", ".join(values) or "nothing"
        refuse(f"{given}; at least {at_least} distinct {what} are needed, each named once")
    return values


def instance_types(values: Sequence[str]) -> Sequence[str]:
    """Refuse an empty list, repeats, and types whose size is not known."""
    distinct(values, at_least=1, what="instance types")
    for value in values:
        if value not in INSTANCE_TYPES:
            known = ", ".join(INSTANCE_TYPES)
            refuse(f"{value!r} is not an instance type known here; choose from {known}")
    return values


def taint_effect(value: str) -> str:
    """Normalise `NoSchedule` and `NO_SCHEDULE` alike to the Kubernetes spelling."""
    by_eks = {eks: kubernetes for kubernetes, eks in gpu.EKS_TAINT_EFFECTS.items()}
    if value in gpu.EKS_TAINT_EFFECTS:
        return value
    if value in by_eks:
        return by_eks[value]
    allowed = ", ".join(gpu.EKS_TAINT_EFFECTS)
    refuse(f"{value!r} is no taint effect; allowed, in this spelling: {allowed}")
    return value


def image(value: str) -> str:
    """Accept an image with a full tag or digest; `latest`, no tag and deleted tags are refused."""
    if "@sha256:" in value:
        return value
    name, _, tag = value.rpartition(":")
    if not name or "/" in tag:
        refuse(f"{value!r} has no tag; name a full tag or a digest (image@sha256:…)")
    if tag == "latest":
        refuse(f"{value!r} changes under you; name a full tag or a digest (image@sha256:…)")
    if name.removeprefix("docker.io/") == "nvidia/cuda":
        major = tag.split(".", 1)[0]
        if not major.isdigit() or int(major) < OLDEST_KEPT_CUDA_MAJOR:
            refuse(
                f"{value!r} was deleted from the registry; use "
                f"{versions.TRAINING_IMAGES['pytorch']} or nvidia/cuda 12.9.2 or later"
            )
    return value


def bucket_name(value: str) -> str:
    """Accept a general-purpose S3 bucket name (3-63, lower case, digits, hyphens, dots refused)."""
    if not re.fullmatch(r"[a-z0-9][a-z0-9-]{1,61}[a-z0-9]", value):
        refuse(
            f"{value!r} is no bucket name; 3 to 63 of a-z, 0-9 and hyphens, or leave it out "
            "and one is chosen"
        )
    return value


def key_prefix(value: str) -> str:
    """Accept an S3 key prefix that ends with a slash and cannot widen a policy."""
    if not re.fullmatch(r"([A-Za-z0-9!_.-]+/)+", value):
        refuse(
            f"{value!r} is no key prefix; letters, digits, ! _ . - and a slash at the end, "
            "for example logs/"
        )
    return value


def mapping_names(values: Mapping[str, str], allowed: Iterable[str], what: str) -> None:
    """Refuse keys of `values` outside `allowed`."""
    unknown = sorted(set(values) - set(allowed))
    if unknown:
        refuse(f"{', '.join(unknown)}: no such {what}; allowed: {', '.join(sorted(allowed))}")
