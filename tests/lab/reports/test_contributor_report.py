"""What the contributor report says beside its totals is computed again from git: turnover, organizations, paths."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import sourcelight as sl
from equal_frames import assert_frame_equal
from git_output import git_lines
from lab.reports.report_values import value
from sourcelight.lab.reports import Report, contributors
from sourcelight.lab.reports.sections.contributor_introduction import stale_text
from sourcelight.lab.reports.text import compare_counts, share_text
from sourcelight.testing import RepositoryBuilder

ADA, BEN, CY = "Ada <ada@corp.example>", "Ben <ben@gmail.com>", "Cy <cy@lab.corp.example>"
DEE, MERGER = "Dee <dee@b.example>", "ada@example.org"  # the builder's own author
BOT = "dependabot[bot] <bot@b.example>"
DAY = 86_400
START = 1_672_531_200  # 2023-01-01
SINCE = "2023-01-11"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Ten days, and ten days after them: one person leaves, one joins, one stays, one was away long before."""
    repo = RepositoryBuilder(tmp_path_factory.mktemp("src") / "demo", origin="https://gitlab.com/example/demo")
    repo.commit({"src/a.py": "1\n" * 9, "docs/x.md": "x\n"}, "long ago", author=DEE, date=START - 100 * DAY)
    repo.commit({"src/a.py": "2\n" * 9}, "before", author=ADA, date=START + 3 * DAY)
    repo.commit({"docs/x.md": "y\n"}, "leaves", author=BEN, date=START + 5 * DAY)
    repo.commit({"src/b.py": "b\n" * 5, "vendor/v.c": "v\n" * 50}, f"now\n\nCo-authored-by: {BEN}", author=ADA,
                date=START + 12 * DAY)  # fmt: skip
    repo.branch("side")
    repo.commit({"src/c.py": "c\n", "docs/y.md": "y\n"}, "joins", author=CY, date=START + 13 * DAY)
    repo.switch("main")
    repo.commit({"requirements.txt": "n\n"}, "bump", author=BOT, date=START + 14 * DAY)
    repo.merge("side", "join")
    repo.commit({"src/b.py": None, "src/new.py": "b\n" * 5 + "c\n"}, "rename", author=DEE, date=START + 19 * DAY)
    return repo.path


@pytest.fixture(scope="module")
def folder(repository: Path) -> Path:
    return repository.parent


@pytest.fixture(scope="module")
def report(code: sl.Client) -> Report:
    return contributors(code, after=SINCE, period="week")


def test_joiners_and_leavers_are_those_of_git(report: Report, repository: Path) -> None:
    log = [line.split() for line in git_lines(repository, "log", "--format=%ct %ae")]
    since = START + 10 * DAY
    end = max(int(time) for time, _ in log)
    after = {who for time, who in log if int(time) > since}
    earlier = {who for time, who in log if int(time) <= since}
    window = {who for time, who in log if since - (end - since) < int(time) <= since}
    merged = after - earlier - {"bot@b.example"}
    assert set(report.tables["joined"]["author_email"]) == merged == {"cy@lab.corp.example", MERGER}
    assert set(report.tables["left"]["author_email"]) == window - after == {"ben@gmail.com"}
    assert (value(report, "joined"), value(report, "left")) == (2, 1)
    assert value(report, "commits before") == sum(since - (end - since) < int(time) <= since for time, _ in log)
    assert len(report.drill_down("commits before")) == value(report, "commits before")
    people_before = [who for time, who in log if since - (end - since) < int(time) <= since and who != "bot@b.example"]
    assert value(report, "commits by people before") == len(people_before)
    assert len(report.drill_down("commits by people before")) == len(people_before)


def test_who_only_changed_the_address_is_not_plainly_said_to_have_left(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "demo")
    repo.commit({"a": "1\n"}, "before", author="Ada <ada@home.example>", date=START + 3 * DAY)
    repo.commit({"a": "2\n"}, "leaves", author=BEN, date=START + 5 * DAY)
    repo.commit({"a": "3\n"}, "after", author="ada <ada@work.example>", date=START + 14 * DAY)
    repo.commit({"a": "4\n"}, "end", author="ada <ada@work.example>", date=START + 20 * DAY)
    with sl.open(tmp_path, index_dir=tmp_path / "index") as code:
        report = contributors(code, after=SINCE, ownership=False)
    (sentence,) = (text for text in report.lead if " joined and " in text)
    assert sentence.endswith("1 person joined and 2 left, 2 of them perhaps only with another address.")
    (section,) = (section for section in report.sections if section.title == "Joiners and leavers")
    assert "2 of them have the name of somebody who wrote in the other time from another address" in section.text


