import io
from contextlib import suppress

from rich.console import Console

from infra.rehearsal.tools.progress import ConsoleReporter


def printed(*, terminal: bool, stops: type[BaseException] | None = None) -> str:
    text = io.StringIO()
    console = Console(file=text, force_terminal=terminal, width=120)
    with (
        suppress(KeyboardInterrupt),
        ConsoleReporter(console) as reporter,
        reporter.step("etcd [x] (Go build)") as step,
    ):
        step.detail("3 packages, [y]")
        step.advance(5, 10)
        if stops:
            raise stops
    return text.getvalue()


def test_a_log_gets_a_line_at_the_start_and_one_at_the_end() -> None:
    assert printed(terminal=False).splitlines() == [
        "etcd [x] (Go build) …",
        "etcd [x] (Go build): done in 0 s",
    ]


def test_a_terminal_keeps_only_the_line_at_the_end() -> None:
    assert "etcd [x] (Go build): done in 0 s" in printed(terminal=True)
    assert "etcd [x] (Go build) …" not in printed(terminal=True)


def test_an_interrupted_step_is_not_called_done() -> None:
    assert printed(terminal=False, stops=KeyboardInterrupt) == "etcd [x] (Go build) …\n"
