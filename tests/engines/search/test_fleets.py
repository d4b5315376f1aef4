"""Repositories that are searched together give what each gives alone, in the order of repositories and paths."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow.compute as pc
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engines.search.naive import MemorySource, build_memory, literal, naive_rows, open_memory, rows_of
from sourcelight.core.batches import RepositoryInfo
from sourcelight.core.boolean import And, Not
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import SearchIndexError
from sourcelight.core.patterns import compile_pattern
from sourcelight.core.patterns.compiled import CompiledPattern
from sourcelight.core.patterns.ranges import BufferList
from sourcelight.engines.search import FileFilter, FileTerm, LanguageFilter, SearchOptions, Target, TextQuery
from sourcelight.engines.search.index import document_buffer, fleet_tables, shard
from sourcelight.engines.search.model import BatchLimits, GroupBy, MatchTree, SearchPart
from sourcelight.engines.search.open_index import CorpusCache, OpenedTargets, open_targets
from sourcelight.engines.search.scan import corpus as scan_corpus
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.engines.search.searcher import count, search
from sourcelight.repos import Repository, RepositoryKey

LINES = [
    b"foo bar",
    b"this function returns",
    b"Foo",
    "é foo é".encode(),
    b"bar",
    b"",
    b"\xff foo",
    b"x" * 60,
    b"foo\tfoo",
]
texts = st.one_of(
    st.lists(st.sampled_from(LINES), max_size=8).map(b"\n".join),
    st.sampled_from([b"foo\0bar", b"foo\nfoo bar\n" * 30]),
)
corpora = st.lists(
    st.dictionaries(
        st.sampled_from([b"a.py", b"foo.go", b"src/foo/k.c", "é/foo.md".encode(), b"z.txt"]), texts, max_size=4
    ),
    min_size=1,
    max_size=5,
)


def regexp(text: str) -> CompiledPattern:
    return compile_pattern(text, kind="regexp", case_sensitive=False)


trees: list[MatchTree | None] = [
    FileTerm(literal("foo")),
    FileTerm(literal("foo"), path=False),
    FileTerm(literal("FOO", case_sensitive=False)),
    FileTerm(literal("this function returns")),
    FileTerm(regexp(r"fo+|function"), path=False),
    FileTerm(regexp(r"foo\sbar|bar\nfoo")),
    And((FileTerm(literal("foo")), Not(FileTerm(literal("bar"))))),
    Not(FileTerm(literal("foo"))),
    None,
]
queries = st.builds(
    TextQuery,
    st.sampled_from(trees),
    st.sampled_from(
        [(), (FileFilter(compile_pattern(r"\.(py|go)$", kind="regexp", case_sensitive=True, whole_text=True)),)]
    ),
    st.sampled_from([(), (LanguageFilter("Python", negated=True),)]),
)


@pytest.fixture(autouse=True, params=[0, 1000], ids=["units", "lists"])
def small_units(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make units and shards so small that a few files have several of each; once with a table of all units."""
    for module in (document_buffer, shard):
        monkeypatch.setattr(module, "UNIT_BYTES", 40)
    monkeypatch.setattr(shard, "SHARD_BYTES", 400)
    monkeypatch.setattr(fleet_tables, "LOOKUPS_UNFILTERED", 0)
    monkeypatch.setattr(scan_corpus, "MIN_SHARDS", 1)
    monkeypatch.setattr(fleet_tables.TablePace, "texts", lambda _: request.param)


BATCHES = BatchLimits(first_units=2, exhaustive_units=2, max_units=8, max_documents=2)