def test_commits_of_bots_make_no_busy_year(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "demo")
    repo.commit({"a": "1\n"}, "start", author=BEN, date=START)
    for number in range(6):
        repo.commit({"a": f"a{number}\n"}, "work", author=BEN, date=START + (3 + number) * DAY)
    for number in range(9):
        repo.commit({"a": f"b{number}\n"}, "bump", author=BOT, date=START + (11 + number) * DAY)
    repo.commit({"a": "end\n"}, "end", author=BEN, date=START + 20 * DAY)
    with sl.open(tmp_path, index_dir=tmp_path / "index") as code:
        report = contributors(code, after=SINCE, ownership=False)
    (sentence,) = (text for text in report.lead if " joined and " in text)
    assert sentence == (
        "The 10 days of this report had 1 commit by people, against 6 in the 10 days before; bots wrote 9 more; "
        "0 people joined and 0 left."
    )


def test_all_history_compares_its_last_year(code: sl.Client, repository: Path) -> None:
    report = contributors(code, ownership=False)
    # Nobody wrote a commit more than a year before the newest one, so that there is nothing to compare.
    assert "joined" not in report.tables
    assert value(report, "commits") == len(git_lines(repository, "rev-list", "main"))


def test_organizations_are_counted_once(report: Report, repository: Path) -> None:
    table = report.tables["organizations"].set_index("organization")
    addresses = git_lines(repository, "log", f"--since={SINCE}T00:00:00Z", "--format=%ae")
    assert (
        table["commits"].sum()
        == len(addresses) - addresses.count("bot@b.example")
        == value(report, "commits by people")
    )
    # example.org has one person, whose name it has: Ada Example.
    assert table["commits"].to_dict() == {"corp.example": 2, "b.example": 1, "personal domains": 1}
    assert len(report.drill_down("organizations", organization="corp.example")) == 2


def test_the_summary_says_who_where_and_how_it_compares(report: Report) -> None:
    assert report.lead[0].startswith("4 people wrote 4 commits in ")
    assert (
        "the first on 13 January 2023 and the last on 20 January 2023; bots wrote 1 more commit and "
        "1 person is named only as a co-author." in report.lead[0]
    )
    sentence = next(sentence for sentence in report.lead if "changed lines" in sentence)
    assert sentence.startswith(
        "Without vendored, generated and lock files (85% of all changed lines), most changed lines are in src/ ("
    )
    assert (
        "The 9 days of this report had 4 commits by people, against 2 in the 9 days before; bots wrote 1 more; "
        "2 people joined and 1 left." in report.lead
    )
    assert report.lead[-1].startswith("The newest commit is from 20 January 2023, ")


@pytest.mark.parametrize(
    ("count", "earlier", "text"),
    [
        (48, 48, "as many as in May"),
        (48, 40, "20% more than in May, which had 40"),
        (20, 40, "50% fewer than in May, which had 40"),
        (48, 16, "3 times as many as in May, which had 16"),
        (79, 40, "98% more than in May, which had 40"),
        (112, 40, "2.8 times as many as in May, which had 40"),
        (4_960, 40, "against 40 in May"),  # 124 times as many: both numbers say more
        (48, 2, "against 2 in May"),
        (1, 9, "against 9 in May"),
        (10_001, 10_000, "against 10,000 in May"),
        (1, 10_000, "against 10,000 in May"),
        (3, 0, "against none in May"),
    ],
)
def test_numbers_are_compared_as_people_do(count: int, earlier: int, text: str) -> None:
    assert compare_counts(count, earlier, "May") == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0, "0%"), (0.004, "less than 1%"), (0.5, "50%"), (0.996, "more than 99%"), (1, "100%")],
)
def test_what_is_neither_nothing_nor_all_is_not_rounded_to_it(share: float, text: str) -> None:
    assert share_text(share) == text


