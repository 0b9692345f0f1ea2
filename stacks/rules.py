"""Single-value rules of the settings, each a sentence: what is given, what is allowed, what to do.

Pure functions that return the value or raise ValueError; `stacks/settings.py` attaches them to
fields, so that each problem is reported under its own key path.
"""

import datetime
import ipaddress
import re
from collections.abc import Callable, Mapping, Sequence

from components import gpu, quantities, versions
from components.instance_types import INSTANCE_TYPES
from components.limits import BUCKET_NAME

VERSION_PATTERN = re.compile(r"^1\.\d{2}$")
OLDEST_KEPT_CUDA_MAJOR = 12
PRIVATE_NETWORKS = tuple(
    ipaddress.IPv4Network(cidr) for cidr in ("10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16")
)
"""RFC 1918."""
OTHER_PARTITIONS = ("cn-", "eu-isoe-", "eusc-", "us-gov-", "us-iso-", "us-isob-", "us-isof-")
"""Beginnings of regions outside the partition `aws` (botocore, partitions.json)."""
IMAGE_PATTERN = re.compile(
    r"[a-z0-9][a-z0-9._-]*(:\d+)?(/[a-z0-9][a-z0-9._-]*)*(:[A-Za-z0-9_][\w.-]{0,127})?"
    r"(@sha256:[0-9a-f]{64})?"
)
"""`registry:port/path:tag@digest`, as container runtimes read it."""
LONGEST_TAG_KEY = 128
LONGEST_TAG_VALUE = 256
MOST_TAGS = 40
"""AWS allows 50 tags on a resource; the stack and its providers need some."""
SMALLEST_MEMORY = "64Mi"


def refuse(problem: str) -> None:
    """Raise the one kind of error that settings validation collects."""
    raise ValueError(problem)


def spelled(pattern: str, what: str) -> Callable[[str], str]:
    """A rule that accepts what matches `pattern` as a whole and says `what` it must be."""
    compiled = re.compile(pattern)

    def rule(value: str) -> str:
        if not compiled.fullmatch(value):
            refuse(f"{value!r} is no {what}")
        return value

    return rule


def region(value: str) -> str:
    """Accept a region of the partition `aws`: the stack's ARNs begin with `arn:aws:`."""
    if not re.fullmatch(r"[a-z]{2,4}(-[a-z]+)+-\d", value):
        refuse(f"{value!r} is no AWS region; write for example us-east-1")
    if value.startswith(OTHER_PARTITIONS):
        refuse(
            f"{value!r} lies in a partition of its own (China, GovCloud, isolated regions), whose "
            "names differ; choose a region of the partition aws, such as us-east-1"
        )
    return value


def quantity(value: str) -> str:
    """Accept a Kubernetes quantity above zero."""
    if quantities.amount(value) <= 0:
        refuse(f"{value!r} is nothing; write a quantity above 0, for example 500m, 2 or 4Gi")
    return value


def memory(value: str) -> str:
    """Accept an amount of memory that a process can start in."""
    if quantities.amount(value) < quantities.amount(SMALLEST_MEMORY):
        refuse(f"{value!r} is too little memory; write {SMALLEST_MEMORY} or more, such as 4Gi")
    return value


def resources(values: Mapping[str, str]) -> Mapping[str, str]:
    """Accept quantities by resource; devices come whole."""
    for name, value in values.items():
        if "/" in name and quantities.amount(value) % 1:
            refuse(f"{name} is {value}; devices come whole, write for example 2")
    return values


def tags(values: Mapping[str, str]) -> Mapping[str, str]:
    """Accept tags that every AWS service takes."""
    if len(values) > MOST_TAGS:
        refuse(f"{len(values)} tags; allowed: {MOST_TAGS}, as AWS takes 50 on a resource in all")
    for key, value in values.items():
        if key.lower().startswith("aws:") or key.startswith("gangway:") or key == "Name":
            refuse(f"{key!r} is set by AWS or by the stack; rename it")
        if not re.fullmatch(r"[\w .:/=+@-]+", key) or len(key) > LONGEST_TAG_KEY:
            refuse(
                f"{_short(key)} is no tag key; up to {LONGEST_TAG_KEY} letters, digits, spaces "
                "and + - = . _ : / @"
            )
        if not re.fullmatch(r"[\w .:/=+@-]*", value) or len(value) > LONGEST_TAG_VALUE:
            refuse(
                f"{key!r} has the value {_short(value)}; up to {LONGEST_TAG_VALUE} letters, "
                "digits, spaces and + - = . _ : / @"
            )
    return values


def _short(value: str) -> str:
    return repr(value) if len(value) <= LONGEST_TAG_KEY // 2 else f"{value[:20]!r}… ({len(value)})"


def registry_mirrors(values: Mapping[str, str]) -> Mapping[str, str]:
    """Accept registry -> prefix of the images that serve it, both without a scheme."""
    for registry, mirror in values.items():
        if not re.fullmatch(r"[a-z0-9-]+(\.[a-z0-9-]+)+(:\d+)?", registry):
            refuse(f"{registry!r} is no registry; write its host name, for example docker.io")
        if not re.fullmatch(r"[a-z0-9.-]+(:\d+)?(/[a-z0-9._-]+)*/?", mirror):
            refuse(
                f"{registry} is served by {mirror!r}; write host and path without https://, for "
                "example 111122223333.dkr.ecr.us-east-1.amazonaws.com/docker-hub"
            )
    return values


def chart_repositories(values: Mapping[str, str]) -> Mapping[str, str]:
    """Accept chart -> the https:// address of a Helm repository."""
    known = sorted(pin.chart for pin in versions.CHARTS)
    for chart, address in values.items():
        if chart not in known:
            refuse(f"{chart!r} is no chart of this stack; allowed: {', '.join(known)}")
        if not re.fullmatch(r"https://\S+", address):
            refuse(f"{chart} comes from {address!r}; write an address that begins with https://")
    return values


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
    if any(ipaddress.IPv4Network(value).subnet_of(private) for private in PRIVATE_NETWORKS):
        refuse(
            f"{value!r} is a private range (RFC 1918), which EKS refuses here; list the public "
            "addresses you come from, as the private endpoint is always on"
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
    if not IMAGE_PATTERN.fullmatch(value):
        refuse(f"{value!r} is no image; write registry/path:tag, a digest (@sha256:…) if you like")
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
    if not BUCKET_NAME.fullmatch(value):
        refuse(
            f"{value!r} is no bucket name; 3 to 63 of a-z, 0-9 and hyphens, or leave it out "
            "and one is chosen"
        )
    return value


def key_prefix(value: str) -> str:
    """Accept an S3 key prefix that ends with a slash and cannot widen a policy."""
    whole = re.fullmatch(r"([A-Za-z0-9!_.-]+/)+", value)
    if whole is None or {".", ".."} & set(value.split("/")):
        refuse(
            f"{value!r} is no key prefix; letters, digits, ! _ . - and a slash at the end, "
            "for example logs/"
        )
    return value
