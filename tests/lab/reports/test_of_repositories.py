"""The numbers of both reports are git's, and each leads to the commits behind it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

import sourcelight as sl
from git_output import git_lines
from lab.reports.report_values import value
from sourcelight.lab.reports import Report, changes, contributors
from sourcelight.testing import RepositoryBuilder

BOT = "dependabot[bot] <bot@example.org>"
BEN = "Ben =Cmd <ben@example.org>"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three people and a bot, a merge, a rename, two tags."""
    folder = tmp_path_factory.mktemp("src") / "demo"
    repo = RepositoryBuilder(folder)
    repo.commit({"a.py": "one\ntwo\n", "lib/b.go": "x\n"}, "begin")
    repo.tag("v1")
    repo.branch("side")
    repo.switch("side")
    repo.commit({"lib/c.go": "y\nz\n"}, "side work", author=BEN)
    repo.switch("main")
    repo.commit({"a.py": "one\nthree\nfour\n"}, "change")
    repo.merge("side", "join")
    repo.commit({"requirements.txt": "n==2\n"}, "bump n", author=BOT)
    repo.commit({"lib/b.go": None, "lib/d.go": "x\n"}, "move", author=BEN)
    repo.tag("v2")
    return folder


@pytest.fixture(scope="module")
def folder(repository: Path) -> Path:
    return repository.parent


@pytest.fixture(scope="module")
def people(code: sl.Client) -> Report:
    """The contributor report."""
    return contributors(code, period="day")


@pytest.fixture(scope="module")
def release(code: sl.Client) -> Report:
    """The change report."""
    return changes(code, "demo", "v1", "v2")


def test_commits_are_those_of_git(people: Report, repository: Path) -> None:
    assert value(people, "commits") == len(git_lines(repository, "rev-list", "main"))
    assert value(people, "merges") == len(git_lines(repository, "rev-list", "--merges", "main"))


def test_lines_are_those_of_numstat(people: Report, repository: Path) -> None:
    rows = [line.split("\t") for line in git_lines(repository, "log", "-M", "--numstat", "--format=", "main")]
    assert value(people, "lines added") == sum(int(row[0]) for row in rows)
    assert value(people, "lines removed") == sum(int(row[1]) for row in rows)


def test_bots_are_counted_apart(people: Report) -> None:
    assert people.tables["bots"]["author"].tolist() == ["dependabot[bot]"]
    assert "dependabot[bot]" not in people.tables["contributors"]["author"].tolist()
    assert value(people, "people") == 2


def test_each_person_leads_to_as_many_commits_as_are_counted(people: Report) -> None:
    for row in people.tables["contributors"].itertuples():
        assert len(people.drill_down("contributors", author=row.author, author_email=row.author_email)) == row.commits


def test_each_number_with_commits_leads_to_as_many(people: Report, release: Report) -> None:
    for report in (people, release):
        for metric in report.metrics:
            if metric.source == "commits" and metric.name in {"commits", "merges", "commits by people"}:
                assert len(report.drill_down(metric.name)) == metric.value


def test_each_period_leads_to_its_commits(people: Report) -> None:
    table = people.tables["activity"]
    assert table["commits"].sum() == value(people, "commits")
    for row in table.itertuples():
        assert len(people.drill_down("activity", period=row.period)) == row.commits


def test_a_folder_and_a_file_lead_to_their_commits(people: Report) -> None:
    result = people.drill_down("directories", repository="demo", directory="lib/")
    assert sorted(result["subject"]) == ["begin", "move", "side work"]
    assert people.drill_down("files", repository="demo", path="a.py")["subject"].tolist() == ["change", "begin"]


def test_ownership_is_that_of_blame(people: Report, repository: Path) -> None:
    owned = people.tables["ownership"].set_index("author")["lines"]
    lines = [line for path in ("a.py", "lib/c.go", "lib/d.go") for line in git_lines(repository, "blame", "-e", path)]
    assert owned["Ben =Cmd"] == sum("ben@example.org" in line for line in lines)


