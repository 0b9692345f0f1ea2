"""Names that two sides spell alike."""

import pytest

from components import gpu


@pytest.mark.parametrize(
    ("kubernetes", "eks"),
    [
        ("NoSchedule", "NO_SCHEDULE"),
        ("NoExecute", "NO_EXECUTE"),
        ("PreferNoSchedule", "PREFER_NO_SCHEDULE"),
    ],
)
def test_effect_in_both_spellings(kubernetes: str, eks: str) -> None:
    assert gpu.Taint(key="team", value="a", effect=kubernetes).eks_effect == eks


@pytest.mark.parametrize("effect", ["NO_SCHEDULE", "noschedule", "NoScheduel", ""])
def test_rejects_an_effect_that_kubernetes_does_not_know(effect: str) -> None:
    allowed = "allowed: NoSchedule, NoExecute, PreferNoSchedule"
    with pytest.raises(ValueError, match=f"taint team: effect is '{effect}'; {allowed}"):
        gpu.Taint(key="team", value="a", effect=effect)


def test_the_gpu_taint() -> None:
    taint = gpu.GPU_TAINT
    assert (taint.key, taint.value, taint.effect) == ("nvidia.com/gpu", "present", "NoSchedule")


def test_a_toleration_asks_for_key_and_effect_and_takes_any_value() -> None:
    assert gpu.GPU_TAINT.toleration() == {
        "key": "nvidia.com/gpu",
        "operator": "Exists",
        "effect": "NoSchedule",
    }


def test_the_autoscaler_reads_value_and_effect_in_kubernetes_spelling() -> None:
    assert gpu.GPU_TAINT.autoscaler_tag_value == "present:NoSchedule"
