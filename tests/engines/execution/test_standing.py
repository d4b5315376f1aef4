"""What is kept of a query between searches holds no longer than the repositories that it was worked out over."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.execution.running_queries import alert, rows, run
from sourcelight.backends.embedded import open_engine
from sourcelight.engines.execution import LocalEngine
from sourcelight.repos import Viewer
from sourcelight.testing.repositories import RepositoryBuilder

QUERIES = ("needle count:all", "repo:one needle count:all", "repo:one@HEAD needle count:all", "needle")
Found = set[tuple[str, str, str | None]]


@pytest.fixture
def engine(tmp_path: Path) -> LocalEngine:
    for name in ("one", "two"):
        repo = RepositoryBuilder(tmp_path / "repos" / name)
        repo.commit({"a.txt": f"needle of {name}\n"})
    (tmp_path / "repos" / "repos.toml").write_text("[repositories.two]\nprivate = true\n")
    return open_engine([tmp_path / "repos"], index=tmp_path / "index")


def find_lines(engine: LocalEngine, query: str, viewer: Viewer | None = None) -> Found:
    return {(row["repository"], row["path"], row["line"]) for row in rows(run(engine, query, viewer=viewer))}


def in_all(engine: LocalEngine, viewer: Viewer | None = None) -> list[Found]:
    return [find_lines(engine, query, viewer) for query in QUERIES]


def test_a_commit_is_seen_by_the_next_search(engine: LocalEngine, tmp_path: Path) -> None:
    for _ in range(2):
        assert in_all(engine)[1] == {("one", "a.txt", "needle of one")}
    repo = RepositoryBuilder(tmp_path / "repos" / "one")
    repo.commit({"a.txt": "needle anew\n"})
    both = {("one", "a.txt", "needle anew"), ("two", "a.txt", "needle of two")}
    expected = {("one", "a.txt", "needle anew")}
    for _ in range(2):
        assert in_all(engine) == [both, expected, expected, both]


def test_a_ref_that_is_packed_or_in_folders_is_seen_to_move(engine: LocalEngine, tmp_path: Path) -> None:
    repo = RepositoryBuilder(tmp_path / "repos" / "one")
    repo.git("checkout", "-q", "-b", "deep/er/branch")
    for number, pack in enumerate((True, False)):
        if pack:
            repo.git("pack-refs", "--all")
        in_all(engine)
        repo.commit({"a.txt": f"needle {number}\n"})
        assert find_lines(engine, QUERIES[1]) == {("one", "a.txt", f"needle {number}")}
        assert find_lines(engine, QUERIES[1]) == {("one", "a.txt", f"needle {number}")}


def test_each_viewer_has_plans_of_their_own(engine: LocalEngine) -> None:
    anyone, granted = Viewer.anonymous(), Viewer("someone", sees_private=False, granted=frozenset({"two"}))
    for _ in range(2):
        assert {name for name, _, _ in find_lines(engine, QUERIES[0])} == {"one", "two"}
        assert {name for name, _, _ in find_lines(engine, QUERIES[0], anyone)} == {"one"}
        assert {name for name, _, _ in find_lines(engine, QUERIES[0], granted)} == {"one", "two"}


def test_what_repos_toml_says_counts_from_the_next_search(engine: LocalEngine, tmp_path: Path) -> None:
    anyone = Viewer.anonymous()
    assert {name for name, _, _ in find_lines(engine, QUERIES[0], anyone)} == {"one"}
    (tmp_path / "repos" / "repos.toml").write_text("[repositories.one]\nprivate = true\n\n")
    assert {name for name, _, _ in find_lines(engine, QUERIES[0], anyone)} == {"two"}


def test_an_index_that_is_gone_is_built_anew(engine: LocalEngine, tmp_path: Path) -> None:
    before = in_all(engine)
    for file in (tmp_path / "index").glob("*/manifest.json"):
        file.unlink()
    assert in_all(engine) == before


def test_advice_holds_until_a_commit(engine: LocalEngine, tmp_path: Path) -> None:
    query = "NEEDLE case:yes count:all"
    for _ in range(2):
        output = alert(run(engine, query))
        assert output is not None
        assert [proposed.query for proposed in output.proposed_queries] == ["NEEDLE count:all"]
    RepositoryBuilder(tmp_path / "repos" / "one").commit({"a.txt": "thread\n"})
    RepositoryBuilder(tmp_path / "repos" / "two").commit({"a.txt": "thread\n"})
    assert alert(run(engine, query)) is None
    RepositoryBuilder(tmp_path / "repos" / "one").commit({"a.txt": "NEEDLE\n"})
    assert alert(run(engine, query)) is None
    assert find_lines(engine, query) == {("one", "a.txt", "NEEDLE")}


SHAPES = (
    "{} repo:one case:yes",
    "{} file:txt count:all",
    "{} OR {} lang:text",
    "type:file {} AND NOT {} case:yes",
    "{} {} type:path",
    "{} type:repo",
    "one count:all {}",
    "{} -file:b type:symbol",
    "{} select:file",
    "{} repo:has.path(a.txt) count:1",
)


def _fresh_answer(query: str, folder: Path) -> object:
    fresh = open_engine([folder / "repos"], index=folder / "index")
    events = run(fresh, query)
    fresh.close()
    return rows(events), alert(events)


@pytest.mark.parametrize("shape", SHAPES)
def test_queries_that_differ_in_words_have_answers_of_their_own(
    engine: LocalEngine, tmp_path: Path, shape: str
) -> None:
    words = ("needle", "Of", "one", "absentword", "two", "a")
    queries = [shape.format(word, other) for word in words for other in words]
    answers = [(rows(events), alert(events)) for events in (run(engine, query) for query in queries)]
    expected = {query: _fresh_answer(query, tmp_path) for query in dict.fromkeys(queries)}
    for query, answer in zip(queries, answers, strict=True):
        assert answer == expected[query], query
