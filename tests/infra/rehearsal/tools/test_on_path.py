from pathlib import Path

import pytest

from infra.rehearsal.tools.model import PathRule, SourceError
from infra.rehearsal.tools.on_path import check_need, find_on_path
from tests.support.tools import nowhere, program, tool_of

RULE = PathRule(arguments=("--version",))


def test_a_fitting_program_is_taken(tmp_path: Path) -> None:
    path = program(tmp_path, "thing", "thing version v1.2.9")
    assert find_on_path(tool_of(), RULE, lambda _: str(path)) == path


def test_rejects_an_old_version(tmp_path: Path) -> None:
    path = program(tmp_path, "thing", "thing version v1.1.9")
    with pytest.raises(SourceError, match=r"/thing is version 1\.1\.9, which does not fit 1\.2\.3"):
        find_on_path(tool_of(), RULE, lambda _: str(path))


def test_rejects_a_program_that_tells_no_version(tmp_path: Path) -> None:
    path = program(tmp_path, "thing", "devel")
    with pytest.raises(SourceError, match="/thing does not tell its version"):
        find_on_path(tool_of(), RULE, lambda _: str(path))


def test_rejects_a_program_that_fails(tmp_path: Path) -> None:
    path = tmp_path / "thing"
    path.write_text("#!/bin/sh\necho broken >&2; exit 3\n", encoding="utf-8")
    path.chmod(0o755)
    with pytest.raises(SourceError, match="thing failed: broken"):
        find_on_path(tool_of(), RULE, lambda _: str(path))


def test_rejects_a_program_that_is_not_there() -> None:
    with pytest.raises(SourceError, match="not on PATH"):
        find_on_path(tool_of(), RULE, nowhere)


def test_a_met_need_passes(tmp_path: Path) -> None:
    path = program(tmp_path, "node", "v18.0.0")
    check_need("node>=18", lambda _: str(path))


def test_rejects_a_need_that_is_not_there() -> None:
    with pytest.raises(SourceError, match="it needs node 18 or later on PATH"):
        check_need("node>=18", nowhere)


def test_rejects_a_need_that_is_too_old(tmp_path: Path) -> None:
    path = program(tmp_path, "node", "v16.20.2")
    with pytest.raises(SourceError, match=r"needs node 18 or later on PATH, \S+ is 16\.20\.2"):
        check_need("node>=18", lambda _: str(path))
