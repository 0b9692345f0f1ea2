"""Schemas: closed without losing what the CRD keeps open."""

from infra.preview import schemas


def test_a_closed_schema_refuses_unknown_keys_at_every_depth() -> None:
    schema = {"properties": {"a": {"items": {"properties": {"b": {"type": "string"}}}}}}
    closed = schemas.closed(schema)
    assert closed["additionalProperties"] is False
    assert closed["properties"]["a"]["items"]["additionalProperties"] is False


def test_what_the_crd_keeps_open_stays_open() -> None:
    open_object = {"properties": {"a": {}}, "x-kubernetes-preserve-unknown-fields": True}
    assert "additionalProperties" not in schemas.closed(open_object)
    mapping = {"additionalProperties": {"type": "string"}}
    assert schemas.closed(mapping) == mapping


def test_a_pod_template_is_checked() -> None:
    assert schemas.pod_template_problems({"spec": {"containers": [{"name": "x"}]}}) == []
    assert schemas.pod_template_problems({"spec": {"container": []}}) != []


def test_an_unknown_kind_has_no_schema() -> None:
    assert schemas.kubernetes_problems({"apiVersion": "v1", "kind": "Nothing"}) is None
