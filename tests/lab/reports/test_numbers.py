"""Each number of the contributor report is what its label says, of the time that was asked for."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

import sourcelight as sl
from git_output import git_lines
from lab.reports.report_values import values
from sourcelight.lab.reports import Report, changes, contributors
from sourcelight.lab.reports.path_filter import PathFilter
from sourcelight.lab.reports.sections.contributor_data import Owned, Request
from sourcelight.lab.reports.sections.contributors import ownership_sections
from sourcelight.testing import RepositoryBuilder

BOT = "dependabot[bot] <bot@example.org>"
BO, SHORT = "Bo Boson <bo@example.org>", "bo <BO@example.org>"
DI = "Di Helper <di@example.org>"
EVE, EVE_AT_HOME = "Eve Long Name <eve@work.example.org>", "Eve Long Name <eve@home.example.org>"
SINCE = 1_701_000_000
DATE = "2023-11-26T11:00:00Z"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """People of a time and of the time before it, under several names, with co-authors, a bot, and a rename."""
    folder = tmp_path_factory.mktemp("src") / "demo"
    repo = RepositoryBuilder(folder)
    repo.commit({"a.py": "1\n", "b.py": "".join(f"{n}\n" for n in range(30))}, "old", author=EVE_AT_HOME)
    repo.commit({"a.py": "2\n"}, f"old too\n\nCo-authored-by: {DI}", author="Fay Former <fay@example.org>")
    repo.commit({"a.py": "3\n"}, f"new\n\nCo-authored-by: {DI}", author=BO, date=SINCE)
    repo.commit({"a.py": "4\n", "vendor/x.c": "1\n2\n"}, f"newer\n\nCo-authored-by: {BO}", author=SHORT)
    repo.commit({"b.py": None, "c.py": "".join(f"{n}\n" for n in range(30))}, "rename", author=BO)
    repo.commit({"go.sum": "x\n"}, f"bump\n\nCo-authored-by: {BOT}", author=BOT)
    repo.commit({"a.py": "5\n"}, "newest", author=EVE)
    return folder


@pytest.fixture(scope="module")
def folder(repository: Path) -> Path:
    return repository.parent


@pytest.fixture(scope="module")
def report(code: sl.Client) -> Report:
    return contributors(code, after=DATE, period="day")


def test_people_co_authors_and_bots_are_counted_once_and_apart(report: Report) -> None:
    result = values(report)
    assert (result["people"], result["co-authors"], result["bots"]) == (2, 1, 1)
    assert report.tables["contributors"]["author"].tolist() == ["Bo Boson", "Eve Long Name"]
    assert report.tables["contributors"]["commits"].tolist() == [3, 1]
    assert report.tables["co_authors"]["author"].tolist() == ["Di Helper"]
    assert report.tables["bots"]["author"].tolist() == ["dependabot[bot]"]
    assert len(report.drill_down("contributors", author="Bo Boson")) == 3
    assert len(report.drill_down("bots")) == 1


def test_nothing_of_another_time_is_said(report: Report) -> None:
    # Eve wrote under her other address before the time alone.
    assert not any("may be" in notice for notice in report.notices)
    assert any("several names with one address" in notice for notice in report.notices)


def test_identities_of_the_time_that_may_be_one_person_are_told(code: sl.Client) -> None:
    notices = contributors(code, ownership=False).notices
    assert any(notice.startswith("2 people may be only 1:") for notice in notices)


def test_people_that_are_not_joined_are_those_of_shortlog(code: sl.Client, repository: Path) -> None:
    by_address = contributors(code, after=DATE, join_addresses=False, ownership=False)
    rows = git_lines(repository, "shortlog", "-sne", f"--since={DATE}", "HEAD")
    assert sum(values(by_address)[name] for name in ("people", "bots")) == len(rows) == 4


def test_files_changed_are_those_of_git_and_say_so(report: Report, repository: Path) -> None:
    paths = set(git_lines(repository, "log", "--no-renames", "--name-only", "--format=", f"--since={DATE}"))
    assert values(report)["files changed"] == len(paths) == 5
    (metric,) = [metric for metric in report.metrics if metric.name == "files changed"]
    assert "--no-renames" in metric.counts


def test_folders_are_those_of_the_tree_and_files_at_the_top_have_a_name(report: Report) -> None:
    assert report.tables["directories"]["directory"].tolist() == ["/*"]
    assert report.tables["bus_factor"]["path"].tolist() == ["/", "/*"]


def test_what_nobody_wrote_here_is_shown_apart(report: Report, repository: Path) -> None:
    kinds = report.tables["file_kinds"].set_index("file_kind")["additions"].to_dict()
    assert kinds == {"source": 3, "vendored": 2, "lock": 1}
    assert sum(kinds.values()) == values(report)["lines added"]
    assert set(report.tables["other_files"]["path"]) == {"vendor/x.c", "go.sum"}
    assert set(report.tables["files"]["path"]) == {"a.py", "c.py"}
    assert report.tables["ownership"]["lines"].sum() == len(git_lines(repository, "grep", "", "HEAD", "--", "*.py"))


def test_a_bot_that_trailers_alone_name_is_no_author_of_commits(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    repo.commit({"a.py": "1\n"}, "one\n\nCo-authored-by: renovate[bot] <renovate@example.org>")
    repo.commit({"a.py": "2\n"}, "two", author=BOT)
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as code:
        report = contributors(code)
        assert values(report)["bots"] == 1
        assert len(report.tables["bots"]) == 2
        (table,) = [table for section in report.sections for table in section.tables if table.name == "bots"]
        wrote = int((table.frame["commits"] > 0).sum())
        assert wrote == values(report)["bots"]
        # The number and the rows differ, and the table says why.
        assert f"Only trailers name {len(table.frame) - wrote} bot of this table" in table.counts
        assert any(notice.startswith("1 commit is by 1 bot ") for notice in report.notices)


def test_it_can_be_left_out_or_taken_in(code: sl.Client) -> None:
    without = contributors(code, after=DATE, other_files="without", ownership=False)
    assert values(without)["lines added"] == without.tables["activity"]["additions"].sum() == 3
    assert values(without)["files changed"] == 3
    assert without.tables["bots"]["additions"].tolist() == [0]
    assert not {"other_files", "file_kinds"} & set(without.tables)
    everything = contributors(code, after=DATE, other_files="with", ownership=False)
    assert set(everything.tables["files"]["path"]) == {"a.py", "c.py", "vendor/x.c", "go.sum"}
    with pytest.raises(sl.ToolError, match="apart, with, without"):
        contributors(code, other_files="gone")  # type: ignore[arg-type]


def test_every_number_and_table_says_what_it_counts(report: Report) -> None:
    assert all(metric.counts for metric in report.metrics)
    assert all(table.counts for section in report.sections for table in section.tables)


def test_a_change_report_shows_what_nobody_wrote_here_apart(code: sl.Client, repository: Path) -> None:
    base = git_lines(repository, "rev-list", "--max-parents=0", "HEAD")[0]
    report = changes(code, "demo", base, "HEAD")
    assert report.tables["file_kinds"].set_index("file_kind")["files"].to_dict() == {
        "source": 2, "vendored": 1, "lock": 1,
    }  # fmt: skip
    assert report.tables["files"]["path"].tolist() == ["a.py", "c.py"]
    assert set(report.tables["other_files"]["path"]) == {"vendor/x.c", "go.sum"}
    assert report.drill_down("other_files", path="go.sum")["subject"].tolist() == ["bump"]
    assert report.tables["directories"]["directory"].tolist() == ["/*"]
    assert values(report)["files"] == len(git_lines(repository, "diff", "-M", "--name-only", base, "HEAD")) == 4
    without = changes(code, "demo", base, "HEAD", other_files="without")
    assert (values(without)["files"], values(without)["lines added"]) == (2, 4)
    assert not {"other_files", "file_kinds"} & set(without.tables)
    everything = changes(code, "demo", base, "HEAD", other_files="with")
    assert len(everything.tables["files"]) == 4
    with pytest.raises(sl.ToolError, match="apart, with, without"):
        changes(code, "demo", base, "HEAD", other_files="no")  # type: ignore[arg-type]


def test_rows_that_are_not_proven_are_marked_only_as_exceptions() -> None:
    rows = {"repository": "r", "author": "Ada", "author_email": "a@b", "lines": 1, "share": 0.1, "bot": False}
    date = pd.Timestamp("2024-01-01", tz="UTC")
    for exact, is_marked in (([True] * 3, False), ([True, True, False], True), ([False, False, True], False)):
        frame = pd.DataFrame([{**rows, "exact": item, "oldest_date": date, "newest_date": date} for item in exact])
        which = Request(None, None, None, None, True, "with", PathFilter("contributors", None, None))
        (section,) = ownership_sections(object(), [Owned("r", frame, None)], which, lambda _column, _row: "")  # type: ignore[arg-type]
        text = Report("t", (), (), (section,)).to_html()
        assert (">exact<" in text) == is_marked
        assert text.count(">no<") == is_marked
