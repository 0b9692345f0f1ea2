import json
from itertools import count
from pathlib import Path

import pytest

from infra.rehearsal.pods.selection import PROGRAMS
from infra.rehearsal.pods.translation import (
    AddressBook,
    PathTranslator,
    listen_arguments,
    translate_peers,
)

ROOT = Path("/state/root")
MOUNTS = {
    mount: ROOT / mount[1:]
    for mount in ("/opt/gangway/trainer", "/scratch", "/run/shared", "/etc/tls")
}


@pytest.mark.parametrize(
    ("text", "translated"),
    [
        ("/opt/gangway/trainer/x.py", "/state/root/opt/gangway/trainer/x.py"),
        ("/opt/gangway", "/state/root/opt/gangway"),
        ("/opt/gangway:/usr/lib", "/state/root/opt/gangway:/usr/lib"),
        ("--tls-cert-file=/etc/tls/tls.crt", "--tls-cert-file=/state/root/etc/tls/tls.crt"),
        ("/scratch", "/state/root/scratch"),
        ("/opt", "/opt"),
        ("/opt/gangway-other", "/opt/gangway-other"),
        ("/opt/gangway/other", "/opt/gangway/other"),
        ("/etc/tls2/a", "/etc/tls2/a"),
        ("s3://bucket/scratch/x", "s3://bucket/scratch/x"),
        ("/var/scratch", "/var/scratch"),
    ],
)
def test_only_mounted_paths_are_translated(text: str, translated: str) -> None:
    assert PathTranslator(MOUNTS, ROOT)(text) == translated


def test_a_translated_path_is_not_translated_again() -> None:
    root = Path("/scratch/state/root")
    translate = PathTranslator({"/scratch": root / "scratch"}, root)
    assert translate("/scratch/a") == "/scratch/state/root/scratch/a"


def test_a_container_without_mounts_keeps_its_paths() -> None:
    assert PathTranslator({}, ROOT)("/etc/tls") == "/etc/tls"


def _book() -> AddressBook:
    ports = count(30_000)
    return AddressBook(lambda: next(ports))


def test_all_ranks_find_the_master_at_the_same_local_port() -> None:
    book = _book()
    values = {"MASTER_ADDR": "gang-train-master-0.gang-train", "MASTER_PORT": "23456", "RANK": "1"}
    first, second = (
        translate_peers(values, namespace="training", subdomain="gang-train", book=book)
        for _ in range(2)
    )
    assert first == second
    assert first == {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "30000", "RANK": "1"}


def test_two_namespaces_get_different_ports() -> None:
    book = _book()
    values = {"MASTER_PORT": "23456", "MASTER_ADDR": "j-master-0.j"}
    one, two = (
        translate_peers(values, namespace=name, subdomain="j", book=book)["MASTER_PORT"]
        for name in ("a", "b")
    )
    assert one != two


def test_each_worker_of_a_tensorflow_cluster_gets_a_port_of_its_own() -> None:
    cluster = {"worker": ["j-worker-0.j:2222", "j-worker-1.j:2222"]}
    configuration = json.dumps({"cluster": cluster, "task": {"type": "worker", "index": 1}})
    values = translate_peers(
        {"TF_CONFIG": configuration}, namespace="training", subdomain="j", book=_book()
    )
    translated = json.loads(values["TF_CONFIG"])
    assert translated["cluster"]["worker"] == ["127.0.0.1:30000", "127.0.0.1:30001"]
    assert translated["task"] == {"type": "worker", "index": 1}


def test_other_names_stay() -> None:
    values = {"URL": "https://s3.amazonaws.com:443", "FILE": "a.json", "NAME": "gang-train"}
    translated = translate_peers(values, namespace="training", subdomain="gang-train", book=_book())
    assert translated == values


def test_a_pod_without_a_subdomain_keeps_its_environment() -> None:
    values = {"MASTER_ADDR": "a.b", "MASTER_PORT": "1"}
    assert translate_peers(values, namespace="n", subdomain=None, book=_book()) == values


def test_a_scheduler_listens_on_ports_of_its_own() -> None:
    ports = count(30_000)
    words, mapped = listen_arguments(
        PROGRAMS["vc-scheduler"],
        ["--leader-elect=false", "--listen-address=:9090"],
        lambda: next(ports),
    )
    assert words == [
        "--leader-elect=false",
        "--listen-address=127.0.0.1:30000",
        "--healthz-address=127.0.0.1:30001",
    ]
    assert mapped == {9090: 30_000, 11_251: 30_001}


def test_the_webhook_manager_listens_on_a_port_by_number() -> None:
    ports = count(30_000)
    words, mapped = listen_arguments(
        PROGRAMS["vc-webhook-manager"], ["--port=8443", "-v=4"], lambda: next(ports)
    )
    assert mapped[8443] == 30_001
    assert words[-2:] == ["--port=30001", "--listen-address=127.0.0.1"]
    assert "--port=8443" not in words
