"""Each number, sentence and list of the change report is computed again from git."""

from __future__ import annotations

from fnmatch import fnmatch
from pathlib import Path

import pytest

import sourcelight as sl
from git_output import git_lines
from lab.reports.report_values import value
from sourcelight.lab.reports import Report, changes
from sourcelight.testing import RepositoryBuilder

BEN = "Ben <ben@example.org>"
BEN_AGAIN = "ben <BEN@example.org>"
CY = "Cy <cy@corp.example>"
BOT = "dependabot[bot] <bot@example.org>"
START = 1_700_000_000
DAY = 86_400


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A release with a merged pull request, squashed ones, a merged branch, a merge request and bare commits."""
    repo = RepositoryBuilder(tmp_path_factory.mktemp("src") / "demo", origin="https://github.com/example/demo")
    for number in range(4):
        repo.commit({"src/a.py": f"{number}\n"}, f"early {number}", date=START + number * DAY)
    repo.tag("v1")
    repo.branch("feature")
    repo.commit({"src/b.py": "b\n" * 30}, "wip", author=BEN, date=START + 4 * DAY)
    repo.commit({"src/b.py": "b\n" * 20 + "c\n"}, "wip again", author=BEN_AGAIN, date=START + 5 * DAY)
    repo.switch("main")
    repo.commit({"src/a.py": "0\n1\n"}, "Fix the counter (#12)", author=CY, date=START + 5 * DAY)
    repo.merge("feature", "Merge pull request #14 from ben/feature\n\nAdd a second module")
    repo.branch("docs")
    repo.commit({"docs/index.md": "hello\n"}, "docs: say hello", author=CY, date=START + 6 * DAY)
    repo.commit({"docs/index.md": "hello\nworld\n"}, "feat!: drop the old form", author=CY, date=START + 6 * DAY)
    repo.switch("main")
    repo.commit({"requirements.txt": "n==2\n"}, "Bump n from 1 to 2", author=BOT, date=START + 7 * DAY)
    repo.merge("docs", "Merge branch 'docs'")
    repo.branch("lab")
    repo.commit({"tests/test_a.py": "a\n"}, "work", date=START + 8 * DAY)
    repo.switch("main")
    repo.merge("lab", "Merge branch 'lab' into 'main'\n\nTest the counter\n\nSee merge request group/demo!7")
    repo.commit({"src/a.py": None, "src/old.py": "0\n1\n"}, "Rename a", date=START + 9 * DAY)
    repo.tag("v2")
    return repo.path


@pytest.fixture(scope="module")
def folder(repository: Path) -> Path:
    return repository.parent


@pytest.fixture(scope="module")
def name(code: sl.Client) -> str:
    return str(code.list_repos()["repository"].iloc[0])


@pytest.fixture(scope="module")
def release(code: sl.Client, name: str) -> Report:
    return changes(code, name, "v1", "v2", period="day")


def test_each_number_is_that_of_git(release: Report, repository: Path) -> None:
    log = git_lines(repository, "log", "--format=%aE", "v1..v2")
    addresses = {line.casefold() for line in log}
    earlier = {line.casefold() for line in git_lines(repository, "log", "--format=%aE", "v1")}
    diff = [line.split("\t") for line in git_lines(repository, "diff", "-M", "--numstat", "v1", "v2")]
    stat_rows = [
        line.split("\t") for line in git_lines(repository, "log", "-M", "--numstat", "--format=", "v1..v2") if line
    ]
    assert {metric.name: metric.value for metric in release.metrics} == {
        "files": len(diff),
        "diff additions": sum(int(row[0]) for row in diff),
        "diff deletions": sum(int(row[1]) for row in diff),
        "binary files": 0,
        "commits": len(log),
        "merges": len(git_lines(repository, "rev-list", "--merges", "v1..v2")),
        "commits by bots": log.count("bot@example.org"),
        "people": len(addresses - {"bot@example.org"}),
        "new people": len(addresses - {"bot@example.org"} - earlier),
        "pull requests": 3,
        "lines added": sum(int(row[0]) for row in stat_rows),
        "lines removed": sum(int(row[1]) for row in stat_rows),
        "commits before": len(git_lines(repository, "rev-list", "v1")),
        "commits by people before": len(git_lines(repository, "rev-list", "--author=^(?!bot)", "--perl-regexp", "v1")),
    }


def test_the_summary_and_the_figure_of_directories_count_the_same_files(tmp_path: Path) -> None:
    builder = RepositoryBuilder(tmp_path / "demo")
    builder.commit({"src/a.py": "1\n", "lib/package-lock.json": "{}\n"}, "first")
    builder.tag("v1")
    builder.commit({"src/a.py": "1\n2\n3\n", "lib/package-lock.json": "{}\n" * 9}, "more")
    with sl.open(tmp_path) as code:
        report = changes(code, "demo", "v1", "HEAD", progress=False)

    assert report.tables["directories"]["directory"].tolist() == ["src/*"]
    assert report.lead[1] == (
        "2 files differ: 10 lines added and 0 removed. Without vendored, generated and lock files (80% of all changed "
        "lines), most changed lines are in src/ (100%)."
    )


def test_each_number_of_commits_leads_to_as_many(release: Report) -> None:
    for name in ("commits", "merges", "commits by bots", "commits before"):
        assert len(release.drill_down(name)) == value(release, name)
    for row in release.tables["people"].itertuples():
        assert len(release.drill_down("people", author=row.author, author_email=row.author_email)) == row.commits


def test_the_summary_says_the_numbers_in_words(release: Report) -> None:
    assert release.lead[0] == (
        "v2 (23 November 2023) has 11 commits since v1 (17 November 2023): 10 by 3 people and 1 by bots; "
        "2 of the people are new: Cy and Ben."
    )
    assert release.lead[1].startswith("6 files differ: 27 lines added and 1 removed, most of them in src/ (86%)")
    assert release.lead[2] == (
        "By their titles, the 7 changes are 1 breaking change, 1 feature, 1 fix, 1 change of documentation, "
        "1 change of tests, 1 change of dependencies and 1 other change."
    )
    assert (
        release.lead[3]
        == "The 6 days since v1 brought 10 commits by people, against 4 in the 6 days before v1, by 1 person."
    )


def test_changes_are_as_they_were_merged_and_each_commit_is_in_one(release: Report, repository: Path) -> None:
    log = release.tables["changelog"]
    requests = [
        None if unknown else number for number, unknown in zip(log["request"], log["request"].isna(), strict=True)
    ]
    rows = set(zip(log["kind"], log["title"], requests, strict=True))
    assert rows == {
        ("features", "Add a second module", 14),
        ("fixes", "Fix the counter", 12),
        ("breaking", "feat!: drop the old form", None),
        ("docs", "docs: say hello", None),
        ("dependencies", "Bump n from 1 to 2", None),
        ("tests", "Test the counter", 7),
        ("other", "Rename a", None),
    }
    assert log["commits"].sum() == len(git_lines(repository, "rev-list", "--no-merges", "v1..v2"))
    assert log.set_index("title").loc["Add a second module", "author"] == "Ben"


def test_pages_lead_to_the_code_host(release: Report, repository: Path) -> None:
    html = release.to_html()
    head = git_lines(repository, "rev-parse", "v2")[0]
    for address in (
        "https://github.com/example/demo/pull/14",
        f"https://github.com/example/demo/commit/{head}",
        f"https://github.com/example/demo/blob/{head}/docs/index.md",
        f"https://github.com/example/demo/commits/{head}?author=cy%40corp.example",
    ):
        assert f'href="{address}"' in html
        assert f"](<{address}>)" in release.to_markdown()


def test_periods_that_the_release_cuts_are_marked(release: Report) -> None:
    table = release.tables["activity"].set_index("period")
    assert table["partial"].tolist() == [True, *[False] * (len(table) - 1)]  # it ends within its last day
    assert "hatched: partial" in release.figure("activity").title


def test_paths_narrow_every_number(code: sl.Client, name: str, repository: Path) -> None:
    report = changes(code, name, "v1", "v2", only=["src", "*.md"], exclude="src/b.py")
    fits = [path for path in git_lines(repository, "diff", "-M", "--name-only", "v1", "v2")
            if (path.startswith("src/") or fnmatch(path, "*.md")) and path != "src/b.py"]  # fmt: skip
    assert sorted(report.tables["files"]["path"]) == sorted(fits)
    commits, added, removed = set(), 0, 0
    for commit in git_lines(repository, "rev-list", "--no-merges", "v1..v2"):
        for line in git_lines(repository, "diff-tree", "-r", "-M", "--no-commit-id", "--numstat", commit):
            plus, minus, path = line.split("\t")
            path = "src/old.py" if "=>" in path else path
            if (path.startswith("src/") or fnmatch(path, "*.md")) and path != "src/b.py":
                commits.add(commit)
                added, removed = added + int(plus), removed + int(minus)
    assert set(report.drill_down("commits")["commit"]) == commits
    assert (value(report, "lines added"), value(report, "lines removed")) == (added, removed)
    assert set(report.tables["log"]["commit"]) == commits
    assert report.tables["changelog"]["title"].tolist() == [
        "feat!: drop the old form", "Fix the counter", "docs: say hello", "Rename a"
    ]  # fmt: skip
    assert report.tables["activity"]["commits"].sum() == len(commits)
    assert dict(report.parameters)["only files in"] == "src, *.md"
    assert dict(report.parameters)["without files in"] == "src/b.py"
    assert len(report.drill_down("commits before")) == len(git_lines(repository, "rev-list", "v1"))


def test_an_empty_report_says_why(code: sl.Client, name: str) -> None:
    report = changes(code, name, "v2", "main")
    assert report.lead == ("Nothing differs: v2 and main are the same commit.",)
    assert [metric.value for metric in report.metrics] == [0, 0]
    assert "are the same commit" in report.to_html()


def test_revisions_the_wrong_way_round_are_told(code: sl.Client, name: str) -> None:
    report = changes(code, name, "v2", "v1")
    assert report.lead[0] == "v1 has no commit that v2 lacks: it is 11 commits behind. Swap the two."


def test_a_path_that_fits_nothing_names_the_nearest(code: sl.Client, name: str) -> None:
    report = changes(code, name, "v1", "v2", only="scr")
    assert report.lead == ("No file that changed is in only=scr; the nearest name is src.",)
    assert report.sections == ()
    report = changes(code, name, "v1", "v2", exclude="**")
    assert report.lead == ("Every file that changed is in exclude=**.",)


def test_an_empty_path_is_refused(code: sl.Client, name: str) -> None:
    with pytest.raises(sl.ToolError, match="exclude"):
        changes(code, name, "v1", "v2", exclude=[""])


def test_a_function_type_of_go_is_a_type_and_its_declaration_may_be_broken(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    repo.commit({"a.go": "package a\n\ntype Handler func(error)\n"}, "begin")
    repo.tag("v1")
    repo.commit({"a.go": "package a\n\ntype Handler func(error, int)\n\ntype Point struct{}\n"}, "change")
    with sl.open(tmp_path / "src", index_workers=1, background_index=False) as code:
        report = changes(code, "demo", "v1", "HEAD")
    frame = report.tables["api"]
    assert dict(zip(frame["symbol"], frame["kind"], strict=True)) == {"Handler": "type", "Point": "struct"}
    page = report.to_html()
    assert '<td class="sl-c">type Handler func(error, int)</td>' in page
    assert ">language</th>" not in page  # one language in all rows


def test_the_date_of_head_is_its_own(tmp_path: Path) -> None:
    """A rebase or a clock may give an earlier commit a later date, which the summary called that of head."""
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    repo.commit({"a": "1\n"}, "one", date=START)
    repo.tag("v1")
    repo.commit({"a": "2\n"}, "two", date=START + 90 * DAY)
    repo.commit({"a": "3\n"}, "three", date=START + 10 * DAY)
    repo.tag("v2")
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index") as code:
        report = changes(code, "demo", "v1", "v2")
    assert report.lead[0].startswith("v2 (24 November 2023) has 2 commits since v1 (14 November 2023)")
    assert "24 November 2023" in dict(report.parameters)["head"]


def test_commits_of_another_branch_are_no_work_since_base(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "demo")
    repo.commit({"a": "1\n"}, "start", date=START)
    repo.branch("maintained")
    repo.switch("main")
    for number in range(5):
        repo.commit({"a": f"{number}\n"}, f"work {number}", date=START + (100 + number) * DAY)
    repo.tag("v3.1")
    repo.switch("maintained")
    repo.commit({"b": "1\n"}, "fix", date=START + 103 * DAY)
    repo.tag("v2.9")
    with sl.open(tmp_path, index_dir=tmp_path / "index") as code:
        report = changes(code, "demo", "v2.9", "v3.1")
    assert report.lead[0].startswith("v3.1 (")
    assert " has 5 commits that v2.9 (" in report.lead[0]
    assert not any("brought" in sentence for sentence in report.lead)
    assert "commits before" not in {metric.name for metric in report.metrics}
