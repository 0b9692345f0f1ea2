"""Reading configuration: key paths, every problem at once, files and the engine's own bag."""

import json
from pathlib import Path

import pulumi
import pytest

from stacks import loader
from tests.support.settings import REMOVED, TODAY, raw, refused, settings

SENTENCES = {
    "unknown-section": (
        {"gpuNodez": {}},
        "gangway:gpuNodez is not a setting; did you mean gpuNodes?",
    ),
    "unknown-key": (
        {"network.vpcCdir": "10.0.0.0/16"},
        "gangway:network.vpcCdir is not a setting; did you mean vpcCidr? allowed:",
    ),
    "unknown-key-in-a-list": (
        {"queues": [{"name": "ml-queue", "wieght": 2}]},
        "gangway:queues[0].wieght is not a setting; did you mean weight?",
    ),
    "missing-key": (
        {"results.forceDestroy": REMOVED},
        "gangway:results.forceDestroy is missing; set it in the stack file",
    ),
    "missing-section": ({"network": REMOVED}, "gangway:network is missing"),
    "missing-region": ({"aws:region": REMOVED}, "aws:region is missing"),
    "number-for-text": (
        {"cluster.version": 1.3},
        "gangway:cluster.version is the number 1.3; write it as text in quotes",
    ),
    "text-for-number": (
        {"systemNodes.minSize": "two"},
        "gangway:systemNodes.minSize is 'two'; allowed: a whole number",
    ),
    "word-outside-the-list": (
        {"gpuNodes.capacityType": "spot"},
        "gangway:gpuNodes.capacityType is 'spot'; allowed: 'SPOT' or 'ON_DEMAND'",
    ),
    "number-below-the-range": (
        {"trainingJob.maxRetry": 3},
        "gangway:trainingJob.maxRetry is 3; allowed: greater than or equal to 4",
    ),
    "small-root-disk": (
        {"gpuNodes.diskGib": 20},
        "gangway:gpuNodes.diskGib is 20; allowed: greater than or equal to 100",
    ),
    "text-for-section": (
        {"network": "none"},
        "gangway:network is 'none'; allowed: a mapping of settings",
    ),
    "no-queue": ({"queues": []}, "gangway:queues is []"),
    "bad-pattern": (
        {"trainingJob.queue": "ml_queue"},
        "gangway:trainingJob.queue: 'ml_queue' is no Kubernetes name; up to 63",
    ),
    "ttl": (
        {"trainingJob.ttlSecondsAfterFinished": 60},
        "gangway:trainingJob.ttlSecondsAfterFinished is not a setting",
    ),
    "list-for-mapping": ({"tags": ["a"]}, "gangway:tags is ['a']"),
    "null": (
        {"gpuNodes.instanceTypes": None},
        "gangway:gpuNodes.instanceTypes is null; allowed: a list",
    ),
}


@pytest.mark.parametrize(("changes", "sentence"), SENTENCES.values(), ids=SENTENCES)
def test_rejects(changes: dict[str, object], sentence: str) -> None:
    found = refused(changes)
    assert any(item.startswith(sentence) for item in found), found


def test_rejects_a_bad_stack_name() -> None:
    assert refused({}, environment="Dev_1")[0].startswith(
        "the stack's name: 'Dev_1' is no environment;"
    )


def test_five_different_mistakes_get_five_sentences() -> None:
    found = refused(
        {
            "network.vpcCdir": "x",
            "cluster.version": 1.3,
            "gpuNodes.capacityType": "spot",
            "results.forceDestroy": REMOVED,
            "trainingJob.workers": 8,
        }
    )
    assert len(found) == 5


def test_a_faulty_part_of_a_list_is_one_mistake() -> None:
    (zones,) = refused({"network.availabilityZoneIds": ["use1-az4", "us-east-1a"]})
    assert zones.startswith("gangway:network.availabilityZoneIds[1]: 'us-east-1a' is no zone id")
    (queues,) = refused({"queues": [None]})
    assert queues == "gangway:queues[0] is null; allowed: a mapping of settings"


def test_a_joining_rule_still_speaks_beside_a_faulty_value() -> None:
    found = refused({"cluster.version": "1.24", "systemNodes.minSize": 9})
    assert any("minSize is 9, above maxSize 3" in item for item in found), found


def test_a_missing_value_with_no_stand_in_is_not_guessed_for_other_rules() -> None:
    (sentence,) = refused({"gpuNodes.instanceTypes": REMOVED})
    assert sentence.startswith("gangway:gpuNodes.instanceTypes is missing;")


def test_an_eks_taint_effect_becomes_the_kubernetes_one() -> None:
    accepted = settings({"gpuNodes.extraTaints": [{"key": "team", "effect": "NO_EXECUTE"}]})
    assert accepted.gpu_nodes.extra_taints[0].taint().effect == "NoExecute"


def test_the_stack_file_of_every_environment_loads() -> None:
    files = sorted(Path().glob("Pulumi.*.yaml"))
    loaded = {
        path.name: loader.parse(loader.load_stack_file(path), path.suffixes[0][1:], today=TODAY)
        for path in files
    }
    assert {"Pulumi.dev.yaml", "Pulumi.prod.yaml"} <= set(loaded)


def test_rejects_a_missing_stack_file_and_names_the_others(tmp_path: Path) -> None:
    (tmp_path / "Pulumi.dev.yaml").write_text("config: {}")
    with pytest.raises(loader.SettingsError, match=r"prod.yaml does not exist; .*Pulumi.dev.yaml"):
        loader.load_stack_file(tmp_path / "Pulumi.prod.yaml")


@pytest.mark.parametrize("text", ["config: [", "\t- x", "config:\n  a: b\n c: d"])
def test_rejects_a_stack_file_that_is_no_yaml(tmp_path: Path, text: str) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text(text)
    with pytest.raises(loader.SettingsError, match=r"Pulumi\.dev\.yaml is no YAML: "):
        loader.load_stack_file(path)


@pytest.mark.parametrize("text", ["", "[]", "config:", "config: 3", "other: {}"])
def test_rejects_a_stack_file_without_config(tmp_path: Path, text: str) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_text(text)
    with pytest.raises(loader.SettingsError, match="has no `config:` mapping"):
        loader.load_stack_file(path)


def test_rejects_a_stack_file_that_is_no_text(tmp_path: Path) -> None:
    path = tmp_path / "Pulumi.dev.yaml"
    path.write_bytes(b"\xff\xfe\x00config")
    with pytest.raises(loader.SettingsError, match="is no YAML"):
        loader.load_stack_file(path)


def test_reads_what_the_engine_hands_over(monkeypatch: pytest.MonkeyPatch) -> None:

    bag = {
        key: value if isinstance(value, str) else json.dumps(value)
        for key, value in raw({"cluster.version": "1.36"}).items()
    }
    monkeypatch.setattr(pulumi, "get_stack", lambda: "dev")
    token = pulumi.runtime.config.CONFIG.set(bag)
    try:
        assert loader.from_pulumi().cluster.version == "1.36"
    finally:
        pulumi.runtime.config.CONFIG.reset(token)