def test_an_old_newest_commit_is_told_and_a_new_one_is_not() -> None:
    now = datetime(2024, 3, 1, tzinfo=UTC)
    assert stale_text(pd.Timestamp("2024-02-20", tz="UTC"), now) == ""
    assert "11 months ago" in stale_text(pd.Timestamp("2023-03-20", tz="UTC"), now)


def test_periods_at_the_ends_are_partial(report: Report) -> None:
    table = report.tables["activity"].set_index("period")
    # The time begins on a Wednesday and the newest commit, which is old, is of a Friday.
    assert table["partial"].tolist() == [True, True]
    assert "hatched: partial" in report.figure("activity").title


def test_pages_lead_to_the_code_host(report: Report, repository: Path) -> None:
    head = git_lines(repository, "rev-parse", "HEAD")[0]
    html = report.to_html()
    assert f"https://gitlab.com/example/demo/-/blob/{head}/src/c.py" in html
    assert f"https://gitlab.com/example/demo/-/commits/{head}?author=ada%40corp.example" in html


@pytest.fixture(scope="module")
def narrow(code: sl.Client) -> Report:
    return contributors(code, after=SINCE, only=["src", "*.md"], exclude="src/c.py", other_files="with")


def test_paths_narrow_every_figure(narrow: Report, repository: Path) -> None:
    rows: list[tuple[str, str, int, int, str]] = []
    for commit in git_lines(repository, "rev-list", "--no-merges", f"--since={SINCE}T00:00:00Z", "main"):
        author = git_lines(repository, "log", "-1", "--format=%ae", commit)[0]
        for line in git_lines(repository, "diff-tree", "-r", "-M", "--no-commit-id", "--numstat", commit):
            plus, minus, path = line.split("\t")
            path = "src/new.py" if "=>" in path else path
            if (path.startswith("src/") or path.endswith(".md")) and path != "src/c.py":
                rows.append((commit, author, int(plus), int(minus), path))
    commits = {row[0] for row in rows}
    assert set(narrow.drill_down("commits")["commit"]) == commits
    assert value(narrow, "commits") == len(commits)
    assert value(narrow, "people") == len({row[1] for row in rows}) == len(narrow.tables["contributors"])
    assert value(narrow, "lines added") == sum(row[2] for row in rows)
    assert value(narrow, "lines removed") == sum(row[3] for row in rows)
    assert value(narrow, "files changed") == len({row[4] for row in rows})
    assert set(narrow.tables["files"]["path"]) == {row[4] for row in rows}
    assert narrow.tables["files"]["additions"].sum() == sum(row[2] for row in rows)
    assert set(narrow.tables["directories"]["directory"]) == {"src/", "docs/"}
    assert narrow.tables["activity"]["commits"].sum() == narrow.tables["organizations"]["commits"].sum() == len(commits)
    assert set(narrow.drill_down("files", path="src/new.py")["subject"]) == {"rename"}
    assert narrow.tables["co_authors"]["author"].tolist() == ["Ben"]
    assert dict(narrow.parameters)["only files in"] == "src, *.md"
    assert "without files in" in narrow.to_markdown()


def test_paths_narrow_ownership(narrow: Report, repository: Path) -> None:
    lines: Counter[str] = Counter()
    for path in ("src/a.py", "src/new.py", "docs/x.md", "docs/y.md"):
        lines.update(
            line[12:]
            for line in git_lines(repository, "blame", "--line-porcelain", path)
            if line.startswith("author-mail")
        )
    owned = narrow.tables["ownership"]
    assert dict(zip("<" + owned["author_email"] + ">", owned["lines"], strict=True)) == lines
    assert narrow.tables["bus_factor"].set_index("path")["lines"].to_dict() == {"/": 17, "src/": 15, "docs/": 2}


