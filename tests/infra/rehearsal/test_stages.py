import yaml

from infra.rehearsal import stages
from infra.rehearsal.pods.selection import real_pod_query


def _selectors(stage: dict) -> list[dict]:
    return stage["spec"]["selector"]["matchExpressions"]


def test_no_stage_touches_a_pod_that_runs_as_a_process() -> None:
    for stage in stages.pod_stages():
        assert {"key": real_pod_query(), "operator": "DoesNotExist"} in _selectors(stage)


def test_only_pods_of_batch_jobs_end_without_being_told() -> None:
    ending = [
        stage
        for stage in stages.pod_stages()
        if "terminated" in stage["spec"]["next"].get("statusTemplate", "").split("containerSt")[-1]
        and stage["metadata"]["name"].startswith("gangway-pod-end")
    ]
    assert len(ending) == 2
    for stage in ending:
        keys = " ".join(selector["key"] for selector in _selectors(stage))
        assert "gangway.dev/run-seconds" in keys or 'apiVersion == "batch/v1"' in keys


def test_stage_names_are_unique_and_the_file_is_plain_yaml() -> None:
    everything = [*stages.pod_stages(), *stages.node_stages()]
    names = [stage["metadata"]["name"] for stage in everything]
    assert len(names) == len(set(names))
    assert list(yaml.safe_load_all(yaml.safe_dump_all(everything))) == everything


def test_the_node_stages_are_each_others_inverse() -> None:
    down, up = stages.node_stages()
    assert 'status: "False"' in down["spec"]["next"]["statusTemplate"]
    assert 'status: "True"' in up["spec"]["next"]["statusTemplate"]
    operators = [_selectors(stage)[0]["operator"] for stage in (down, up)]
    assert operators == ["Exists", "DoesNotExist"]
