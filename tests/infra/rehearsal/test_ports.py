import socket

import pytest

from infra.errors import GangwayError
from infra.rehearsal import ports


def test_the_same_port_is_not_handed_out_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda port: True)
    monkeypatch.setattr(ports, "candidates", lambda: iter([20_001, 20_001, 20_002]))
    monkeypatch.setattr(ports, "_handed_out", set())
    assert [ports.free_port(), ports.free_port()] == [20_001, 20_002]


def test_a_taken_port_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda port: port == 20_002)
    monkeypatch.setattr(ports, "candidates", lambda: iter([20_001, 20_002]))
    monkeypatch.setattr(ports, "_handed_out", set())
    assert ports.free_port() == 20_002


def test_rejects_a_machine_without_free_ports(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ports, "is_free", lambda port: False)
    with pytest.raises(GangwayError, match="no free port between 20000 and 31999"):
        ports.free_port()


def test_candidates_stay_below_the_ephemeral_range() -> None:
    assert all(ports.FIRST_PORT <= port <= ports.LAST_PORT < 32_768 for port in ports.candidates())


@pytest.mark.enable_socket
def test_a_port_in_use_is_not_free() -> None:
    with socket.socket() as listener:
        listener.bind((ports.LOOPBACK, 0))
        listener.listen()
        port = listener.getsockname()[1]
        assert not ports.is_free(port)
        assert ports.is_listening(port)
    assert not ports.is_listening(port)