def test_ownership_can_be_left_out_and_the_report_says_so(code: sl.Client) -> None:
    report = contributors(code, ownership=False)
    assert "ownership" not in report.tables
    assert "Ownership was not requested." in report.notices


def test_a_time_without_commits_is_a_report_of_nothing(code: sl.Client) -> None:
    report = contributors(code, after="2100-01-01", ownership=False)
    assert value(report, "commits") == 0
    assert len(report.drill_down("merges")) == 0
    assert report.lead[0].startswith("No commit is after 1 January 2100: the newest is from ")
    assert report.to_html().startswith("<!DOCTYPE html>")


def test_a_period_that_is_none_is_refused_with_those_that_are(code: sl.Client) -> None:
    with pytest.raises(sl.ToolError, match="period must be day, week, month, quarter or year"):
        contributors(code, period="decade")


def test_changes_are_those_between_the_tags(release: Report, repository: Path) -> None:
    assert value(release, "commits") == len(git_lines(repository, "rev-list", "v1..v2"))
    assert value(release, "files") == len(git_lines(repository, "diff", "-M", "--name-only", "v1", "v2"))
    rows = [line.split("\t") for line in git_lines(repository, "diff", "-M", "--numstat", "v1", "v2")]
    assert value(release, "diff additions") == sum(int(row[0]) for row in rows)


def test_a_changed_file_leads_to_its_commits_under_both_names(release: Report) -> None:
    row = release.tables["files"].set_index("path").loc["lib/d.go"]
    assert row["status"] == "renamed"
    assert sorted(release.drill_down("files", path="lib/d.go")["subject"]) == ["begin", "move"]


def test_new_people_are_those_without_a_commit_before(release: Report) -> None:
    assert release.tables["new_people"]["author"].tolist() == ["Ben =Cmd"]


class Older:
    """A client of a service that takes ``^`` before a revision for part of its name, or passes over such revisions."""

    def __init__(self, code: sl.Client, *, refuses: bool) -> None:
        self._code, self._refuses = code, refuses

    def __getattr__(self, name: str) -> Any:
        return getattr(self._code, name)

    def commit_search(self, *, revisions: list[str], **options: Any) -> Any:
        if self._refuses and any(revision.startswith("^") for revision in revisions):
            raise sl.RevisionNotFound("demo", revisions[-1])
        existing = [revision for revision in revisions if not revision.startswith("^")]
        return self._code.commit_search(revisions=existing, **options)


@pytest.mark.parametrize("refuses", [True, False])
def test_a_service_that_excludes_no_revisions_gives_the_same(
    code: sl.Client,
    release: Report,
    refuses: bool,  # noqa: FBT001 - a table
) -> None:
    report = changes(Older(code, refuses=refuses), "demo", "v1", "v2")  # type: ignore[arg-type]
    assert report.summary["value"].tolist() == release.summary["value"].tolist()


def test_the_other_way_round_says_what_is_undone(code: sl.Client) -> None:
    report = changes(code, "demo", "v2", "v1")
    assert value(report, "commits") == 0
    assert any("their changes show as undone" in notice for notice in report.notices)
    last = changes(code, "demo", "v2", "v2~1").notices
    assert "1 commit is reachable from v2 but not from v2~1; its changes show as undone." in last


def test_unknown_revisions_are_named(code: sl.Client) -> None:
    with pytest.raises(sl.RevisionNotFound, match="v9"):
        changes(code, "demo", "v1", "v9")


def test_both_reports_are_written_in_every_form(people: Report, release: Report, tmp_path: Path) -> None:
    for name, report in (("people", people), ("release", release)):
        report.to_html(tmp_path / f"{name}.html")
        report.to_markdown(tmp_path / f"{name}.md")
        for form in ("csv", "jsonl", "parquet"):
            assert len(report.save_tables(tmp_path / name, form)) > len(report.tables)
    assert "'=Cmd" not in (tmp_path / "people" / "contributors.csv").read_text(encoding="utf-8")


