"""Both reports of a service without analyses: what it can't tell is said, and nothing breaks."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import httpx2
import pytest

import sourcelight as sl
from lab.reports.report_values import value
from server.loopback_tls import TLS
from server.served import serving
from sourcelight.lab.reports import changes, contributors
from sourcelight.testing import RepositoryBuilder

pytestmark = [pytest.mark.slow, pytest.mark.timeout(120), pytest.mark.filterwarnings("ignore:.*:UserWarning")]

TOKEN = "slo_made-up-for-these-tests"
BEN = "Ben <ben@example.org>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two people, a merge, two tags."""
    repo = RepositoryBuilder(tmp_path_factory.mktemp("served") / "demo")
    repo.commit({"a.py": "one\ntwo\n"}, "begin")
    repo.tag("v1")
    repo.branch("side")
    repo.switch("side")
    repo.commit({"b.py": "y\n"}, "side work", author=BEN)
    repo.switch("main")
    repo.commit({"a.py": "one\nthree\n"}, "change", author="Ada E. <Ada@example.org>")
    repo.merge("side", "join")
    repo.tag("v2")
    return repo.path.parent


@pytest.fixture(scope="module")
def code(folder: Path, shut_environment: Path) -> Iterator[sl.Client]:
    """A client of `sourcelight serve` on it, whose operator turned analyses off."""
    home = shut_environment / "reports"
    settings = folder / "settings.json"
    settings.write_text('{"analyses.enabled": false}', "utf-8")
    options = ("--config", str(settings))
    with serving(str(folder), *options, home=home, token=TOKEN) as (_, address), sl.connect(address, TOKEN) as client:
        yield client


def test_contributors_of_a_service_say_what_it_does_not_tell(code: sl.Client) -> None:
    report = contributors(code)
    assert value(report, "commits") == 4
    assert value(report, "people") == 2
    assert value(report, "files changed") is None
    assert not report.complete
    assert any("Not in this report: folders" in notice for notice in report.notices)
    assert any("ownership" in notice for notice in report.notices)
    assert len(report.drill_down("commits by people")) == 4
    assert "not known" in report.to_html()
    assert "not known" in report.to_markdown()


def test_changes_of_a_service_say_what_it_does_not_tell(code: sl.Client, tmp_path: Path) -> None:
    report = changes(code, "demo", "v1", "v2")
    assert value(report, "commits") == 3
    assert value(report, "files") == 2
    assert value(report, "new people") == 1
    assert report.tables["files"]["path"].tolist() == ["a.py", "b.py"]
    assert any("last commits of files" in notice for notice in report.notices)
    assert report.to_html().startswith("<!DOCTYPE html>")
    assert report.save_tables(tmp_path / "tables", "jsonl")


def test_cells_lead_to_pages_of_the_service(code: sl.Client) -> None:
    addresses = set()
    for report in (changes(code, "demo", "v1", "v2"), contributors(code)):
        addresses |= set(re.findall(r'<a href="([^"]*)"', report.to_html()))
    kinds = {address.partition("/-/")[2].partition("/")[0] for address in addresses}
    assert kinds == {"commit", "blob"}
    for address in addresses:
        assert address.startswith(f"{code.backend.name}/demo")
        page = httpx2.get(address, headers={"Authorization": f"token {TOKEN}"}, timeout=20, verify=TLS)
        assert page.status_code == 200, address
        assert "text/html" in page.headers["content-type"]


def test_a_service_that_does_not_tell_files_of_commits_narrows_none(code: sl.Client) -> None:
    with pytest.raises(sl.ToolError, match="which this service doesn't provide"):
        contributors(code, exclude="vendor")
    with pytest.raises(sl.ToolError, match="which this service doesn't provide"):
        changes(code, "demo", "v1", "v2", only="*.py")


def test_a_remote_report_of_what_is_not_there_says_so(code: sl.Client) -> None:
    with pytest.raises(sl.RevisionNotFound):
        changes(code, "demo", "v1", "v9")
    with pytest.raises(sl.RepositoryNotFound):
        contributors(code, "nowhere")


def test_a_service_s_people_are_joined_by_address_as_at_home(code: sl.Client, folder: Path, tmp_path: Path) -> None:
    with sl.open(folder, index_dir=tmp_path / "index", index_workers=1, background_index=False) as local:
        for join_addresses in (True, False):
            keys = ["author", "author_email", "commits", "merges", "additions", "deletions"]
            ours, theirs = (
                client.contributors("demo", join_addresses=join_addresses)[keys] for client in (local, code)
            )
            assert theirs.astype(str).to_numpy().tolist() == ours.astype(str).to_numpy().tolist()
    assert len(code.contributors("demo", join_addresses=False)) == 3
    with pytest.raises(sl.UnsupportedTool, match="file_kinds"):
        code.contributors("demo", file_kinds="source")
