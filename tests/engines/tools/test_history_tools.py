"""The tools of history against git, and their served answers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import re2

from engines.tools.past import Past
from sourcelight.core.errors import RepositoryNotFound, RevisionNotFound, ToolError
from sourcelight.core.query.regexps import file_pattern
from sourcelight.repos import Viewer


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Past:
    return Past(tmp_path_factory.mktemp("past"), tmp_path_factory.mktemp("index") / "index")


def commits(past: Past, **arguments: Any) -> list[str]:
    return [row["commit"] for row in past.rows("commit_search", repos=["one"], **arguments)]


def log(past: Past, *arguments: str) -> list[str]:
    return past.git("log", "--format=%H", *arguments)


def test_all_commits_are_listed_newest_first_with_every_fact(past: Past) -> None:
    form = "%H%x00%P%x00%aN%x00%aE%x00%at%x00%cN%x00%ct%x00%s"
    messages = [line.split("\0") for line in past.git("log", "--date-order", f"--format={form}")]
    rows = past.rows("commit_search", repos=["one"])
    ours = [
        [r["commit"], " ".join(r["parents"]), r["author"], r["author_email"], str(int(r["author_date"].timestamp())),
         r["committer"], str(int(r["commit_date"].timestamp())), r["subject"]]
        for r in rows
    ]  # fmt: skip
    assert ours == messages
    assert [r["co_authors"] for r in rows if r["co_authors"]] == [["Bo Boson <bo@example.org>"]]
    assert [r["subject"] for r in rows if r["bot"]] == ["Bump x"]


@pytest.mark.parametrize(
    ("arguments", "git"),
    [
        ({"messageTerms": ["FIX"]}, ["-i", "-F", "--grep=fix"]),
        ({"messageTerms": ["Bump", "Move"]}, ["-F", "--grep=Bump", "--grep=Move"]),
        ({"messageTerms": ["^Fix"], "useRegex": True}, ["-E", "--grep=^Fix"]),
        ({"authors": ["ada@example"]}, ["--author=ada@example"]),
        ({"authors": ["BO BOSON", "dependabot"]}, ["-i", "--author=bo boson", "--author=dependabot"]),
        ({"authors": ["ada@old"]}, ["--no-mailmap", "--author=ada@old"]),
        ({"contentTerms": ["TODO"]}, ["-GTODO"]),
        ({"files": ["src/"]}, ["--full-history", "--no-merges", "--", "src"]),
        ({"files": ["**/b.py"]}, ["--full-history", "--no-merges", "--", "src/lib/b.py"]),
        ({"files": ["*.py"], "authors": ["bo"]}, ["--no-merges", "--author=Bo", "--", "*.py"]),
        ({"after": "2020-10-01", "before": "2021-01-31"}, ["--since-as-filter=2020-10-01T00:00:01Z",
                                                           "--until=2021-01-30T23:59:59Z"]),
        ({"revisions": ["side"]}, ["side"]),
        ({"revisions": ["side", "main~1"]}, ["side", "main~1"]),
        ({"revisions": ["main", "^side"]}, ["main", "^side"]),
        ({"revisions": ["^side~1", "side", "^main~5"]}, ["side", "^side~1", "^main~5"]),
        ({"revisions": ["^main~3"]}, ["HEAD", "^main~3"]),
    ],
    ids=str,
)  # fmt: skip
def test_filters_find_what_git_finds(past: Past, arguments: dict[str, Any], git: list[str]) -> None:
    result = commits(past, **arguments)
    assert sorted(result) == sorted(log(past, *git))
    assert result


def test_the_bounds_of_dates_are_exclusive_and_told(past: Past) -> None:
    answer = past.call("commit_search", repos=["one"], after="2020-10-23T12:26:39Z", before="2020-10-23T12:26:41Z")
    assert answer.table.num_rows == 1
    assert answer.attributes["after"] == "2020-10-23T12:26:39Z"
    exclusive = past.call("commit_search", repos=["one"], after="2020-10-23T12:26:40Z", count=100)
    assert answer.table["commit"][0] not in exclusive.table["commit"]


def test_diff_lines_are_those_of_git(past: Past) -> None:
    rows = past.rows("diff_search", repos=["one", "two"], pattern="todo")
    results = {(r["path"], r["side"], r["line_number"], r["line"]) for r in rows}
    assert results == {
        ("src/lib/b.py", "added", 2, "TODO"),
        ("src/lib/b.py", "removed", 2, "TODO"),
        ("src/lib/b.py", "added", 3, "naïve = 'ünï TODO'"),
        ("x.c", "added", 1, "int todo; // TODO"),
    }
    for row in rows:
        assert [row["line"][a:b].lower() for a, b in zip(row["start"], row["end"], strict=True)] == ["todo"] * len(
            row["start"]
        )


@pytest.mark.parametrize(
    ("arguments", "count"),
    [
        ({"added": True}, 2),
        ({"removed": True}, 1),
        ({"added": True, "removed": True}, 3),
        ({"author": "ada"}, 1),
        ({"authors": ["bo"]}, 2),
        ({"useRegex": True}, 3),
        ({"after": "2021-01-01"}, 2),
        ({"changes": "count"}, 1),
        ({"files": ["docs"]}, 0),
    ],
    ids=str,
)
def test_diff_filters_narrow(past: Past, arguments: dict[str, Any], count: int) -> None:
    assert past.call("diff_search", repos=["one"], pattern="TODO", **arguments).table.num_rows == count


def test_a_comparison_is_that_of_git(past: Past) -> None:
    answer = past.call("compare_revisions", repo="one", base="main~3", head="main")
    reply = past.git("diff", "-M", "--numstat", "main~3", "main")
    counts = [f"{r['additions']}\t{r['deletions']}" for r in answer.table.to_pylist() if not r["binary"]]
    assert sorted(counts) == sorted(line.rsplit("\t", 1)[0] for line in reply if not line.startswith("-"))
    assert answer.attributes["total_files"] == len(reply)
    assert answer.complete


def test_served_comparisons_come_in_pages(past: Past) -> None:
    full_answer, _ = past.render("compare_revisions", repo="one", base="main~5", head="main")
    rows = past.rows("compare_revisions", repo="one", base="main~5", head="main")
    changed = {name: sum(row[name] for row in rows) for name in ("additions", "deletions")}
    pages: list[Any] = []
    after: dict[str, Any] = {}
    while True:
        page, text = past.render("compare_revisions", repo="one", base="main~5", head="main", first=3, **after)
        pages += page["fileDiffs"]
        assert page["totals"] == {"files": len(full_answer["fileDiffs"]), **changed}
        if not page["pageInfo"]["hasNextPage"]:
            break
        assert f"endCursor: {page['pageInfo']['endCursor']}" in text
        assert page["limitHit"] is True
        after = {"after": page["pageInfo"]["endCursor"]}
    assert pages == full_answer["fileDiffs"]
    with pytest.raises(ToolError, match="belongs to the comparison"):
        past.call("compare_revisions", repo="one", base="main~4", head="main", **after)


def test_a_short_comparison_is_that_of_git_without_patches(past: Past) -> None:
    expected = {
        path: (int(added), int(removed))
        for added, removed, path in (line.split("\t") for line in past.git("diff", "--numstat", "-M", "main~3", "main"))
        if added != "-"
    }
    payload, text = past.render("compare_revisions", repo="one", base="main~3", head="main", stat=True)
    assert (
        expected.items()
        <= {file["newPath"]: (file["additions"], file["deletions"]) for file in payload["fileDiffs"]}.items()
    )
    assert not any("patch" in file for file in payload["fileDiffs"])
    assert "diff --git" not in text
    assert all(f"{path} +{added} -{removed}\n" in text for path, (added, removed) in expected.items())
    answer = past.call("compare_revisions", repo="one", base="main~3", head="main", stat=True)
    assert answer.complete
    everything = past.rows("compare_revisions", repo="one", base="main~3", head="main")
    assert answer.table.to_pylist() == [{**row, "patch": None} for row in everything]


def test_contributor_repositories_are_counted(past: Past) -> None:
    answer = past.call("get_contributor_repos", author="BO@")
    rows = {row["repository"]: row for row in answer.table.to_pylist()}
    assert {name: row["commits"] for name, row in rows.items()} == {"one": 2, "two": 1, "secret": 1}
    assert rows["one"]["authors"] == ["Bo Boson <bo@example.org>"]
    assert not answer.complete
    assert any("plain is a directory without git" in notice for notice in answer.notices)
    assert [r["repository"] for r in past.rows("get_contributor_repos", author="bo", minCommits=2)] == ["one"]
    assert past.call("get_contributor_repos", authors=["bo", "ada"], limit=1).table.num_rows == 1


def test_an_invisible_repository_is_an_absent_one(past: Past) -> None:
    public = Viewer.anonymous()
    names = {
        row["repository"] for row in past.call("get_contributor_repos", author="bo", viewer=public).table.to_pylist()
    }
    assert names == {"one", "two"}
    for name in ("secret", "absent"):
        with pytest.raises(RepositoryNotFound, match=f"repository not found: {name}"):
            past.call("commit_search", repos=[name], viewer=public)
        with pytest.raises(RepositoryNotFound, match=f"repository not found: {name}"):
            past.call("compare_revisions", repo=name, base="a", head="b", viewer=public)


def test_served_commits_are_limited_and_say_so(past: Past) -> None:
    payload, text = past.render("commit_search", repos=["one"], count=2, messageTerms=["a"])
    assert len(payload["commits"]) == 2
    assert payload["limitHit"] is True
    assert payload["totalCount"] > 2
    first = payload["commits"][0]
    assert first["url"] == f"https://host/one/-/commit/{first['oid']}"
    assert text.startswith(f"## one@{first['oid'][:7]} {first['subject']}\nAuthor: {first['authorName']}")
    json.dumps(payload)
    with pytest.raises(ToolError, match="1 to 100"):
        past.call("commit_search", served=True, repos=["one"], count=101)
    with pytest.raises(ToolError, match="repos is empty"):
        past.call("commit_search", served=True, repos=[])


def test_served_diffs_show_hunks_that_hold_matches(past: Past) -> None:
    payload, text = past.render("diff_search", repos=["one"], pattern="TODO", removed=True)
    (result,) = payload["results"]
    (file,) = result["files"]
    assert file["newPath"] == "src/lib/b.py"
    assert "-TODO" in file["hunks"][0]["lines"]
    assert file["hunks"][0]["oldStart"] == 1
    assert "```diff" in text
    json.dumps(payload)


def test_ranked_answers_count_no_matches(past: Past) -> None:
    assert "matchCount" not in past.render("nls_search", query="where is the todo")[0]


def test_nothing_found_is_said(past: Past) -> None:
    calls: dict[str, dict[str, Any]] = {
        "commit_search": {"repos": ["one"], "messageTerms": ["no such words"]},
        "diff_search": {"repos": ["one"], "pattern": "no such words"},
        "get_contributor_repos": {"author": "nobody at all"},
    }
    for name, arguments in calls.items():
        payload, text = past.render(name, **arguments)
        assert text.startswith("No results.")
        assert next(iter(payload.values())) == []


@pytest.mark.parametrize(
    ("name", "arguments", "error", "match"),
    [
        ("commit_search", {"repos": ["one"], "after": "nonsense"}, ToolError, "accepted: 2024-06-28"),
        (
            "commit_search",
            {"repos": ["one"], "after": "2021-01-02", "before": "2021-01-01"},
            ToolError,
            "no time is after",
        ),
        ("commit_search", {"repos": ["one"], "authors": ["(", "b"], "useRegex": True}, ToolError, "authors"),
        ("commit_search", {"repos": ["one"], "messageTerms": [""]}, ToolError, "an empty string"),
        ("commit_search", {"repos": ["one"], "revisions": ["nope"]}, RevisionNotFound, "one@nope"),
        ("commit_search", {"repos": ["one"], "revisions": ["main", "^nope"]}, RevisionNotFound, "one@nope"),
        ("diff_search", {"repos": ["one"], "pattern": "a\nb"}, ToolError, "newline"),
        ("compare_revisions", {"repo": "one", "base": "nope", "head": "main"}, RevisionNotFound, "nope"),
        (
            "compare_revisions",
            {"repo": "one", "base": "main~1", "head": "main", "after": "x"},
            ToolError,
            "not a cursor",
        ),
        ("get_contributor_repos", {}, ToolError, "'author' or 'authors'"),
    ],
    ids=str,
)
def test_bad_arguments_are_refused_with_a_way_out(
    past: Past, name: str, arguments: dict[str, Any], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        past.call(name, **arguments)


def test_an_author_whom_nobody_knows_has_nothing(past: Past) -> None:
    assert commits(past, authors=["nobody@nowhere"]) == []
    assert past.rows("diff_search", repos=["one"], pattern="TODO", author="nobody@nowhere") == []
    assert past.rows("get_contributor_repos", author="nobody@nowhere") == []


def test_analyses_count_what_lies_between_revisions(past: Past) -> None:
    requests = {"repos": ["one"], "revisions": ["main", "^main~3"]}
    people = past.rows("contributors", **requests)
    messages = [line.split("\t") for line in past.git("shortlog", "-sne", "main", "^main~3")]
    assert sorted((row["commits"], f"{row['author']} <{row['author_email']}>") for row in people if row["commits"]) == (
        sorted((int(count), who) for count, who in messages)
    )
    folders = past.rows("churn", by=["directory"], **requests)
    counts = [line.split("\t") for line in past.git("log", "-M", "--numstat", "--format=", "main", "^main~3") if line]
    assert sum(row["additions"] for row in folders) == sum(int(added) for added, *_ in counts if added != "-")


def test_a_history_grows_with_its_repository(tmp_path: Path) -> None:
    past = Past(tmp_path / "past", tmp_path / "index")
    before = len(commits(past))
    new = past.builder.commit({"new.txt": "1\n"}, "one more")
    assert commits(past, messageTerms=["one more"]) == [new]
    assert len(commits(past)) == before + 1


def test_a_forced_push_while_open_is_seen_by_the_next_call(tmp_path: Path) -> None:
    past = Past(tmp_path / "past", tmp_path / "index")
    old_head = past.builder.head
    assert commits(past)[0]
    past.builder.git("reset", "-q", "--hard", "HEAD~2")
    new = past.builder.commit({"image.bin": "text now\n"}, "rewritten")
    result = commits(past)
    assert sorted(result) == sorted(past.git("log", "--format=%H"))
    assert new in result
    assert old_head not in result
    owner = {row["path"]: row["author"] for row in past.rows("ownership", repo="one", by="file")}
    assert "image.bin" in owner


def test_a_repository_that_lost_its_commits_is_refused_by_name(tmp_path: Path) -> None:
    past = Past(tmp_path / "past", tmp_path / "index")
    assert commits(past)
    past.builder.git("update-ref", "-d", "HEAD")
    past.builder.git("branch", "-D", "side")
    calls: dict[str, dict[str, Any]] = {
        "commit_search": {"repos": ["one"]},
        "diff_search": {"repos": ["one"], "pattern": "TODO"},
        "contributors": {"repos": ["one"]},
        "ownership": {"repo": "one"},
        "compare_revisions": {"repo": "one", "base": "HEAD~1", "head": "HEAD"},
    }
    for name, arguments in calls.items():
        with pytest.raises((RevisionNotFound, RepositoryNotFound), match="one"):
            past.call(name, **arguments)
    assert [row["repository"] for row in past.rows("commit_search", repos=["two"])] == ["two"]


@pytest.mark.parametrize(
    ("files", "path", "matches"),
    [
        ("src", "src/a.py", True),
        ("src", "src.py", False),
        ("src/", "src/a/b.c", True),
        ("./src/a.py", "src/a.py", True),
        ("*.py", "deep/down/a.py", True),
        ("/*.py", "deep/a.py", False),
        ("/*", "a.py", True),
        ("src/*.py", "src/a/b.py", False),
        ("src/**/*.py", "src/b.py", True),
        ("src/**", "src/a/b.c", True),
        ("a?[bc].py", "axb.py", True),
        ("a[!b].py", "ab.py", False),
        ("we+ird(1).txt", "we+ird(1).txt", True),
        ("", "anything", True),
    ],
)
def test_globs_and_prefixes(files: str, path: str, matches: bool) -> None:  # noqa: FBT001 - a table
    result = re2.compile(file_pattern(files)).search(path)
    assert bool(result) is matches