def test_all_paths_give_the_figures_of_no_paths(code: sl.Client) -> None:
    full_report = contributors(code, after=SINCE, other_files="with")
    same = contributors(code, after=SINCE, other_files="with", only="/")
    for name in ("files", "directories", "ownership", "bus_factor"):
        columns = [column for column in full_report.tables[name].columns if column not in {"exact", "owners"}]
        left, right = (
            report.tables[name][columns].astype("str").sort_values(columns).reset_index(drop=True)
            for report in (full_report, same)
        )
        assert_frame_equal(left, right)
    # Merges change no file, so that they count for nothing.
    assert value(same, "commits") == value(full_report, "commits") - value(full_report, "merges")
    assert value(same, "lines added") == value(full_report, "lines added")


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        ({"after": "2100-01-01"}, "No commit is after 1 January 2100: the newest is from 20 January 2023."),
        ({"before": "2000-01-01"}, "No commit is before 1 January 2000: the oldest is from 23 September 2022."),
        ({"after": "2022-10-01", "before": "2022-11-01"},
         "No commit is between 1 October 2022 and 1 November 2022; the first is from 23 September 2022, the newest"),
        ({"only": "scr"}, "No file that changed is in only=scr; the nearest name is src."),
        ({"exclude": ["/"]}, "Every file that changed is in exclude=/."),
    ],
)  # fmt: skip
def test_an_empty_report_says_why_at_once(code: sl.Client, arguments: dict[str, Any], reason: str) -> None:
    report = contributors(code, **arguments)
    assert len(report.lead) == 1
    assert report.lead[0].startswith(reason)
    assert report.sections == ()
    assert reason.partition(":")[0] in report.to_html()


def test_the_title_of_an_empty_report_names_what_was_asked(code: sl.Client) -> None:
    name = code.list_repos(progress=False)["repository"].iloc[0]
    assert contributors(code, after="2100-01-01", progress=False).title == "Contributors"
    assert contributors(code, name, after="2100-01-01", progress=False).title == f"Contributors to {name}"


@pytest.mark.parametrize("name", ["after", "before"])
def test_a_text_that_is_no_date_is_refused_by_the_callers_name(code: sl.Client, name: str) -> None:
    dates: dict[str, Any] = {name: "2 yeers ago"}
    with pytest.raises(sl.ToolError, match=f"^contributors: {name}: ") as caught:
        contributors(code, **dates, progress=False)
    assert caught.value.argument == name


def test_an_unknown_parameter_names_the_similar_one(code: sl.Client) -> None:
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'repo'; did you mean repos=\?"):
        contributors(code, repo="demo")  # type: ignore[call-arg]
    with pytest.raises(TypeError, match=r"unexpected keyword argument 'zzz'; it takes client, repos, "):
        contributors(code, zzz="demo")  # type: ignore[call-arg]


def test_people_of_one_name_are_told_apart_in_the_lead(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    for number in range(6):
        author = ("Ada <ada@one.example>", "Ada <ada@two.example>", BEN)[(0, 0, 0, 1, 1, 2)[number]]
        repo.commit({"a.txt": f"{number}\n"}, f"commit {number}", author=author)
    authors = Counter(repo.git("log", "--format=%an <%ae>").splitlines())
    ada, other_ada, ben = (share_text(count / 6) for _, count in authors.most_common())
    labels = f"Ada <ada@one.example> ({ada}), Ada <ada@two.example> ({other_ada}) and Ben ({ben})"
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index") as code:
        together = share_text(sum("Ada" in author for author in authors.elements()) / 6)
        sentence = f"Of the commits by people, most are by {labels}."
        lead = contributors(code, ownership=False).lead
        assert f"{sentence} The 2 people named Ada wrote {together} together, and may be one person." in lead
        assert labels in sl.reports.file(code, "demo", "a.txt").lead[1]


def test_an_unread_history_is_no_history_without_commits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without git, a report on a repository said that "None of the repositories has no commit"."""
    repo = RepositoryBuilder(tmp_path / "src" / "demo")
    repo.commit({"a.txt": "a\n"}, "first")
    monkeypatch.setenv("PATH", str(tmp_path))
    with sl.open(tmp_path / "src", index_dir=tmp_path / "index") as code, pytest.warns(sl.IncompleteResultWarning):
        report = contributors(code, ownership=False, progress=False)
    (sentence,) = report.lead
    assert sentence.startswith(
        "No commit could be read. The history of demo could not be brought up to date: git failed"
    )
    assert not report.complete
