from rich.console import Console

from infra.rehearsal.scenarios.live import Stage, frame, gang_styles
from tests.support.recording import HALVES, RECORDING, STORY


def shown(width: int = 100) -> str:
    console = Console(width=width, record=True, color_system=None)
    with console.capture() as captured:
        console.print(frame(RECORDING, STORY.scenario, HALVES, width))
    return captured.get()


def test_each_gpu_has_a_lane_and_each_half_its_waste():
    text = shown()
    assert text.count("GPU 0") == text.count("GPU 1") == 2
    assert "Default scheduler" in text
    assert text.count("wasted ") == 2


def test_waste_shows_only_in_the_half_that_wastes():
    default, volcano = shown().split("Volcano")
    assert default.count("▒") > 20
    assert volcano.split("held in vain")[0].count("▒") == 1  # the legend's


def test_no_line_is_wider_than_the_terminal():
    for width in (60, 100, 180):
        assert max(map(len, shown(width).splitlines())) <= width


def test_each_job_has_a_colour_of_its_own():
    styles = gang_styles(STORY.scenario)
    assert len(set(styles.values())) == 4


def test_without_a_terminal_each_step_is_one_line():
    console = Console(width=100, force_terminal=False)
    with console.capture() as captured, Stage(console, STORY.scenario, HALVES) as stage:
        stage.show(RECORDING)
        stage.show(RECORDING)
    assert captured.get().count("Part 3.") == 1