class Repositories:
    """Repositories in memory, indexed below a folder; `gone` have no index."""

    def __init__(self, folder: Path, contents: list[dict[bytes, bytes]], missing: frozenset[int] = frozenset()) -> None:
        self.targets: list[Target] = []
        self.corpora: dict[str, dict[bytes, bytes]] = {}
        self._open_commits: dict[str, tuple[OpenedCommit, str]] = {}
        for number, corpus in enumerate(contents):
            name = f"r{number}"
            self.targets.append(Target(Repository(RepositoryInfo(name, number + 1), RepositoryKey(name), "git", "")))
            if number not in missing:
                source = MemorySource()
                commit = source.commit(corpus)
                build_memory(folder / name, source, commit)
                self._open_commits[name] = open_memory(folder / name, commit), commit
                self.corpora[name] = source.commits[commit]

    def open(self, target: Target) -> tuple[OpenedCommit, str]:
        """Open one."""
        if target.repository.name not in self._open_commits:
            raise SearchIndexError(target.repository.name, "gone")
        return self._open_commits[target.repository.name]

    def open_groups(self, targets: Sequence[Target], cancellation: Cancellation) -> Iterator[OpenedTargets]:
        """Open targets in small groups."""
        return open_targets(self.open, targets, cancellation, max_members=3)

    def search(self, query: TextQuery, options: SearchOptions, corpora: CorpusCache) -> Iterator[SearchPart]:
        """Search all of them."""
        return search(self.open, self.targets, query, options, Cancellation(), corpora, self.open_groups)


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(corpora, queries, st.booleans(), st.sets(st.integers(0, 4), max_size=1).map(frozenset), st.booleans())
def test_many_repositories_give_what_each_gives_alone(
    contents: list[dict[bytes, bytes]],
    query: TextQuery,
    ordered: bool,  # noqa: FBT001 - drawn by hypothesis
    missing: frozenset[int],
    forgets: bool,  # noqa: FBT001 - drawn by hypothesis
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repositories = Repositories(Path(folder), contents, missing)
        fleets = CorpusCache()
        options = SearchOptions(in_path_order=ordered, chunk_matches=ordered, batch_limits=BATCHES)
        limited = SearchOptions(max_matches=1, batch_limits=BATCHES)
        for _ in range(3):  # later times from what is remembered, also of a search that ended early
            list(repositories.search(query, limited, fleets))
            if forgets:
                fleets.clear()
            parts = list(repositories.search(query, options, fleets))
            names = [name for part in parts for name in part.repositories_done]
            assert names == list(repositories.corpora)
            assert {name for part in parts for name in part.failed} == {f"r{n}" for n in missing if n < len(contents)}
            rows = [row for part in parts for batch in part.batches for row in batch.to_pylist()]
            locations = [(row["repository"], row["path"]) for row in rows]
            if ordered:
                assert [location for location, _ in locations] == sorted(location for location, _ in locations)
                for name, corpus in repositories.corpora.items():
                    order = [path.decode(errors="replace") for path in sorted(corpus)]
                    positions = [order.index(path) for location, path in locations if location == name]
                    assert positions == sorted(positions)
            batches = [batch for part in parts for batch in part.batches]
            for name, corpus in repositories.corpora.items():
                own_rows = (batch.filter(pc.equal(batch["repository"].cast("string"), name)) for batch in batches)
                assert rows_of([SearchPart(tuple(own_rows))]) == naive_rows(corpus, query)
                assert {row["repository_id"] for row in rows if row["repository"] == name} <= {int(name[1:]) + 1}
            assert sum(part.files for part in parts) == len(set(locations))


@settings(
    max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow]
)
@given(corpora, queries)
def test_many_repositories_are_counted_as_they_are_searched(
    contents: list[dict[bytes, bytes]], query: TextQuery
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        repositories = Repositories(Path(folder), contents)
        fleets = CorpusCache()
        parts = repositories.search(query, SearchOptions(batch_limits=BATCHES), fleets)
        expected: dict[tuple[str, str | None], tuple[int, set[str]]] = {}
        for row in (row for part in parts for batch in part.batches for row in batch.to_pylist()):
            matches, paths = expected.get((row["repository"], row["language"]), (0, set()))
            expected[row["repository"], row["language"]] = matches + row["match_count"], paths | {row["path"]}
        for cache in (CorpusCache(), fleets):
            by: list[GroupBy] = ["repository", "language"]
            table = count(repositories.open, repositories.targets, query, by, Cancellation(), cache, None, BATCHES)
            results = {
                (row["repository"], row["language"]): (row["matches"], row["files"]) for row in table.to_pylist()
            }
            assert results == {key: (matches, len(paths)) for key, (matches, paths) in expected.items()}


@pytest.mark.parametrize("pattern", [literal("needle"), regexp("needle"), regexp("need.e|x"), regexp(r"(?s)needle.")])
def test_a_scan_of_several_texts_gives_addresses(pattern: CompiledPattern) -> None:
    views = [memoryview(text) for text in (b"a needle\n", b"\n", b"nee\n", b"dle needle\n" * 3)]
    buffers = BufferList(views, np.array([0, 10_000, 20_000, 30_000]))
    ranges = np.array([[0, 9], [10_000, 10_001], [20_000, 20_004], [30_000, 30_011], [30_022, 30_033]])
    lines = sorted({int(position) for position in buffers.index_of(pattern.lines(buffers, ranges))})
    assert lines == [0, 3]
    result = pattern.lines(buffers, ranges)
    assert {int(position - 30_000) // 11 for position in result if position >= 30_000} == {0, 2}
    assert [bytes(item) for item in buffers.slices(ranges[:2])] == [b"a needle\n", b"\n"]
    assert list(buffers.runs(ranges[:, 0])) == [(0, 0, 1), (1, 1, 2), (2, 2, 3), (3, 3, 5)]
