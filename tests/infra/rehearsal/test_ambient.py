"""What a rehearsal takes over from its user, and what not."""

import os

import pytest

from infra.rehearsal.ambient import NO_FILES, NO_PROXY_NAMES, shield


@pytest.mark.parametrize(
    "name",
    [
        "AWS_PROFILE",
        "AWS_SESSION_TOKEN",
        "HELM_DRIVER",
        "PULUMI_ACCESS_TOKEN",
        "PULUMI_CONFIG_PASSPHRASE",
        "PULUMI_DIY_BACKEND_GZIP",
    ],
)
def test_the_users_own_settings_do_not_count(name: str) -> None:
    variables = {name: "the user's", "PATH": "/bin"}
    shield(variables)
    assert name not in variables
    assert variables["PATH"] == "/bin"


@pytest.mark.parametrize("name", NO_FILES)
def test_no_file_of_the_users_home_is_read(name: str) -> None:
    variables = {name: "/home/someone/.aws/config"}
    shield(variables)
    assert variables[name] == os.devnull


@pytest.mark.parametrize("given", NO_PROXY_NAMES)
@pytest.mark.parametrize("read", NO_PROXY_NAMES)
def test_this_machine_is_reached_without_a_proxy_whichever_name_a_program_reads(
    given: str, read: str
) -> None:
    variables = {"HTTPS_PROXY": "http://proxy:3128", given: "corp.example,localhost"}
    shield(variables)
    assert variables[read] == "corp.example,localhost,127.0.0.1"


def test_a_user_without_any_proxy_stays_so() -> None:
    variables = {"no_proxy": "*"}
    shield(variables)
    assert {variables[name] for name in NO_PROXY_NAMES} == {"*"}


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
