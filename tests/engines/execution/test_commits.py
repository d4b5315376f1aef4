"""Queries for commits and changed lines over real repositories."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from engines.execution.running_queries import final, run
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches import MatchBatch, conform
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.wire.events import Alert, Done, Filters
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing import RepositoryBuilder

BOB = "Bob Builder <bob@example.com>"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    api = RepositoryBuilder(root / "api", origin="https://example.org/team/api.git")
    api.commit({"main.py": "import retry\n", "old.go": "package retry\n"}, "add retry\n\nfirst retry, second retry")
    api.tag("v1")
    api.commit({"main.py": "import retry\nretry(3)\n", "docs/a.md": "Retry twice\n"}, "use it", author=BOB)
    api.git("mv", "old.go", "new.go")
    api.commit(None, "move")
    api.commit({"main.py": "retry(3)\n"}, "import nothing")
    api.branch("side", start="v1")
    api.commit({"side.py": "retry aside\n"}, "aside")
    api.switch("main")
    web = RepositoryBuilder(root / "web", origin="https://example.org/team/web.git")
    web.commit({"app.ts": "retry()\n"}, "retry in the browser", author=BOB)
    (root / "plain").mkdir()
    (root / "plain" / "notes.txt").write_text("retry\n")
    return root


@pytest.fixture(scope="module")
def engine(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    return open_engine([folder / "api", folder / "web", folder / "plain"], index=tmp_path_factory.mktemp("index"))


def rows(engine: LocalEngine, query: str, **options: Any) -> list[dict[str, Any]]:
    batches = [event.batch for event in run(engine, query, **options) if isinstance(event, MatchBatch)]
    return list(conform(batches).to_pylist())


def messages(engine: LocalEngine, query: str, **options: Any) -> list[str]:
    results = [row["message"].splitlines()[0] for row in rows(engine, query, **options)]
    return list(dict.fromkeys(results))


def lines(engine: LocalEngine, query: str, **options: Any) -> list[tuple[str, str, int, str]]:
    return [(r["path"], r["side"], r["line_number"], r["line"]) for r in rows(engine, query, **options) if r["path"]]


def test_messages_have_their_matches_by_line(engine: LocalEngine) -> None:
    result = rows(engine, "type:commit repo:api retry")
    assert [(r["line_number"], r["line"], r["start"], r["end"], r["match_count"]) for r in result] == [
        (1, "add retry", [4], [9], 1),
        (3, "first retry, second retry", [6, 20], [11, 25], 2),
    ]
    assert result[0]["label"].startswith("[team/api](/example.org/team/api) \u203a [Ada Example](")
    assert result[0]["detail"].startswith(f"[`{result[0]['commit'][:7]}` ")
    assert result[0]["url"] == f"/example.org/team/api/-/commit/{result[0]['commit']}"


def test_commits_without_a_pattern_come_newest_first(engine: LocalEngine) -> None:
    assert messages(engine, "type:commit repo:api") == ["import nothing", "move", "use it", "add retry"]
    assert messages(engine, "type:commit repo:api author:bob") == ["use it"]
    assert messages(engine, r"type:commit repo:api -author:^ada") == ["use it"]
    assert messages(engine, "type:commit repo:api committer:bob@example.com$") == ["use it"]
    assert messages(engine, "type:commit repo:api message:first") == ["add retry"]
    assert messages(engine, "type:commit repo:api file:docs/") == ["use it"]
    assert messages(engine, "type:commit repo:api lang:go") == ["move", "add retry"]
    assert messages(engine, "type:commit repo:api -file:py -file:md") == ["move", "add retry"]


def test_dates_are_strict_and_of_the_committer(engine: LocalEngine) -> None:
    # The first commit is of 2023-11-14T22:13:20Z, the others follow hour by hour.
    assert messages(engine, "type:commit repo:api before:2023-11-14T23:13:20Z") == ["add retry"]
    assert messages(engine, "type:commit repo:api after:2023-11-15T00:13:20Z") == ["import nothing"]
    assert messages(engine, "type:commit repo:api after:2023-11-15 before:2023-11-15T01:00:00Z") == ["move"]


def test_changed_lines_have_their_places(engine: LocalEngine) -> None:
    assert lines(engine, "type:diff repo:api retry") == [
        ("main.py", "removed", 1, "import retry"),
        ("docs/a.md", "added", 1, "Retry twice"),
        ("main.py", "added", 2, "retry(3)"),
        ("main.py", "added", 1, "import retry"),
        ("old.go", "added", 1, "package retry"),
    ]
    assert lines(engine, "type:diff repo:api Retry case:yes") == [("docs/a.md", "added", 1, "Retry twice")]
    assert lines(engine, "type:diff repo:api retry lang:go") == [("old.go", "added", 1, "package retry")]
    assert lines(engine, "type:diff repo:api /^retry/ -file:md") == [("main.py", "added", 2, "retry(3)")]


def test_one_side_can_be_selected(engine: LocalEngine) -> None:
    removed = "type:diff repo:api select:commit.diff.removed"
    assert lines(engine, f"{removed} retry") == [("main.py", "removed", 1, "import retry")]
    assert messages(engine, removed) == ["import nothing"]
    assert len(lines(engine, "type:diff repo:api retry select:commit.diff.added")) == 4
    assert rows(engine, "type:commit repo:api retry select:commit.diff") == []
    assert rows(engine, "type:diff repo:api retry select:file") == []


def test_one_side_of_what_lacks_a_pattern_is_any_line_of_it(engine: LocalEngine) -> None:
    added = "type:diff repo:api select:commit.diff.added"
    assert messages(engine, f"{added} not zzz") == messages(engine, added) == ["use it", "add retry"]
    # A file whose changed lines hold the pattern is out, and each file of these commits holds it.
    assert messages(engine, f"{added} not retry") == []
    assert messages(engine, f"{added} not twice", pattern_type="keyword") == ["use it", "add retry"]
    assert messages(engine, f"{added} not import not package", pattern_type="keyword") == ["use it"]
    assert messages(engine, "type:diff repo:api not zzz select:commit.diff.removed") == ["import nothing"]
    assert lines(engine, f"{added} not zzz") == []
    # With a pattern beside it, lines with a match count alone.
    assert messages(engine, f"{added} (twice or not zzz)", pattern_type="keyword") == ["use it"]


def test_selecting_repositories_gives_each_once(engine: LocalEngine) -> None:
    result = rows(engine, "type:commit select:repo retry")
    assert [(row["type"], row["repository"]) for row in result] == [
        ("repo", "example.org/team/api"),
        ("repo", "example.org/team/web"),
    ]


def test_terms_are_joined_within_one_file_of_a_commit(engine: LocalEngine) -> None:
    keyword = {"pattern_type": "keyword"}
    assert (
        messages(engine, "type:diff repo:api import retry", **keyword) == ["import nothing", "use it", "add retry"][::2]
    )
    assert messages(engine, "type:diff repo:api twice 3", **keyword) == []
    assert messages(engine, "type:diff repo:api (twice or 3)", **keyword) == ["use it"]
    assert messages(engine, "type:diff repo:api retry not import", **keyword) == ["use it", "add retry"]


def test_alternatives_are_united_commit_by_commit(engine: LocalEngine) -> None:
    query = "repo:api type:diff ((file:md twice) or (file:main 3))"
    result = rows(engine, query, pattern_type="keyword")
    assert len({row["commit"] for row in result}) == 1
    assert {(row["path"], row["line"]) for row in result} == {("docs/a.md", "Retry twice"), ("main.py", "retry(3)")}


def test_revisions_bound_the_commits(engine: LocalEngine) -> None:
    assert messages(engine, "type:commit repo:api@side") == ["aside", "add retry"]
    assert messages(engine, "type:commit repo:api@side:^v1") == ["aside"]
    assert messages(engine, "type:commit repo:api@v1:side") == ["aside", "add retry"]
    assert messages(engine, "type:commit repo:api rev:^v1") == ["import nothing", "move", "use it"]
    alert = next(e for e in run(engine, "type:commit repo:api@nowhere x") if isinstance(e, Alert))
    assert alert.title == "Some repositories could not be searched"


def test_files_are_known_by_who_changed_them(engine: LocalEngine) -> None:
    def paths(query: str) -> set[str]:
        return {row["path"] for row in rows(engine, query)}

    assert paths("file:has.contributor(bob) repo:api retry") == {"main.py", "docs/a.md"}
    assert paths("-file:has.contributor(bob) repo:api retry") == {"new.go"}
    assert paths("file:has.contributor(^Ada) repo:api") == {"main.py", "new.go"}
    assert (
        engine.count(SearchRequest("file:has.contributor(bob) retry"), ["path"], Viewer.owner(), Cancellation()) is None
    )


def test_folders_without_git_are_named_and_the_rest_is_searched(engine: LocalEngine) -> None:
    events = run(engine, "type:commit retry")
    assert isinstance(events[-1], Done)
    item = next(s for s in final(events).skipped if s.reason == "history-missing")
    assert "`plain`: it is a directory without git" in item.message
    assert final(events).match_count == 4


def test_limits_cut_and_say_so(engine: LocalEngine) -> None:
    events = run(engine, "type:diff retry count:2")
    assert final(events).match_count == 2
    assert "shard-match-limit" in {s.reason for s in final(events).skipped}
    displayed = run(engine, "type:commit repo:api", display=1)
    assert sum(e.batch.num_rows for e in displayed if isinstance(e, MatchBatch)) == 1
    assert final(displayed).match_count == 4
    assert "display" in {s.reason for s in final(displayed).skipped}


@pytest.mark.parametrize("kind", ["commit", "diff"])
def test_each_alternative_has_its_own_count_of_commits(engine: LocalEngine, kind: str) -> None:
    every = Counter(row["repository"] for row in rows(engine, f"type:{kind}"))
    (busiest, many), (quietest, _) = every.most_common()[0], every.most_common()[-1]
    assert many > 2
    first, second = (f"repo:^{name}$ type:{kind} count:" for name in (busiest, quietest))
    result = Counter(row["repository"] for row in rows(engine, f"({first}2) or ({second}1)"))
    assert result == {busiest: 2, quietest: 1}
    # A commit of both alternatives comes with the first of them.
    same = [row["commit"] for row in rows(engine, f"({first}1) or ({first}3)")]
    assert len(same) == len(set(same)) == min(4, len({r["commit"] for r in rows(engine, f"{first}all")}))
    mixed = Counter(row["type"] for row in rows(engine, f"({first}2) or (repo:^{quietest}$ file:. count:1)"))
    assert mixed == {kind: 2, "path": 1}


def test_filters_name_the_kinds_of_results(engine: LocalEngine) -> None:
    filters = [e for e in run(engine, "type:diff retry") if isinstance(e, Filters)][-1]
    assert ("type:diff", 6) in {(f.value, f.count) for f in filters.filters}


@pytest.mark.parametrize("query", ["type:commit", "type:diff", "type:diff retry"])
def test_authors_and_ages_are_suggested_with_the_commits_that_they_leave(engine: LocalEngine, query: str) -> None:
    filters = [e for e in run(engine, f"{query} count:all") if isinstance(e, Filters)][-1].filters
    suggested = [f for f in filters if f.kind in {"author", "commit date"}]
    assert {f.kind for f in suggested} == {"author", "commit date"}
    for item in suggested:
        results = {(row["repository"], row["commit"]) for row in rows(engine, f"{query} {item.value} count:all")}
        assert (item.value, len(results)) == (item.value, item.count)
        assert item.exhaustive
    every = {(row["repository"], row["commit"]) for row in rows(engine, f"{query} count:all")}
    assert sum(f.count for f in suggested if f.kind == "author") == len(every)


def test_commits_and_files_can_be_asked_for_together(engine: LocalEngine) -> None:
    kinds = {row["type"] for row in rows(engine, "repo:api type:commit type:file retry")}
    assert kinds == {"commit", "content"}
    assert {row["type"] for row in rows(engine, "repo:api type:commit type:diff retry")} == {"diff"}


def test_new_commits_are_found_by_the_next_search(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repo")
    repo.commit({"a": "x\n"}, "one")
    engine = open_engine([tmp_path / "repo"], index=tmp_path / "index")
    assert messages(engine, "type:commit") == ["one"]
    repo.commit({"a": "y\n"}, "two")
    assert messages(engine, "type:commit") == ["two", "one"]
    repo.git("reset", "-q", "--hard", "HEAD~1")
    repo.commit({"a": "z\n"}, "rewritten")
    assert messages(engine, "type:commit") == ["rewritten", "one"]


def test_a_cancelled_search_ends_without_done(engine: LocalEngine) -> None:
    cancellation = Cancellation()
    events = engine.stream(SearchRequest("type:diff retry"), Viewer.owner(), cancellation)
    next(events)
    cancellation.cancel()
    assert not any(isinstance(event, Done) for event in events)


def test_work_trees_have_the_history_of_their_head(folder: Path, tmp_path: Path) -> None:
    engine = open_engine([folder / "api"], index=tmp_path / "index", worktree=True)
    assert messages(engine, "type:commit") == ["import nothing", "move", "use it", "add retry"]


@pytest.fixture(scope="module")
def owned(tmp_path_factory: pytest.TempPathFactory) -> LocalEngine:
    """Engine over a repository whose owners are written down by its second commit, and change with the fourth."""
    root = tmp_path_factory.mktemp("owned")
    repo = RepositoryBuilder(root / "src" / "app")
    repo.commit({"a.py": "retry\nlock\n", "b.py": "retry\n"}, "begin")
    repo.commit({"CODEOWNERS": "/a.py @ann\n", "a.py": "retry twice\nlock\n"}, "owners")
    repo.commit({"b.py": "retry\nretry lock\n"}, "second file", author=BOB)
    repo.commit({"CODEOWNERS": "* @bob\n", "c.py": "retry\n"}, "all to bob")
    repo.commit({"a.py": None, "c.py": "retry lock\0\n"}, "delete")
    return open_engine([root / "src"], index=root / "index")


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("type:diff retry file:has.content(lock)", {("begin", "a.py"), ("owners", "a.py"), ("second file", "b.py")}),
        ("type:diff file:has.content(^lock$) file:a.py retry", {("begin", "a.py"), ("owners", "a.py")}),
        ("type:diff file:has.content(LOCK) retry case:yes", set()),
        ("type:diff file:has.content(lock)", {("begin", None), ("owners", None), ("second file", None)}),
        ("type:diff retry file:has.content(lock) select:commit.diff.removed", {("owners", "a.py")}),
        ("type:diff retry file:has.owner(ann)", {("owners", "a.py")}),
        ("type:diff retry -file:has.owner()", {("begin", "a.py"), ("begin", "b.py"), ("second file", "b.py")}),
        ("type:commit file:has.owner(bob)", {("all to bob", None), ("delete", None)}),
        ("type:commit file:has.owner(bob) file:a.py", {("delete", None)}),
        ("type:commit file:has.owner(ann) second", set()),
        ("type:commit retry file:has.content(lock)", set()),
        ("type:diff retry file:has.contributor(bob)", set()),
    ],
)
def test_predicates_on_files_hold_for_the_changed_file_as_its_commit_has_it(
    owned: LocalEngine, query: str, expected: set[tuple[str, str | None]]
) -> None:
    assert {(row["message"], row["path"]) for row in rows(owned, query)} == expected


def test_what_can_have_no_result_says_why(owned: LocalEngine) -> None:
    for query, words in [
        ("type:commit begin file:has.content(lock)", "type:diff"),
        ("type:diff retry file:has.contributor(bob)", "author:"),
        ("type:diff retry select:file", "select:file keeps only files"),
        ("type:commit begin select:commit.diff", "select:commit.diff keeps only"),
        ("type:repo app file:a.py", "repo:has.path()"),
        ("type:symbol not x", "needs a pattern that isn't negated"),
        ("content:app type:repo", "only names of repositories"),
    ]:
        alerts = [event for event in run(owned, query) if isinstance(event, Alert)]
        assert [item.title for item in alerts] == ["No results"], query
        assert words.lower() in alerts[0].description.lower()
    results = [event for event in run(owned, "committer:nobody retry") if isinstance(event, Alert)]
    assert [item.title for item in results] == ["A filter has no effect"]


def test_commits_without_written_owners_are_said(owned: LocalEngine) -> None:
    (alert,) = [event for event in run(owned, "type:diff retry file:has.owner(ann)") if isinstance(event, Alert)]
    assert alert.title == "Some results have no owners"
    assert "no CODEOWNERS file yet" in alert.description


def test_a_newline_in_a_path_is_a_newline(tmp_path: Path) -> None:
    repository = RepositoryBuilder(tmp_path / "odd")
    repository.commit({"n/new\nline.txt": "a\n"}, "newline")
    repository.commit({"n/new line.txt": "a\n"}, "blank")
    engine = open_engine([tmp_path / "odd"], index=tmp_path / "index")
    for kind in ("commit", "diff"):
        assert messages(engine, rf"type:{kind} file:\n") == ["newline"]
        assert messages(engine, f'type:{kind} file:"new line"') == ["blank"]
        assert messages(engine, rf"type:{kind} file:new\sline") == ["blank", "newline"]
        assert messages(engine, rf"type:{kind} -file:\n") == ["blank"]
        assert messages(engine, f"type:{kind} file:^line") == []
