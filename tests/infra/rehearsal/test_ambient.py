"""What a rehearsal takes over from its user, and what not."""

import pytest

from infra.rehearsal.ambient import NO_PROXY_NAMES, shield


@pytest.mark.parametrize(
    "name", ["PULUMI_CONFIG_PASSPHRASE", "PULUMI_ACCESS_TOKEN", "PULUMI_DIY_BACKEND_GZIP"]
)
def test_the_users_engine_settings_do_not_count(name: str) -> None:
    variables = {name: "the user's", "PATH": "/bin"}
    shield(variables)
    assert name not in variables
    assert variables["PATH"] == "/bin"


@pytest.mark.parametrize("name", NO_PROXY_NAMES)
def test_this_machine_is_reached_without_a_proxy(name: str) -> None:
    variables = {"HTTPS_PROXY": "http://proxy:3128", name: "corp.example,localhost"}
    shield(variables)
    assert variables[name] == "corp.example,localhost,127.0.0.1"


def test_a_proxy_stays_for_the_rest_of_the_world() -> None:
    variables = {"HTTPS_PROXY": "http://proxy:3128"}
    shield(variables)
    assert variables["HTTPS_PROXY"] == "http://proxy:3128"


def test_it_can_be_done_twice() -> None:
    variables: dict[str, str] = {}
    shield(variables)
    once = dict(variables)
    shield(variables)
    assert variables == once
