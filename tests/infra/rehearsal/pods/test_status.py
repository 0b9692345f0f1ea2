import pytest

from infra.rehearsal.pods.status import (
    ContainerState,
    pod_address,
    pod_phase,
    pod_status,
    restarts_after,
)


def _state(exit_code: int | None = None, *, started: bool = True) -> ContainerState:
    state = ContainerState(name="c", image="i")
    if started:
        state.start()
    if exit_code is not None:
        state.end(exit_code)
    return state


def _status(*states: ContainerState, policy: str = "Always") -> dict:
    return pod_status(
        states,
        started_at="2026-11-30T20:00:00Z",
        pod_address="100.64.0.1",
        node_address="10.0.0.1",
        restart_policy=policy,
    )


@pytest.mark.parametrize(
    ("code", "policy", "phase"),
    [
        (0, "Never", "Succeeded"),
        (3, "Never", "Failed"),
        (0, "OnFailure", "Succeeded"),
        (3, "OnFailure", "Running"),
        (0, "Always", "Running"),
        (None, "Never", "Running"),
    ],
)
def test_the_phase_follows_exit_code_and_restart_policy(
    code: int | None, policy: str, phase: str
) -> None:
    assert pod_phase([_state(code)], policy) == phase


def test_a_pod_is_pending_until_a_container_was_started() -> None:
    assert pod_phase([_state(started=False)], "Always") == "Pending"


def test_one_failed_container_fails_the_pod() -> None:
    assert pod_phase([_state(0), _state(1)], "Never") == "Failed"


def test_a_pod_is_ready_only_when_all_its_containers_are() -> None:
    first, second = _state(), _state()
    first.ready = True
    conditions = {item["type"]: item["status"] for item in _status(first, second)["conditions"]}
    assert conditions["Ready"] == "False"
    second.ready = True
    conditions = {item["type"]: item["status"] for item in _status(first, second)["conditions"]}
    assert conditions["Ready"] == conditions["ContainersReady"] == "True"


def test_an_ended_container_shows_its_code_and_is_not_ready() -> None:
    state = _state()
    state.ready = True
    state.end(75)
    (shown,) = _status(state, policy="Never")["containerStatuses"]
    assert shown["state"]["terminated"]["exitCode"] == 75
    assert shown["state"]["terminated"]["reason"] == "Error"
    assert not shown["ready"]


def test_a_container_in_back_off_keeps_its_last_end_and_counts() -> None:
    state = _state(2)
    state.back_off(4)
    (shown,) = _status(state)["containerStatuses"]
    assert shown["state"]["waiting"]["reason"] == "CrashLoopBackOff"
    assert "4s" in shown["state"]["waiting"]["message"]
    assert shown["lastState"]["terminated"]["exitCode"] == 2
    assert shown["restartCount"] == 1
    assert _status(state)["phase"] == "Running"


@pytest.mark.parametrize(
    ("code", "policy", "again"),
    [(0, "Always", True), (0, "OnFailure", False), (1, "OnFailure", True), (1, "Never", False)],
)
def test_restarts_follow_the_policy(code: int, policy: str, again: bool) -> None:
    assert restarts_after(code, policy) is again


def test_a_pods_address_is_its_own_and_stays() -> None:
    addresses = {pod_address(f"uid-{number}") for number in range(50)}
    assert len(addresses) == 50
    assert pod_address("uid-1") == pod_address("uid-1")
    assert all(64 <= int(address.split(".")[1]) <= 127 for address in addresses)
