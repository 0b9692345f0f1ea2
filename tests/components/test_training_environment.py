"""The variables that a training pod gets."""

import json
from typing import Any

import pytest

from components import training_environment
from tests.support.training import ROLE_ARN, environment


def variables(**changes: Any) -> dict[str, Any]:
    found = training_environment.variables(
        environment(**changes), container="trainer", gpus=2, max_retry=10
    )
    assert len({item["name"] for item in found}) == len(found)
    return {item["name"]: item.get("value", item.get("valueFrom")) for item in found}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("AWS_DEFAULT_REGION", "us-east-1"),
        ("AWS_EC2_METADATA_DISABLED", "true"),
        ("AWS_REGION", "us-east-1"),
        ("GANGWAY_BATCH_SIZE_PER_WORKER", "256"),
        ("GANGWAY_CHECKPOINT_INTERVAL_STEPS", "50"),
        ("GANGWAY_EPOCHS", "5"),
        ("GANGWAY_EXPECTED_ROLE_ARN", ROLE_ARN),
        ("GANGWAY_FRAMEWORK", "pytorch"),
        ("GANGWAY_MAX_RETRY", "10"),
        ("GANGWAY_MIXED_PRECISION", "false"),
        ("GANGWAY_RENDEZVOUS_TIMEOUT_SECONDS", "300"),
        ("GANGWAY_RESULTS_BUCKET", "results-1"),
        ("GANGWAY_RESULTS_PREFIX", "logs/"),
        ("GANGWAY_SEED", "1"),
        ("GANGWAY_SERVICE_ACCOUNT_DIR", "/var/run/secrets/kubernetes.io/serviceaccount"),
        ("LIMIT_GPUS", "2"),
    ],
)
def test_value(name: str, value: str) -> None:
    assert variables()[name] == value


@pytest.mark.parametrize(
    ("name", "path"),
    [
        ("JOB_NAME", "metadata.labels['volcano.sh/job-name']"),
        ("JOB_VERSION", "metadata.annotations['volcano.sh/job-version']"),
        ("NODE_NAME", "spec.nodeName"),
        ("POD_GROUP_NAME", "metadata.annotations['scheduling.k8s.io/group-name']"),
        ("POD_IP", "status.podIP"),
        ("POD_NAME", "metadata.name"),
        ("POD_NAMESPACE", "metadata.namespace"),
        ("POD_UID", "metadata.uid"),
        ("QUEUE_NAME", "metadata.labels['volcano.sh/queue-name']"),
        ("SERVICE_ACCOUNT_NAME", "spec.serviceAccountName"),
        ("TASK_NAME", "metadata.annotations['volcano.sh/task-spec']"),
        ("ZONE", "metadata.labels['topology.kubernetes.io/zone']"),
    ],
)
def test_downward_field(name: str, path: str) -> None:
    assert variables()[name] == {"fieldRef": {"apiVersion": "v1", "fieldPath": path}}


@pytest.mark.parametrize(
    ("name", "resource", "unit"),
    [
        ("LIMIT_CPU_MILLICORES", "limits.cpu", "1m"),
        ("LIMIT_MEMORY_BYTES", "limits.memory", "1"),
    ],
)
def test_limit_of_the_container(name: str, resource: str, unit: str) -> None:
    assert variables()[name] == {
        "resourceFieldRef": {"containerName": "trainer", "divisor": unit, "resource": resource}
    }


def test_mixed_precision_is_spelled_as_the_trainer_reads_it() -> None:
    assert variables(mixed_precision=True)["GANGWAY_MIXED_PRECISION"] == "true"


def test_without_prices_there_is_no_variable() -> None:
    assert "GANGWAY_PRICES" not in variables()


def test_prices_are_text_that_does_not_depend_on_their_order() -> None:
    text = variables(prices={"region": "us-east-1", "date": "2026-11-30"})["GANGWAY_PRICES"]
    assert text == '{"date": "2026-11-30", "region": "us-east-1"}'
    assert json.loads(text)["region"] == "us-east-1"


def test_rejects_a_framework_without_a_launcher() -> None:
    with pytest.raises(ValueError, match="framework is 'jax'; allowed: pytorch, tensorflow"):
        environment(framework="jax")


@pytest.mark.parametrize(
    "field",
    ["batch_size_per_worker", "checkpoint_interval_steps", "epochs", "rendezvous_timeout_seconds"],
)
def test_rejects_numbers_that_train_nothing(field: str) -> None:
    with pytest.raises(ValueError, match=f"{field} is 0; allowed: 1 or more"):
        environment(**{field: 0})


def test_rejects_a_prefix_without_a_slash() -> None:
    with pytest.raises(ValueError, match="results_prefix is 'logs'; it must end with /"):
        environment(results_prefix="logs")
