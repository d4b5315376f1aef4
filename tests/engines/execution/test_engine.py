"""The engine over real repositories: types, filters, limits, honesty."""

from __future__ import annotations

import subprocess
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.execution.running_queries import final, rows, run
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError
from sourcelight.core.wire.events import Alert, Done, Filters, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import Limits, LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import RepositoryBuilder

REPOS_TOML = """
[repositories."example.org/team/fork"]
fork = true
[repositories."example.org/team/old"]
archived = true
[repositories."example.org/team/secret"]
private = true
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    for name in ("api", "web", "fork", "old", "secret"):
        repo = RepositoryBuilder(root / name, origin=f"https://example.org/team/{name}.git")
        repo.commit(
            {
                "src/main.py": f"# {name}\nimport retry\n\n\ndef retry_all(retry):\n    return retry\n",
                "src/util.go": "package util\n\nfunc Retry() {}\n",
                "docs/retry.md": "how to wait\n",
                "tests/test_main.py": "def test_retry():\n    assert True  # naïve → retry\n",
                "blob.bin": b"\0\1\2retry",
                f"only_{name}.txt": "nothing here\n",
            }
        )
    (root / "repos.toml").write_text(REPOS_TOML)
    return root


ALL = -1


def locations(events: list[Any]) -> set[tuple[str, str, int | None]]:
    return {(r["repository"].rsplit("/", 1)[-1], r["path"], r["line_number"]) for r in rows(events)}


def reasons(events: list[Any]) -> set[str]:
    return {s.reason for s in final(events).skipped}


def test_a_stream_ends_with_filters_progress_and_done(engine: LocalEngine) -> None:
    events = run(engine, "retry")
    assert [type(e) for e in events[-3:]] == [Filters, Progress, Done]
    assert [type(e) for e in events[:2]] == [Filters, MatchBatch]
    assert not any(f.exhaustive for f in events[0].filters)
    assert final(events).match_count == sum(r["match_count"] for r in rows(events))


def test_matches_equal_git_grep(engine: LocalEngine, folder: Path) -> None:
    results = {location for location in locations(run(engine, "retry type:file")) if location[0] == "api"}
    grep = subprocess.run(
        ["git", "grep", "-n", "-i", "-I", "retry", "HEAD"],
        cwd=folder / "api",
        capture_output=True,
        text=True,
        check=True,
    )
    expected = {("api", line.split(":")[1], int(line.split(":")[2])) for line in grep.stdout.splitlines()}
    assert results == expected


def test_every_span_is_the_match(engine: LocalEngine) -> None:
    for row in rows(run(engine, "retry type:file")):
        for start, end in zip(row["start"], row["end"], strict=True):
            assert row["line"][start:end].lower() == "retry"


def test_forks_and_archives_are_left_out_and_said_so(engine: LocalEngine) -> None:
    events = run(engine, "retry")
    assert {location[0] for location in locations(events)} == {"api", "web", "secret"}
    skipped = {s.reason: s for s in final(events).skipped}
    assert skipped["repository-fork"].suggested is not None
    assert skipped["repository-fork"].suggested.query_expression == "fork:yes"
    assert "excluded-archive" in skipped
    filters = [e for e in events if isinstance(e, Filters)][-1].filters
    assert {(f.kind, f.value, f.count) for f in filters if f.kind == "utility"} == {
        ("utility", "archived:yes", 1),
        ("utility", "fork:yes", 1),
    }
    assert all(f.exhaustive for f in filters)


def test_forks_and_archives_come_when_asked_for(engine: LocalEngine) -> None:
    events = run(engine, "retry fork:yes archived:yes")
    assert {location[0] for location in locations(events)} == {"api", "web", "secret", "fork", "old"}
    assert {location[0] for location in locations(run(engine, "retry fork:only"))} == {"fork"}
    assert reasons(events) == {"document-binary"}


def test_one_repository_named_exactly_is_searched_even_if_a_fork(engine: LocalEngine) -> None:
    events = run(engine, r"repo:^example\.org/team/fork$ retry")
    assert {location[0] for location in locations(events)} == {"fork"}


def test_an_invisible_repository_leaves_no_trace(engine: LocalEngine) -> None:
    events = run(engine, "retry", viewer=Viewer.anonymous())
    assert "secret" not in str(events)
    assert {location[0] for location in locations(events)} == {"api", "web"}
    hidden = run(engine, r"repo:^example\.org/team/secret$ retry", viewer=Viewer.anonymous())
    absent = run(engine, r"repo:^example\.org/team/absent$ retry", viewer=Viewer.anonymous())
    strip = [[e for e in events if not isinstance(e, Progress)] for events in (hidden, absent)]
    assert strip[0] == strip[1]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("repo:api retry file:\\.go$", {("api", "src/util.go", 3)}),
        ("repo:api retry lang:go type:file", {("api", "src/util.go", 3)}),
        ("repo:api retry -lang:go -file:test -file:docs type:file", {("api", "src/main.py", n) for n in (2, 5, 6)}),
        ("repo:api Retry case:yes type:file", {("api", "src/util.go", 3)}),
        ("repo:api (retry AND package) type:file", {("api", "src/util.go", 1), ("api", "src/util.go", 3)}),
        ("repo:api (retry AND NOT import) type:file -file:test", {("api", "src/util.go", 3)}),
        ("repo:api (assert OR package) type:file", {("api", "src/util.go", 1), ("api", "tests/test_main.py", 2)}),
        ("repo:api /^def \\w+_all/", {("api", "src/main.py", 5)}),
        ("repo:api type:path retry", {("api", "docs/retry.md", None)}),
        ("repo:api file:docs", {("api", "docs/retry.md", None)}),
        ("repo:api (file:docs or file:go$)", {("api", "docs/retry.md", None), ("api", "src/util.go", None)}),
        ("repo:(api|web) only_", {("api", "only_api.txt", None), ("web", "only_web.txt", None)}),
        ("-repo:web -repo:secret only_", {("api", "only_api.txt", None)}),
    ],
)
def test_filters_and_operators(engine: LocalEngine, query: str, expected: set[tuple[str, str, int | None]]) -> None:
    assert locations(run(engine, query)) == expected


def test_repositories_are_found_by_name_and_by_filters_alone(engine: LocalEngine) -> None:
    repo_rows = [r for r in rows(run(engine, "type:repo web")) if r["type"] == "repo"]
    assert [(r["repository"], r["name_start"], r["name_end"]) for r in repo_rows] == [
        ("example.org/team/web", [17], [20])
    ]
    assert {r["repository"].rsplit("/", 1)[-1] for r in rows(run(engine, "repo:team"))} == {"api", "web", "secret"}


@pytest.mark.parametrize("kind", ["path", "file"])
def test_a_kind_of_results_decides_what_filters_on_repositories_find(engine: LocalEngine, kind: str) -> None:
    files = locations(run(engine, "repo:api file:. count:all"))
    assert files
    assert locations(run(engine, f"repo:api type:{kind} count:all")) == files
    both = rows(run(engine, f"repo:api type:{kind} type:repo count:all"))
    assert Counter(row["type"] for row in both) == {"path": len(files), "repo": 1}


def test_count_stops_and_says_so(engine: LocalEngine) -> None:
    events = run(engine, "retry count:3")
    assert final(events).match_count == 3
    assert sum(r["match_count"] for r in rows(events)) == 3
    assert "shard-match-limit" in reasons(events)
    assert not any(f.exhaustive for e in events if isinstance(e, Filters) for f in e.filters)


def test_display_goes_on_counting(engine: LocalEngine) -> None:
    everything = final(run(engine, "retry count:all")).match_count
    events = run(engine, "retry count:all", display=2)
    assert sum(r["match_count"] for r in rows(events)) == 2
    assert final(events).match_count == everything
    assert "display" in reasons(events)
    assert rows(run(engine, "retry", display=0)) == []


def test_the_default_limit_is_said(engine: LocalEngine) -> None:
    small = LocalEngine(engine.catalog, engine.store, limits=Limits(matches=4))
    events = run(small, "retry")
    assert final(events).match_count == 4
    assert "shard-match-limit" in reasons(events)
    assert "shard-match-limit" not in reasons(run(small, "retry count:all"))


def test_binary_files_are_counted_as_named_only(engine: LocalEngine) -> None:
    item = next(s for s in final(run(engine, "retry")).skipped if s.reason == "document-binary")
    assert item.title == "3 binary files"


def test_no_repository_is_an_alert_with_what_would_help(engine: LocalEngine) -> None:
    events = run(engine, "repo:team/old retry")
    alert = next(e for e in events if isinstance(e, Alert))
    assert (alert.title, alert.kind) == ("No repositories found", "warning")
    assert [q.query for q in alert.proposed_queries] == ["repo:team/old retry archived:yes"]


@pytest.mark.parametrize(
    ("query", "expected", "limited"),
    [
        ("(repo:api retry count:1) or (repo:web retry count:2)", {"api": 1, "web": 2}, True),
        ("(repo:api retry count:2) or (repo:web retry)", {"api": 2, "web": ALL}, True),
        ("(repo:api retry count:all) or (repo:web retry count:1)", {"api": ALL, "web": 1}, True),
        ("(repo:api retry count:all) or (repo:web retry count:all)", {"api": ALL, "web": ALL}, False),
    ],
)
def test_each_alternative_has_its_own_count(
    engine: LocalEngine, query: str, expected: dict[str, int], *, limited: bool
) -> None:
    events = run(engine, query)
    counts: dict[str, int] = {}
    for row in rows(events):
        name = row["repository"].rsplit("/", 1)[-1]
        counts[name] = counts.get(name, 0) + row["match_count"]
    every = final(run(engine, "repo:api retry count:all")).match_count
    assert counts == {name: every if count == ALL else count for name, count in expected.items()}
    assert ("shard-match-limit" in reasons(events)) is limited
    filters = [e for e in events if isinstance(e, Filters)][-1]
    assert all(item.exhaustive is not limited for item in filters.filters)


def test_a_count_that_stands_for_all_alternatives_counts_them_together(engine: LocalEngine) -> None:
    assert final(run(engine, "retry count:2 (repo:api or repo:web)")).match_count == 2


@pytest.mark.parametrize("revision", ["a..b", "*", "*!main"])
def test_what_can_be_no_revision_leaves_its_repository_out_and_that_is_said(engine: LocalEngine, revision: str) -> None:
    events = run(engine, f"repo:api@{revision} retry")
    assert rows(events) == []
    assert [e.title for e in events if isinstance(e, Alert)] == ["Invalid revision syntax"]
    assert "repository-missing" in reasons(events)


@pytest.mark.parametrize("query", ["", "   ", "/(/", "count:0 x", "foo)", "lang:nonsense x"])
def test_bad_queries_raise_before_any_event(engine: LocalEngine, query: str) -> None:
    with pytest.raises(QueryError):
        engine.stream(SearchRequest(query), Viewer.owner(), Cancellation())


def test_a_cancelled_search_ends_without_done(engine: LocalEngine) -> None:
    cancellation = Cancellation()
    events: Iterator[Any] = engine.stream(SearchRequest("retry"), Viewer.owner(), cancellation)
    next(events)
    cancellation.cancel()
    assert not any(isinstance(e, Done) for e in events)


def test_a_passed_timeout_is_said(engine: LocalEngine) -> None:
    events = run(engine, "retry", timeout_s=0.0)
    alerts = [e.title for e in events if isinstance(e, Alert)]
    assert "Timed out while searching" in alerts or "shard-timeout" in reasons(events)


def test_alternatives_give_each_file_once(engine: LocalEngine) -> None:
    events = run(engine, "repo:api (file:main or retry)")
    result = rows(events)
    keys = [(r["path"], r["line_number"]) for r in result]
    assert len(keys) == len(set(keys))
    assert {r["path"] for r in result} == {"src/main.py", "src/util.go", "docs/retry.md", "tests/test_main.py"}


def test_count_equals_the_stream(engine: LocalEngine) -> None:
    table = engine.count(SearchRequest("retry type:file"), ["repository"], Viewer.owner(), Cancellation())
    assert table is not None
    count = {r["repository"]: r["matches"] for r in table.to_pylist()}
    streamed: dict[str, int] = {}
    for row in rows(run(engine, "retry type:file count:all")):
        streamed[row["repository"]] = streamed.get(row["repository"], 0) + row["match_count"]
    assert count == streamed


def test_a_new_commit_is_noticed_on_the_next_call(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    repo.commit({"a.txt": "first\n"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    assert len(rows(run(engine, "second"))) == 0
    repo.commit({"b.txt": "second\n"})
    assert [r["path"] for r in rows(run(engine, "second"))] == ["b.txt"]
    repo.git("reset", "-q", "--hard", "HEAD~1")
    assert rows(run(engine, "second")) == []


def test_changed_files_of_a_work_tree_are_said_or_searched(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    repo.commit({"a.txt": "first\n", "b.txt": "second\n"})
    repo.write({"a.txt": "fresh\n", "new.txt": "fresh\n"})
    head = open_engine([tmp_path / "src"], index=tmp_path / "index")
    events = run(head, "fresh")
    assert rows(events) == []
    assert next(s.title for s in final(events).skipped if s.reason == "worktree-changes") == "2 changed files"
    disk = open_engine([tmp_path / "src"], index=tmp_path / "index", worktree=True)
    result = rows(run(disk, "fresh"))
    assert [(r["path"], r["revision"]) for r in result] == [("a.txt", "WORKTREE"), ("new.txt", "WORKTREE")]
    assert len(rows(run(disk, "second type:file"))) == 1


def test_a_deleted_repository_is_skipped_and_the_rest_searched(tmp_path: Path) -> None:
    import shutil

    for name in ("one", "two"):
        RepositoryBuilder(tmp_path / "src" / name).commit({"a.txt": "here\n"})
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    shutil.rmtree(tmp_path / "src" / "one")
    events = run(engine, "here")
    assert {location[0] for location in locations(events)} == {"two"}
    assert "repository-gone" in reasons(events)


@pytest.mark.clock
def test_a_search_stops_within_its_time(engine: LocalEngine) -> None:
    started = time.monotonic()
    run(engine, "retry", timeout_s=0.2)
    assert time.monotonic() - started < 5


@pytest.mark.parametrize(
    ("query", "words", "proposed"),
    [
        ("filename:main retry", "did you mean file:main?", "file:main retry"),
        ("ext:py retry", r"did you mean file:\.py$?", r"file:\.py$ retry"),
        ("symbol:retry_all", "did you mean type:symbol retry_all?", "type:symbol retry_all"),
        ("branch:main retry", "did you mean rev:main?", ""),
        ("file:no-such-file retry", "A similar query has matches", "retry"),
        ("lang:rust retry", "A similar query has matches", "retry"),
    ],
)
def test_common_mistakes_come_with_a_query_that_finds(
    engine: LocalEngine, query: str, words: str, proposed: str
) -> None:
    engine.store.update_symbols([engine.target_of(repository) for repository in engine.catalog.repositories])
    for _ in range(20):  # a busy machine may not try a query out in time
        (alert,) = [e for e in run(engine, query) if isinstance(e, Alert)]
        assert words in alert.description
        results = [q.query for q in alert.proposed_queries]
        if proposed in results or not proposed:
            return
    raise AssertionError(results)
