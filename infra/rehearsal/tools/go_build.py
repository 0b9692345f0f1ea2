"""Builds from published Go modules, pinned by the go.mod and go.sum files in go/."""

import contextlib
import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Final

from infra.rehearsal.tools.archive import place_file
from infra.rehearsal.tools.go_toolchain import ask, check_go, ensure_go, go_environment
from infra.rehearsal.tools.mirror import scratch
from infra.rehearsal.tools.model import SourceError, Step, Workshop

BUILD_MODULES: Final = Path(__file__).parent / "go"

_STOP_SECONDS: Final = 10


@dataclass(frozen=True, kw_only=True, slots=True)
class GoBuild:
    """A program built from `package` in our build module `go/<build_module>`.

    `variables` are set at link time. `embedded` files are copied out of the published module
    beside our own main, which embeds them.
    """

    build_module: str
    module: str
    module_version: str
    package: str
    entry: str
    variables: tuple[tuple[str, str], ...] = ()
    embedded: tuple[str, ...] = ()
    version: str | None = None
    needs: str | None = None
    kind: str = "Go build"
    seconds: int = 240

    def probe(self, workshop: Workshop) -> str:
        """Return module and version once a Go toolchain and the module can be had."""
        toolchain = _once(workshop, "go", lambda: check_go(workshop))
        name = f"{self.module}@{self.module_version}"
        if toolchain.startswith("/"):
            _once(workshop, name, lambda: self._look_up(toolchain))
        return f"{name} with {toolchain}"

    def fetch(self, folder: Path, workshop: Workshop, step: Step) -> None:
        """Build in a copy of our build module; the log stays in the cache's logs folder."""
        go = ensure_go(workshop, step)
        log = workshop.settings.cache / "logs" / f"{self.entry}-{self.module_version}.log"
        log.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(dir=scratch(workshop)) as temporary, log.open("wb") as written:
            source = Path(temporary) / "source"
            shutil.copytree(BUILD_MODULES / self.build_module, source)
            self._embed(go, source)
            built = Path(temporary) / self.entry
            code = _run(self._command(go, built), source, written, step)
            if code != 0:
                message = f"the Go build failed: {_last_line(log)} (log: {log})"
                raise SourceError(message)
            place_file(built, folder / self.entry)

    def _command(self, go: Path, built: Path) -> list[str]:
        flags = ["-s", "-w", *(f"-X {name}={value}" for name, value in self.variables)]
        return [
            *(str(go), "build", "-v", "-trimpath"),
            *("-ldflags", " ".join(flags)),
            *("-o", str(built), self.package),
        ]

    def _embed(self, go: Path, source: Path) -> None:
        if not self.embedded:
            return
        environment = go_environment()
        ask(
            [go, "mod", "download", self.module],
            environment=environment,
            folder=source,
            seconds=600,
        )
        place = ask(
            [go, "list", "-m", "-f", "{{.Dir}}", self.module],
            environment=environment,
            folder=source,
        )
        for name in self.embedded:
            shutil.copyfile(Path(place.strip()) / name, source / Path(name).name)

    def _look_up(self, go: str) -> str:
        with TemporaryDirectory() as empty:
            environment = {**go_environment(), "GOFLAGS": "-mod=mod"}
            name = f"{self.module}@{self.module_version}"
            return ask([go, "list", "-m", name], environment=environment, folder=Path(empty))


def _once(workshop: Workshop, key: str, question: Callable[[], str]) -> str:
    """Ask what several tools want to know a single time."""
    if key not in workshop.answers:
        try:
            workshop.answers[key] = question()
        except SourceError as error:
            workshop.answers[key] = error
    answer = workshop.answers[key]
    if isinstance(answer, SourceError):
        raise answer
    return answer


def _run(command: Sequence[str], folder: Path, written: IO[bytes], step: Step) -> int:
    """Run a build in its own process group, so that an interruption ends all of it."""
    with _process(command, folder) as process:
        output = process.stdout
        packages = 0
        for line in output or ():
            written.write(line)
            written.flush()
            packages += not line.startswith(b"go: ")
            step.detail(f"{packages} packages, {line.decode(errors='replace').strip()[-48:]}")
        return process.wait()


@contextlib.contextmanager
def _process(command: Sequence[str], folder: Path) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen(  # noqa: S603 a fixed argument list, no shell
        command,
        cwd=folder,
        env=go_environment(),
        start_new_session=True,
        stderr=subprocess.STDOUT,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            try:
                process.wait(timeout=_STOP_SECONDS)
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        if process.stdout:
            process.stdout.close()


def _last_line(log: Path) -> str:
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    return lines[-1].strip() if lines else "no output"
