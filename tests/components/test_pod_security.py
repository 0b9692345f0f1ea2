"""Security contexts and namespace labels."""

import pytest

from components import pod_security


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("fsGroup", 1000),
        ("runAsGroup", 1000),
        ("runAsNonRoot", True),
        ("runAsUser", 1000),
        ("seccompProfile", {"type": "RuntimeDefault"}),
    ],
)
def test_pods_run_without_root_under_the_runtimes_seccomp_profile(key: str, value: object) -> None:
    assert pod_security.pod_security_context()[key] == value


def test_containers_gain_no_privilege() -> None:
    assert pod_security.container_security_context()["allowPrivilegeEscalation"] is False


def test_containers_have_no_capability() -> None:
    assert pod_security.container_security_context()["capabilities"] == {"drop": ["ALL"]}


def test_namespace_enforces_its_level() -> None:
    assert pod_security.namespace_labels("restricted") == {
        "pod-security.kubernetes.io/enforce": "restricted"
    }
