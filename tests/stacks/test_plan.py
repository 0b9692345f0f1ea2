"""What the layers share is derived once, from the settings alone."""

import pulumi

from components import gpu
from stacks.plan import after, plan_for
from tests.support.settings import settings


def test_everything_is_named_after_the_environment() -> None:
    assert plan_for(settings(environment="dev")).name == "gangway-dev"


def test_every_resource_says_whose_it_is_and_what_the_settings_add() -> None:
    assert plan_for(settings({"tags": {"cost-center": "ml"}})).tags == {
        "cost-center": "ml",
        "gangway:environment": "dev",
        "gangway:project": "gangway",
    }


def test_extra_taints_join_the_gpu_taint_in_kubernetes_spelling() -> None:
    plan = plan_for(settings({"gpuNodes.extraTaints": [{"key": "team", "effect": "NO_EXECUTE"}]}))
    assert plan.gpu_taints == (
        gpu.GPU_TAINT,
        gpu.Taint(key="team", value="", effect="NoExecute"),
    )


def test_a_part_waits_for_those_before_it() -> None:
    class Part(pulumi.Resource):
        def __init__(self) -> None:
            """Register nothing: only its place in the options counts."""

    earlier = Part()
    assert after(earlier, protect=True).depends_on == [earlier]
    assert after(earlier, protect=True).protect is True
