import json

import pytest

from tests.support.pod_environment import environment, variables
from trainer.environment import OPTIONAL, REQUIRED, read_environment
from trainer.exits import ConfigurationError


def test_a_pytorch_pod_reads_its_world_from_volcanos_variables() -> None:
    world = environment(RANK="1", WORLD_SIZE="8").world
    assert (world.rank, world.size) == (1, 8)
    assert (world.leader_host, world.leader_port) == ("127.0.0.1", 23456)


def test_a_tensorflow_pod_reads_its_world_from_tf_config() -> None:
    world = environment(GANGWAY_FRAMEWORK="tensorflow", MASTER_ADDR=None, RANK=None).world
    assert (world.rank, world.size) == (1, 2)
    assert (world.leader_host, world.leader_port) == ("w0.job", 2222)


def test_supervisors_meet_beside_the_frameworks_port() -> None:
    assert environment().world.rendezvous_port == 23556
    assert environment(GANGWAY_RENDEZVOUS_PORT="4000").world.rendezvous_port == 4000


def test_the_pod_group_tells_the_uid_of_the_job() -> None:
    assert environment().job.uid == "7a1c0d5e-uid"


def test_what_may_be_absent_is_none() -> None:
    found = environment()
    assert found.prices is None
    assert found.pod.zone is None
    assert found.kubernetes.host is None
    assert not found.allow_imds


def test_prices_are_read_as_a_document() -> None:
    assert environment(GANGWAY_PRICES='{"date": "2026-11-30"}').prices == {"date": "2026-11-30"}


@pytest.mark.parametrize("name", REQUIRED)
def test_rejects_a_missing_variable_by_name(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is not set"):
        environment(**{name: None})


@pytest.mark.parametrize("name", OPTIONAL)
def test_no_optional_variable_is_needed(name: str) -> None:
    assert environment(**{name: None})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"GANGWAY_EPOCHS": "0"}, "GANGWAY_EPOCHS is 0; it must be a whole number of at least 1"),
        ({"GANGWAY_SEED": "-1"}, "GANGWAY_SEED is '-1'"),
        ({"GANGWAY_FRAMEWORK": "jax"}, "'jax'; it must be pytorch or tensorflow"),
        ({"GANGWAY_MIXED_PRECISION": "yes"}, "'yes'; it must be true or false"),
        ({"GANGWAY_RESULTS_PREFIX": "logs"}, "'logs'; it must end with /"),
        ({"GANGWAY_EXPECTED_ROLE_ARN": "trainer"}, "must be the ARN of an IAM role"),
        ({"POD_GROUP_NAME": "other"}, "it must be gang-train-<uid of the job>"),
        ({"RANK": "2"}, "RANK is 2; it must be below the world size 2"),
        ({"MASTER_PORT": "70000"}, "MASTER_PORT is 70000; .* at most 65435"),
        ({"GANGWAY_PRICES": "[1]"}, "GANGWAY_PRICES is not a JSON object"),
        ({"GANGWAY_PRICES": "{"}, "GANGWAY_PRICES is not a JSON object"),
        ({"LIMIT_GPUS": "3"}, "256; it must be a multiple of the worker's 3 GPUs"),
        ({"GANGWAY_FRAMEWORK": "tensorflow", "TF_CONFIG": None}, "TF_CONFIG is not set"),
        ({"GANGWAY_FRAMEWORK": "tensorflow", "TF_CONFIG": "{}"}, "TF_CONFIG has no cluster"),
    ],
    ids=lambda value: ",".join(value) if isinstance(value, dict) else "",
)
def test_rejects_a_wrong_value(changes: dict[str, str | None], sentence: str) -> None:
    with pytest.raises(ConfigurationError, match=sentence):
        environment(**changes)


def test_every_problem_is_told_at_once() -> None:
    wrong = variables(GANGWAY_EPOCHS="x", AWS_REGION=None, JOB_VERSION="new")
    with pytest.raises(ConfigurationError) as refusal:
        read_environment(wrong)
    for name in ("GANGWAY_EPOCHS", "AWS_REGION", "JOB_VERSION"):
        assert name in str(refusal.value)


def test_an_ipv6_worker_address_keeps_its_host() -> None:
    config = {"cluster": {"worker": ["[fd00::1]:2222"]}, "task": {"index": 0}}
    found = environment(GANGWAY_FRAMEWORK="tensorflow", TF_CONFIG=json.dumps(config))
    assert found.world.leader_host == "[fd00::1]"