def test_a_report_of_everything_is_complete_whatever_it_explains(people: Report, release: Report) -> None:
    assert people.notices
    assert people.complete
    assert release.complete


def test_empty_tables_are_kept_and_said(people: Report, release: Report) -> None:
    helpers = people.tables["co_authors"]
    assert not len(helpers)
    assert {"author", "co_authored", "first_date"} <= set(helpers.columns)
    for report, title in ((people, "Co-authors without a commit"), (people, "Vendored, generated and lock files"),
                          (release, "Vendored, generated and lock files")):  # fmt: skip
        assert f"{title}: no rows. " in report.to_html()
        assert f"{title}: no rows. " in report.to_markdown().replace("\\", "").replace("&#58;", ":")
    assert release.tables["file_kinds"]["file_kind"].tolist() == ["source"]


def test_notices_about_owners_name_the_repository(tmp_path: Path) -> None:
    for name in ("one", "two"):
        repo = RepositoryBuilder(tmp_path / "src" / name)
        repo.commit({"a.py": "1\n", **({"b.bin": b"\0"} if name == "two" else {})}, "begin")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index", index_workers=1, background_index=False) as both:
        notices = contributors(both).notices
    assert "Ownership of two: 1 file is left out: binary, or the content is missing." in notices
    assert not any("one" in notice.split() for notice in notices)


def test_bars_of_several_repositories_say_whose_directory_they_show(tmp_path: Path) -> None:
    """Two repositories each have a `src/`: their bars are two, and told apart; of one repository, paths do."""
    for name, lines in (("alpha", 3), ("beta", 2)):
        RepositoryBuilder(tmp_path / "code" / name).commit({"src/a.py": "x = 1\n" * lines}, "begin")
    with sl.open(tmp_path / "code", index_dir=tmp_path / "index", background_index=False) as code:
        both = contributors(code).figure("directories").description
        assert "alpha: src/" in both
        assert "beta: src/" in both
        assert ": src/, " not in contributors(code, repos=["alpha"]).figure("directories").description


def test_owners_of_several_repositories_come_by_their_lines(tmp_path: Path) -> None:
    """The rows that are shown are those of the most lines, in whichever repository."""
    for name, lines in (("alpha", (9, 1)), ("beta", (5, 7))):
        repo = RepositoryBuilder(tmp_path / "code" / name)
        repo.commit({"a.py": "x = 1\n" * lines[0]}, "begin")
        repo.commit({"b.py": "x = 1\n" * lines[1]}, "go on", author=BEN)
    with sl.open(tmp_path / "code", index_dir=tmp_path / "index", background_index=False) as code:
        rows = contributors(code).tables["ownership"]
    assert [(name.rpartition("/")[2], n) for name, n in zip(rows["repository"], rows["lines"], strict=True)] == [
        ("alpha", 9), ("beta", 7), ("beta", 5), ("alpha", 1),
    ]  # fmt: skip


def test_commits_in_several_repositories_are_named(repository: Path, tmp_path: Path) -> None:
    shutil.copytree(repository, tmp_path / "fork")
    RepositoryBuilder(tmp_path / "other").commit({"other.txt": "other\n"}, "other")
    shutil.copytree(repository, tmp_path / "demo")
    RepositoryBuilder(tmp_path / "fork").commit({"b.txt": "more\n"}, "more")

    with sl.open(tmp_path) as code:
        report = contributors(code, progress=False)
        separate = contributors(code, ["demo", "other"], progress=False)

    commits = len(git_lines(repository, "rev-list", "main"))
    sentences = [sentence for sentence in report.lead if "several repositories" in sentence]
    assert value(report, "commits") == 2 * commits + 2
    sentence = (
        "Commits that are in several repositories (demo and fork) count in each of them: "
        f"only {commits + 2} of all {2 * commits + 2} commits are distinct. "
        "repos= chooses the repositories of a report."
    )
    assert sentences == [sentence]
    assert not any("several repositories" in sentence for sentence in separate.lead)
