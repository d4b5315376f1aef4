"""Searching at branches, tags, commits, globs of refs and moments, over real repositories."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from engines.execution.running_queries import alert, rows
from sourcelight.backends.embedded import open_engine
from sourcelight.core.batches import MatchBatch
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import QueryError
from sourcelight.core.wire.events import Done, Filters, Progress
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import FIRST_DATE, RepositoryBuilder


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("repositories")
    repo = RepositoryBuilder(root / "one", origin="https://example.org/team/one.git")
    repo.commit({"a.py": "old needle\n", "same.py": "needle here\n"}, date=FIRST_DATE)
    repo.tag("v1.0", message="first")
    repo.commit({"a.py": "middle needle\n"}, date=FIRST_DATE + 86_400)
    repo.tag("v1.1")
    repo.branch("release/1.x")
    repo.commit({"only_release.py": "release needle\n"}, date=FIRST_DATE + 2 * 86_400)
    repo.switch("main")
    repo.commit({"a.py": "new needle\n"}, date=FIRST_DATE + 3 * 86_400)
    other = RepositoryBuilder(root / "two", origin="https://example.org/team/two.git")
    other.commit({"b.py": "needle in two\n"})
    return root


@pytest.fixture
def engine(folder: Path, tmp_path: Path) -> LocalEngine:
    return open_engine([folder], index=tmp_path / "index")


def run(engine: LocalEngine, query: str, *, viewer: Viewer | None = None, **options: Any) -> list[Any]:
    request = SearchRequest(query, pattern_type="keyword", **options)
    return list(engine.stream(request, viewer or Viewer.owner(), Cancellation()))


def lines(events: list[Any]) -> set[tuple[str, str, str]]:
    return {(r["revision"], r["path"], r["line"]) for r in rows(events) if r["type"] == "content"}


NEW = {("", "a.py", "new needle"), ("", "same.py", "needle here")}


@pytest.mark.parametrize("revision", ["v1.0", "refs/tags/v1.0", "main~2", "v1.1~1", "v1.0^{commit}"])
def test_any_name_of_a_commit_can_be_searched(engine: LocalEngine, revision: str) -> None:
    result = lines(run(engine, f"repo:one@{revision} needle"))
    assert result == {(revision, "a.py", "old needle"), (revision, "same.py", "needle here")}


@pytest.mark.parametrize("query", ["repo:one@v1.1 needle", "repo:one rev:v1.1 needle", "repo:one revision:v1.1 needle"])
def test_rev_is_the_same_as_a_revision_behind_the_name(engine: LocalEngine, query: str) -> None:
    assert ("v1.1", "a.py", "middle needle") in lines(run(engine, query))


@pytest.mark.parametrize(
    ("query", "paths"),
    [
        ("repo:one@v1.0 type:path", ["a.py", "same.py"]),
        ("repo:one rev:v1.0 type:file", ["a.py", "same.py"]),
        ("repo:one@v1.0 type:path select:file", ["a.py", "same.py"]),
        ("repo:one@v1.1:v1.0 type:path", ["a.py", "a.py", "same.py", "same.py"]),
        ("repo:one@release/1.x type:path count:all", ["a.py", "only_release.py", "same.py"]),
    ],
)
def test_all_files_of_a_revision_are_listed_before_it_is_indexed(
    engine: LocalEngine, query: str, paths: list[str]
) -> None:
    events = run(engine, query)
    assert sorted(row["path"] for row in rows(events)) == paths
    assert [event.skipped for event in events if isinstance(event, Progress)][-1] == ()


def test_commits_are_found_by_their_hash(engine: LocalEngine, folder: Path) -> None:
    commit = RepositoryBuilder(folder / "one").git("rev-parse", "v1.1")
    for revision in (commit, commit[:9]):
        result = rows(run(engine, f"repo:one@{revision} middle"))
        assert [(r["revision"], r["commit"]) for r in result] == [(revision, commit)]


def test_a_path_at_two_revisions_is_two_hits(engine: LocalEngine) -> None:
    result = rows(run(engine, "repo:one@v1.0:v1.1 file:same.py needle"))
    assert [(r["revision"], r["path"]) for r in result] == [("v1.0", "same.py"), ("v1.1", "same.py")]
    assert len({r["commit"] for r in result}) == 2


def test_alternatives_at_two_revisions_are_united_by_revision(engine: LocalEngine) -> None:
    result = lines(run(engine, "(repo:one@v1.0 or repo:one@v1.1) file:a.py needle"))
    assert result == {("v1.0", "a.py", "old needle"), ("v1.1", "a.py", "middle needle")}


def test_globs_of_refs_are_expanded_in_order(engine: LocalEngine) -> None:
    every = {r["revision"] for r in rows(run(engine, "repo:one@*refs/heads/* needle"))}
    assert every == {"main", "release/1.x"}
    assert {r["revision"] for r in rows(run(engine, "repo:one@*heads needle"))} == every
    fewer = run(engine, "repo:one@*refs/heads/*:*!refs/heads/release* needle")
    assert {r["revision"] for r in rows(fewer)} == {"main"}
    repeated = run(engine, "repo:one@*refs/heads/*:*!refs/heads/*:*refs/heads/main needle")
    assert {r["revision"] for r in rows(repeated)} == {"main"}
    tags = run(engine, "repo:one@*refs/tags/v1.? needle")
    assert {r["revision"] for r in rows(tags)} == {"refs/tags/v1.0", "refs/tags/v1.1"}


def test_an_excluded_revision_has_no_meaning_for_files(engine: LocalEngine) -> None:
    assert lines(run(engine, "repo:one@^v1.0 needle")) == NEW
    assert {r["revision"] for r in rows(run(engine, "repo:one@v1.1:^v1.0 needle"))} == {"v1.1"}


def test_two_filters_with_revisions_search_what_both_name(engine: LocalEngine) -> None:
    both = run(engine, "repo:one@v1.0:v1.1 repo:team@v1.1:main needle")
    assert {r["revision"] for r in rows(both)} == {"v1.1"}
    none = run(engine, "repo:one@v1.0 repo:one@v1.1 needle")
    assert rows(none) == []
    reply = alert(none)
    assert reply is not None
    assert reply.title == "Some repositories could not be searched"
    events = run(engine, "repo:one@v1.0 repo:team needle")
    assert {r["revision"] for r in rows(events)} == {"v1.0"}


def test_a_missing_revision_is_said_and_the_rest_searched(engine: LocalEngine) -> None:
    events = run(engine, "repo:team@v1.0 needle")
    assert {r["repository"] for r in rows(events)} == {"example.org/team/one"}
    reply = alert(events)
    assert reply is not None
    assert (reply.title, reply.kind) == ("Some repositories could not be searched", "warning")
    assert "example.org/team/two@v1.0" in reply.description
    final = [e for e in events if isinstance(e, Progress)][-1]
    assert "repository-missing" in {item.reason for item in final.skipped}


@pytest.mark.parametrize("revision", ["*!heads/main", "a..b", "main@{yesterday}", "-x", "*"])
def test_what_cant_be_a_revision_is_an_alert(engine: LocalEngine, revision: str) -> None:
    events = run(engine, f"repo:one@{revision} needle")
    reply = alert(events)
    assert reply is not None
    assert reply.title == "Invalid revision syntax"
    assert isinstance(events[-1], Done)


def test_a_moment_names_the_newest_commit_before_it(engine: LocalEngine, folder: Path) -> None:
    position = f"{FIRST_DATE + 86_400 + 1}"
    result = rows(run(engine, f"repo:one rev:at.time({position}) file:a.py needle"))
    assert [r["line"] for r in result] == ["middle needle"]
    assert result[0]["revision"] == result[0]["commit"] == RepositoryBuilder(folder / "one").git("rev-parse", "v1.1")
    branch = rows(run(engine, f"repo:one rev:at.time({FIRST_DATE + 10 * 86_400}, release/1.x) needle"))
    assert "only_release.py" in {r["path"] for r in branch}
    before = alert(run(engine, "repo:one rev:at.time(2001-01-01) needle"))
    assert before is not None
    assert before.title == "Some repositories could not be searched"


def test_repositories_alone_are_one_hit_for_each_revision(engine: LocalEngine) -> None:
    result = rows(run(engine, "repo:one@v1.0:v1.1"))
    assert [(r["type"], r["revision"]) for r in result] == [("repo", "v1.0"), ("repo", "v1.1")]


def test_suggested_filters_name_the_revision(engine: LocalEngine) -> None:
    events = run(engine, "repo:one@v1.0 needle")
    filters = next(e for e in events if isinstance(e, Filters)).filters
    assert r"repo:^example\.org/team/one$@v1.0" in {f.value for f in filters}


def test_a_revision_is_indexed_once_and_said_meanwhile(engine: LocalEngine) -> None:
    first = run(engine, "repo:one@v1.0 needle")
    pending = [e for e in first if isinstance(e, Progress) and not e.done]
    assert any(item.reason == "revision-indexing" for e in pending for item in e.skipped)
    repeated = run(engine, "repo:one@v1.0 needle")
    assert not any(
        item.reason == "revision-indexing" for e in repeated if isinstance(e, Progress) for item in e.skipped
    )
    assert lines(first) == lines(repeated)
    assert lines(run(engine, "repo:one needle")) == NEW


def test_a_moved_branch_is_searched_where_it_stands(tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "src" / "one")
    repo.commit({"a.txt": "first\n"})
    repo.branch("side")
    repo.commit({"a.txt": "second\n"})
    repo.switch("main")
    engine = open_engine([tmp_path / "src"], index=tmp_path / "index")
    assert {line for _, _, line in lines(run(engine, "repo:one@side /first|second|third/"))} == {"second"}
    repo.switch("side")
    repo.commit({"a.txt": "third\n"})
    repo.switch("main")
    assert {line for _, _, line in lines(run(engine, "repo:one@side /first|second|third/"))} == {"third"}
    assert {line for _, _, line in lines(run(engine, "repo:one /first|second|third/"))} == {"first"}


def test_a_cancelled_first_search_of_a_revision_ends_without_done(engine: LocalEngine) -> None:
    cancellation = Cancellation()
    request = SearchRequest("repo:one@v1.1 needle", pattern_type="keyword")
    events: Iterator[Any] = engine.stream(request, Viewer.owner(), cancellation)
    assert isinstance(next(events), Progress)
    cancellation.cancel()
    assert not any(isinstance(e, Done | MatchBatch) for e in events)


def test_only_what_is_indexed_can_be_asked_for(engine: LocalEngine) -> None:
    events = run(engine, "repo:one@v1.0 index:only needle")
    reply = alert(events)
    assert rows(events) == []
    assert reply is not None
    assert "index:only" in reply.description
    run(engine, "repo:one@v1.0 needle")
    assert len(rows(run(engine, "repo:one@v1.0 index:only needle"))) == 2


def test_globs_and_index_only_are_refused(engine: LocalEngine) -> None:
    with pytest.raises(QueryError, match="glob pattern"):
        run(engine, "repo:one@*refs/heads/* index:only needle")


def test_a_folder_that_cant_be_written_is_a_clear_answer(engine: LocalEngine) -> None:
    lock = next(path for path in engine.store.folder.iterdir() if path.name.startswith("one")) / "lock"
    lock.unlink()
    lock.mkdir()
    events = run(engine, "repo:one@v1.0 needle")
    reply = alert(events)
    assert reply is not None
    assert "cannot write the index" in reply.description
    assert isinstance(events[-1], Done)


def test_a_count_at_revisions_equals_the_stream(engine: LocalEngine) -> None:
    request = SearchRequest("repo:one@v1.0:v1.1 needle type:file", pattern_type="keyword")
    table = engine.count(request, ["repository"], Viewer.owner(), Cancellation())
    assert table is not None
    assert table.to_pylist() == [{"repository": "example.org/team/one", "matches": 4, "files": 4}]


def test_results_at_a_commit_equal_git_grep(engine: LocalEngine, folder: Path) -> None:
    repo = RepositoryBuilder(folder / "one")
    for revision in ("v1.0", "v1.1", "release/1.x"):
        displayed = repo.git("grep", "-n", "-I", "needle", revision).splitlines()
        expected = {tuple(line.split(":", 3)[1:]) for line in displayed}
        results = {
            (r["path"], str(r["line_number"]), r["line"]) for r in rows(run(engine, f"repo:one@{revision} needle"))
        }
        assert results == expected
