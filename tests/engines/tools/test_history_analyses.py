"""Analyses of history against git: shortlog, numstat, blame; and the commits behind every number."""

from __future__ import annotations

import shutil
from collections import Counter
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import sourcelight as sl
from engines.tools.past import BO, Past, renamed_in_merge
from sourcelight.core.batches.results import drill_down
from sourcelight.core.errors import PathNotFound, ToolError
from sourcelight.core.notices import is_rule
from sourcelight.core.tools.catalog import COLUMNS
from sourcelight.engines.tools.history.tables import directories, periods
from sourcelight.testing import RepositoryBuilder

NAMES = ["one"]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    return Past(tmp_path_factory.mktemp("past"), tmp_path_factory.mktemp("index") / "index")


def numstat(past: Past, *arguments: str) -> list[tuple[str, int, int]]:
    """Path, additions and deletions of every change, as git log has them."""
    rows = past.git("-c", "core.quotePath=false", "log", "--numstat", "-M", "--format=", *arguments)
    results = []
    for row in rows:
        added, removed, path = row.split("\t")
        path = path.replace("a.py => src/a.py", "src/a.py").strip('"')
        results.append((path, int(added.replace("-", "0")), int(removed.replace("-", "0"))))
    return results


def behind(past: Past, answer: Any, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The commits behind a row."""
    name, arguments = drill_down(answer.attributes, row)
    return past.rows(name, **({"repos": []} if name == "commit_search" else {}) | arguments)


def test_contributors_are_those_of_shortlog(past: Past) -> None:
    answer = past.call("contributors", repos=NAMES)
    rows = answer.table.to_pylist()
    messages = {}
    for line in past.git("shortlog", "-sne", "HEAD"):
        count, person = line.strip().split("\t")
        messages[person] = int(count)
    assert {f"{r['author']} <{r['author_email']}>": r["commits"] for r in rows} == messages
    for row in rows:
        result = behind(past, answer, row)
        assert len(result) == row["commits"]
        assert sum(commit["additions"] for commit in result) == row["additions"]
        assert sum(commit["deletions"] for commit in result) == row["deletions"]
        assert max(commit["commit_date"] for commit in result) == row["last_date"]
    assert [row["co_authored"] for row in rows if f"{row['author']} <{row['author_email']}>" == BO] == [1]
    assert [row["bot"] for row in rows] == [False, False, True]
    assert any("1 commit is by 1 bot " in notice for notice in answer.notices)


def test_contributors_by_month_add_up_and_lead_to_their_commits(past: Past) -> None:
    answer = past.call("contributors", by=["month", "repository"])
    months = Counter(line for line in past.git("log", "--date=format-local:%Y-%m", "--format=%cd"))
    ours: Counter[str] = Counter()
    for row in answer.table.to_pylist():
        if row["repository"] == "one":
            ours[row["period"].strftime("%Y-%m")] += row["commits"]
        assert len(behind(past, answer, row)) == row["commits"]
    assert +ours == months


def test_periods_begin_where_calendars_say() -> None:
    moments = [
        datetime(2024, 2, 29, 23, 59, tzinfo=UTC),
        datetime(1969, 12, 31, tzinfo=UTC),
        datetime(2100, 5, 1, tzinfo=UTC),
    ]
    seconds = [int(moment.timestamp()) for moment in moments]
    expected = {
        "day": ["2024-02-29", "1969-12-31", "2100-05-01"],
        "week": ["2024-02-26", "1969-12-29", "2100-04-26"],
        "month": ["2024-02-01", "1969-12-01", "2100-05-01"],
        "quarter": ["2024-01-01", "1969-10-01", "2100-04-01"],
        "year": ["2024-01-01", "1969-01-01", "2100-01-01"],
    }
    for name, days in expected.items():
        starts, ends = periods(seconds, name)
        assert [str(np.datetime64(int(position), "s"))[:10] for position in starts] == days
        assert all(start <= position < end for start, position, end in zip(starts, seconds, ends, strict=True))


def test_churn_adds_up_to_numstat(past: Past) -> None:
    answer = past.call("churn", repos=NAMES, by=["directory"], depth=2)
    expected: dict[str, list[int]] = {}
    for path, added, removed in numstat(past):
        (folder,) = directories([path], 2)
        sums = expected.setdefault(folder, [0, 0, 0])
        expected[folder] = [sums[0] + added, sums[1] + removed, sums[2] + 1]
    rows = answer.table.to_pylist()
    assert {r["directory"]: [r["additions"], r["deletions"], r["changes"]] for r in rows} == expected
    for row in rows:
        results = {commit["commit"] for commit in behind(past, answer, row)}
        assert len(results) >= row["commits"]


def test_churn_by_author_and_quarter_leads_to_its_commits(past: Past) -> None:
    answer = past.call("churn", by=["author", "quarter", "path", "repository"])
    rows = answer.table.to_pylist()
    assert sum(row["additions"] for row in rows if row["repository"] == "one") == sum(a for _, a, _ in numstat(past))
    for row in rows:
        if "\ufffd" not in row["path"]:
            assert len(behind(past, answer, row)) == row["commits"] == row["changes"]


def test_folders_down_to_a_depth() -> None:
    assert directories(["a", "b/c", "b/c/d", "b/c/d/e"], 1) == ["/*", "b/", "b/", "b/"]
    assert directories(["a", "b/c", "b/c/d", "b/c/d/e"], 2) == ["/*", "b/*", "b/c/", "b/c/"]


def test_ownership_is_what_git_blame_says(past: Past) -> None:
    answer = past.call("ownership", repo="one", by="file")
    rows = answer.table.to_pylist()
    for path in ("src/lib/b.py", "src/a.py", "docs/index.md"):
        reply = Counter(
            line.removeprefix("author-mail ").strip("<>")
            for line in past.git("blame", "--line-porcelain", "HEAD", "--", path)
            if line.startswith("author-mail ")
        )
        assert {r["author_email"]: r["lines"] for r in rows if r["path"] == path} == reply
    assert all(row["exact"] for row in rows)
    assert any("1 file is left out" in notice for notice in answer.notices)
    total = past.call("ownership", repo="one").table.to_pylist()
    assert sum(row["lines"] for row in total) == sum(row["lines"] for row in rows)
    assert sum(row["share"] for row in total) == pytest.approx(1)
    assert {row["path"] for row in past.rows("ownership", repo="one", path="src", by="directory", depth=2)} == {
        "src/*", "src/lib/"
    }  # fmt: skip


def test_what_is_not_proven_is_told_and_can_be_asked_of_git(tmp_path: Path) -> None:
    past = Past(tmp_path / "past", tmp_path / "index")
    with renamed_in_merge(tmp_path / "past" / "one" / "inner") as repo:
        past.engine.catalog.paths = (str(repo.path),)
        past.engine.catalog.refresh(thorough=True)
        rough = past.call("ownership", repo="inner", by="file")
        assert {r["path"] for r in rough.table.to_pylist() if not r["exact"]} == {"moved.txt"}
        assert any("not proven" in notice for notice in rough.notices)
        exact = past.call("ownership", repo="inner", by="file", exact=True)
        assert all(row["exact"] for row in exact.table.to_pylist())
        reply = Counter(line for line in repo.git("blame", "--line-porcelain", "HEAD", "--", "moved.txt").splitlines()
                       if line.startswith("author-mail "))  # fmt: skip
        ours = {f"author-mail <{r['author_email']}>": r["lines"] for r in exact.table.to_pylist()
                if r["path"] == "moved.txt"}  # fmt: skip
        assert ours == reply


def test_blame_of_a_file_leads_to_commits(past: Past) -> None:
    answer = past.call("blame", repo="one", path="src/a.py", revision="main")
    rows = answer.table.to_pylist()
    messages = [line[:40] for line in past.git("blame", "-l", "--root", "--porcelain", "HEAD", "--", "src/a.py")
            if len(line.split()[0]) == 40 and not line.startswith("\t")]  # fmt: skip
    assert [row["commit"] for row in rows] == messages
    assert [row["line"] for row in rows] == ["def f():", "    return 2"]
    assert {row["original_path"] for row in rows} == {"a.py"}
    assert {row["author"] for row in rows} == {"Ada Example"}
    name, arguments = drill_down(answer.attributes, rows[1])
    details = past.call(name, **arguments)
    assert details.attributes["subject"] == "Fix the return"
    assert details.attributes["trailers"] == [{"token": "Co-authored-by", "value": BO}]
    assert [(r["path"], r["additions"]) for r in details.table.to_pylist()] == [("a.py", 1), ("src/lib/b.py", 2)]


def test_details_of_the_first_commit_and_of_a_merge(past: Past) -> None:
    first = past.git("rev-list", "--max-parents=0", "HEAD")[0]
    assert {row["status"] for row in past.rows("commit_details", repo="one", revision=first)} == {"added"}
    merge = past.call("commit_details", repo="one", revision=past.git("rev-list", "--merges", "HEAD")[0])
    assert [row["path"] for row in merge.table.to_pylist()] == ["src/lib/b.py"]
    assert any("first parent" in notice for notice in merge.notices)


def test_survival_splits_todays_lines_by_year(past: Past) -> None:
    rows = past.rows("survival", repo="one")
    lines = sum(row["lines"] for row in past.rows("ownership", repo="one"))
    assert sum(row["surviving_lines"] for row in rows) == lines
    assert sum(row["added"] for row in rows) == sum(added for _, added, _ in numstat(past))
    assert [row["year"] for row in rows] == [2020, 2021]


def test_the_bus_factor_leaves_bots_out(past: Past) -> None:
    answer = past.call("bus_factor", repo="one")
    rows = {row["path"]: row for row in answer.table.to_pylist()}
    assert set(rows) == {"/", "/*", "src/", "docs/"}
    assert rows["docs/"]["owners"] == ["Ada Example <ada@example.org>"]
    assert rows["/"]["lines"] == sum(r["lines"] for r in past.rows("ownership", repo="one") if not r["bot"])
    assert any("1 line of bots left out" in notice for notice in answer.notices)


def test_the_pickaxe_tells_rise_and_fall(past: Past) -> None:
    answer = past.call("pickaxe", pattern="todo", by=["year"])
    rows = answer.table.to_pylist()
    assert [(r["period"].year, r["added"], r["removed"], r["total"]) for r in rows] == [
        (2020, 1, 0, 1), (2021, 1, 1, 1), (2022, 2, 0, 3)
    ]  # fmt: skip
    for row in rows:
        assert len(behind(past, answer, row)) == row["commits"]
    people = past.rows("pickaxe", pattern="TODO", useRegex=True, by=["author"], repos=NAMES, files=["src"])
    assert {row["author"]: (row["added"], row["removed"]) for row in people} == {
        "Ada Example": (1, 0), "Bo Boson": (1, 1)
    }  # fmt: skip


def test_hotspots_follow_renamed_files(past: Past) -> None:
    rows = {row["path"]: row for row in past.rows("hotspots", repos=NAMES)}
    assert rows["src/a.py"]["commits"] == len(past.git("log", "--follow", "--format=%H", "--", "src/a.py"))
    assert rows["src/lib/b.py"]["commits"] == 3
    assert rows["src/lib/b.py"]["score"] == 1.0
    assert rows["image.bin"]["lines"] is None
    assert [r["path"] for r in past.rows("hotspots", repos=NAMES, limit=1)] == ["src/lib/b.py"]


def test_large_commits_that_pairs_leave_out_are_a_rule_and_counted_if_there_are_any(past: Past) -> None:
    notices = past.call("coupling", repos=NAMES).notices
    assert not [notice for notice in notices if "leave out" in notice]
    rules = [notice for notice in past.call("coupling", repos=NAMES, maxFiles=2).notices if "leave out" in notice]
    assert len(rules) == 1
    assert is_rule(rules[0], "coupling")


def test_coupling_finds_files_that_change_together(past: Past) -> None:
    answer = past.call("coupling", repos=NAMES, minCommits=1, minDegree=0.3)
    pairs = {(r["path"], r["other_path"]): (r["shared_commits"], r["commits"], r["other_commits"])
             for r in answer.table.to_pylist()}  # fmt: skip
    assert pairs[".mailmap", "docs/index.md"] == (1, 1, 1)
    assert pairs["src/a.py", "src/lib/b.py"] == (1, 3, 3)
    assert past.call("coupling", repos=NAMES).table.num_rows == 0
    assert past.call("coupling", repos=NAMES, minCommits=1, after="2100-01-01").table.num_rows == 0


def test_identities_and_suggestions_that_are_accepted_join_people(past: Past) -> None:
    rows = past.rows("identities", repos=NAMES)
    raw = Counter(past.git("log", "--format=%an <%ae>"))
    assert {f"{r['name']} <{r['email']}>": r["commits"] for r in rows if r["commits"]} == raw
    assert [r["canonical_name"] for r in rows if r["email"] == "ada@old.example.org"] == ["Ada Example"]
    line = "Ada Example <ada@example.org> Bo Boson <bo@example.org>"
    answer = past.call("contributors", repos=NAMES, mailmap=line)
    (ada, _) = answer.table.to_pylist()
    assert ada["commits"] == len(past.git("log", "--format=%H", "--author=Ada", "--author=ada", "--author=Bo"))
    assert len(behind(past, answer, ada)) == ada["commits"]
    assert past.rows("identity_suggestions", repos=NAMES) == []
    with pytest.raises(ToolError, match="mailmap"):
        past.call("contributors", mailmap="nonsense")


def test_last_changes_are_those_of_git_log(past: Past) -> None:
    paths = ["src/lib/b.py", "docs/index.md", "absent", "src/a.py", "src", "src/lib", "docs"]
    answer = past.call("last_changes", repo="one", paths=paths)
    messages = {path: past.git("log", "-1", "--format=%H", "--", path)[0] for path in paths if path != "absent"}
    assert {row["path"]: row["commit"] for row in answer.table.to_pylist()} == messages
    counts = {row["path"]: row["changed_commits"] for row in answer.table.to_pylist()}
    for path in messages:
        assert counts[path] == len(past.git("log", "--no-merges", "--format=%H", "--", path)), path
    assert any("No commit changed 1 of the paths" in notice for notice in answer.notices)


def test_a_commit_that_moves_a_file_away_is_a_last_change(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    repo.commit({"src/a.py": "a\n" * 9, "src/b.py": "b\n" * 9, "moved.py": "m\n" * 9})
    repo.commit({"src/a.py": None, "lib/a.py": "a\n" * 9})
    repo.commit({"moved.py": None, "lib/m.py": "m\n" * 9})
    repo.commit({"moved.py": "new\n"})
    paths = ["src", "src/a.py", "lib", "moved.py"]

    with sl.open(tmp_path / "src", index_dir=tmp_path / "index") as code:
        rows = code.last_changes("one", paths).set_index("path")

    for path in paths:
        commits = repo.git("log", "--format=%H", "--", path).splitlines()
        assert rows["commit"][path] == commits[0], path
        assert rows["changed_commits"][path] == len(commits), path


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("contributors", {"repos": ["two"], "after": "2030-01-01"}),
        ("churn", {"repos": ["two"], "after": "2030-01-01", "by": ["author", "month"]}),
        ("pickaxe", {"repos": ["two"], "pattern": "no such text"}),
        ("hotspots", {"repos": ["two"], "after": "2030-01-01"}),
        ("coupling", {"repos": ["two"]}),
        ("identity_suggestions", {"repos": ["two"]}),
        ("last_changes", {"repo": "two", "paths": []}),
    ],
)
def test_an_empty_answer_has_all_columns(past: Past, name: str, arguments: dict[str, Any]) -> None:
    answer = past.call(name, **arguments)
    assert answer.table.num_rows == 0
    assert answer.table.column_names == [column.name for column in COLUMNS[answer.columns]]


def test_what_is_not_there_is_refused(past: Past) -> None:
    with pytest.raises(PathNotFound):
        past.call("ownership", repo="one", path="nowhere")
    with pytest.raises(PathNotFound):
        past.call("blame", repo="one", path="nowhere")
    with pytest.raises(ToolError, match="directory"):
        past.call("blame", repo="one", path="src")
    with pytest.raises(ToolError, match="two periods"):
        past.call("contributors", by=["month", "year"])
    with pytest.raises(ToolError, match="without git"):
        past.call("blame", repo="plain", path="p.txt")
    assert not past.call("contributors", repos=["plain"]).complete


@pytest.mark.parametrize("name", ["contributors", "churn", "pickaxe"])
def test_commits_that_several_repositories_have_are_told(tmp_path: Path, name: str) -> None:
    origin = RepositoryBuilder(tmp_path / "origin")
    origin.commit({"a.txt": "text\n"}, "one")
    origin.commit({"a.txt": "texts\n"}, "two")
    shutil.copytree(tmp_path / "origin", tmp_path / "fork")
    RepositoryBuilder(tmp_path / "fork").commit({"b.txt": "text\n"}, "three")
    RepositoryBuilder(tmp_path / "other").commit({"c.txt": "text\n"}, "other")
    pattern = {"pattern": "text"} if name == "pickaxe" else {}

    with sl.open(tmp_path) as code:
        call = partial(getattr(code, name), **pattern)
        with pytest.warns(sl.RepeatedCommitsWarning, match=f"{name}: Only 4 of 6 commits are distinct"):
            notices = call(repos=["fork", "origin", "other"], by=["year"]).attrs["notices"]
        silent = call(repos=["fork", "other"], by=["year"]), call(by=["year", "repository"]), call(repos=["origin"])

    sentence = (
        "Only 4 of 6 commits are distinct: a commit that several repositories have, such as a fork and its origin, "
        "counts in each of them."
    )
    assert [notice for notice in notices if "distinct" in notice] == [sentence]
    assert all(is_rule(notice, "repeated commits") for notice in notices if "distinct" in notice)
    assert not [notice for frame in silent for notice in frame.attrs["notices"] if "distinct" in notice]


def test_lines_at_the_edge_of_a_shallow_clone_are_never_proven(tmp_path: Path) -> None:
    origin = RepositoryBuilder(tmp_path / "origin")
    origin.commit({"a.txt": "one\ntwo\n"}, author="Ada <ada@example.org>")
    origin.commit({"b.txt": "one\n"}, author="Bo <bo@example.org>")
    origin.commit({"c.txt": "one\n"}, author="Cy <cy@example.org>")
    origin.clone(tmp_path / "clones" / "edge", "--depth=2")
    with sl.open(tmp_path / "clones") as code, pytest.warns(sl.IncompleteResultWarning, match="shallow clone"):
        frames = [code.ownership("edge", exact=True), code.bus_factor("edge", exact=True), code.survival("edge")]

    assert dict(zip(frames[0]["author"], frames[0]["exact"], strict=True)) == {"Bo": False, "Cy": True}
    for frame in frames:
        assert frame.attrs["status"] == "limited"
        assert frame.attrs["notices"][-1] == (
            "2 files are not proven: lines of the oldest commits of a shallow clone may be of older ones by others; "
            "`git fetch --unshallow` gets these."
        )
