from pathlib import Path

import pytest

from infra.rehearsal.tools.model import SourceError, Workshop
from infra.rehearsal.tools.official import HelmChart, ReleaseFile
from infra.rehearsal.tools.settings import Machine
from infra.rehearsal.tools.web import Web
from tests.support.tools import LINUX, Reply, SilentStep, sha256, tar_of, tiny_web, workshop_in

pytestmark = pytest.mark.enable_socket

PROGRAM = b"program"


def online(folder: Path, machine: Machine = LINUX) -> Workshop:
    return workshop_in(folder, web=Web(), machine=machine)


def fetch(folder: Path, source: ReleaseFile | HelmChart) -> bytes:
    target = folder / "target"
    target.mkdir()
    source.fetch(target, online(folder), SilentStep())
    return (target / source.entry).read_bytes()


def test_a_program_is_checked_against_the_bare_sum_beside_it(tmp_path: Path) -> None:
    routes = {"/linux/amd64/thing": Reply(PROGRAM), "/sum": Reply(sha256(PROGRAM).encode())}
    with tiny_web(routes) as web:
        source = ReleaseFile(
            url=f"{web.url}/{{os}}/{{arch}}/thing", checksums=f"{web.url}/sum", entry="thing"
        )
        assert fetch(tmp_path, source) == PROGRAM


def test_an_archive_is_checked_against_the_list_of_the_release(tmp_path: Path) -> None:
    archive = tar_of({"thing-linux/thing": PROGRAM})
    sums = f"{'0' * 64}  other.tgz\n{sha256(archive)}  thing.tgz\n".encode()
    with tiny_web({"/thing.tgz": Reply(archive), "/sums": Reply(sums)}) as web:
        source = ReleaseFile(
            url=f"{web.url}/thing.tgz",
            checksums=f"{web.url}/sums",
            member="thing-{os}/thing",
            entry="thing",
        )
        assert fetch(tmp_path, source) == PROGRAM


def test_rejects_a_download_with_another_sum(tmp_path: Path) -> None:
    with tiny_web({"/thing": Reply(PROGRAM), "/sum": Reply(b"0" * 64)}) as web:
        source = ReleaseFile(url=f"{web.url}/thing", checksums=f"{web.url}/sum", entry="thing")
        with pytest.raises(SourceError, match=r"has the sum \w{12}…, its publisher says 0{12}…"):
            fetch(tmp_path, source)


def test_rejects_a_list_without_the_file(tmp_path: Path) -> None:
    with tiny_web({"/thing": Reply(PROGRAM), "/sum": Reply(b"00  other\n")}) as web:
        source = ReleaseFile(url=f"{web.url}/thing", checksums=f"{web.url}/sum", entry="thing")
        with pytest.raises(SourceError, match="/sum lists no sum for thing"):
            fetch(tmp_path, source)


def test_rejects_a_release_that_has_nothing_for_this_machine(tmp_path: Path) -> None:
    with tiny_web({"/thing-linux": Reply(PROGRAM)}) as web:
        source = ReleaseFile(url=f"{web.url}/thing-{{os}}", entry="thing")
        mac = Machine(system="darwin", architecture="arm64")
        with pytest.raises(SourceError, match="/thing-darwin: HTTP 404"):
            source.probe(online(tmp_path, mac))


def test_pulumi_spells_amd64_in_its_own_way(tmp_path: Path) -> None:
    with tiny_web({"/thing-x64": Reply(PROGRAM)}) as web:
        source = ReleaseFile(url=f"{web.url}/thing-{{pulumi_arch}}", entry="thing")
        assert source.probe(online(tmp_path)) == f"{web.url}/thing-x64"


def chart_of(url: str) -> HelmChart:
    return HelmChart(repository=url, chart="thing", chart_version="1.2.3", entry="thing.tgz")


def index(version: str = "1.2.3", digest: str = "") -> Reply:
    text = f"entries: {{thing: [{{version: {version}, urls: [thing.tgz], digest: '{digest}'}}]}}"
    return Reply(text.encode())


def test_a_chart_is_found_and_checked_by_its_index(tmp_path: Path) -> None:
    routes = {"/index.yaml": index(digest=sha256(b"chart")), "/thing.tgz": Reply(b"chart")}
    with tiny_web(routes) as web:
        assert fetch(tmp_path, chart_of(web.url)) == b"chart"


def test_rejects_a_chart_that_differs_from_the_index(tmp_path: Path) -> None:
    routes = {"/index.yaml": index(digest="0" * 64), "/thing.tgz": Reply(b"chart")}
    with tiny_web(routes) as web, pytest.raises(SourceError, match="its publisher says"):
        fetch(tmp_path, chart_of(web.url))


def test_rejects_a_chart_that_the_index_does_not_list(tmp_path: Path) -> None:
    with (
        tiny_web({"/index.yaml": index(version="9.9.9")}) as web,
        pytest.raises(SourceError, match=r"index\.yaml lists no thing 1\.2\.3"),
    ):
        chart_of(web.url).probe(online(tmp_path))


@pytest.mark.parametrize("body", [b"a: [", b"just text", b""], ids=["broken", "text", "empty"])
def test_rejects_an_index_that_is_none(tmp_path: Path, body: bytes) -> None:
    with (
        tiny_web({"/index.yaml": Reply(body)}) as web,
        pytest.raises(SourceError, match=r"/index\.yaml is no index of a Helm repository"),
    ):
        chart_of(web.url).probe(online(tmp_path))
