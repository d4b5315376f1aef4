"""A search ends soon after it is told to, and gives nothing half."""

from __future__ import annotations

from pathlib import Path

import pytest

from engines.search.naive import TARGET, MemorySource, build_memory, naive_rows, open_memory, rows_of
from sourcelight.core.boolean import And, Not
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.errors import Cancelled
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, SearchOptions, TextQuery
from sourcelight.engines.search.model import prepare
from sourcelight.engines.search.scan.batches import BatchSizer
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.evaluate import CorpusSearch
from sourcelight.engines.search.searcher import count, search

LARGE = 120_000
LARGE_FILE = 4 * LARGE


class CountingDown(Cancellation):
    """Expires at its `asked` th look."""

    def __init__(self, remaining: int) -> None:
        super().__init__()
        self.remaining = remaining

    @property
    def stopped(self) -> bool:
        self.remaining -= 1
        return self.remaining < 0


@pytest.fixture
def corpus(tmp_path: Path) -> tuple[MemorySource, str, Path]:
    source = MemorySource()
    files = {b"%02d.txt" % number: b"few words\nand more of them\n" * 40 for number in range(40)}
    files[b"20.js"] = b"var a=1;" * (LARGE // 8)
    files[b"21.js"] = "é=var b;".encode() * (LARGE // 8)
    commit = source.commit(files)
    build_memory(tmp_path, source, commit, max_file_size=LARGE_FILE)
    return source, commit, tmp_path


def query_of(source: str) -> TextQuery:
    return TextQuery(FileTerm(compile_pattern(source, kind="regexp", case_sensitive=True), path=False))


@pytest.mark.parametrize("source", ["w.", r"\w+", r"(a|b)=", r"(?s)a.", "a*=*"])
@pytest.mark.parametrize("check_count", [3, 30, 300])
def test_files_given_before_the_stop_are_whole(
    corpus: tuple[MemorySource, str, Path], source: str, check_count: int
) -> None:
    memory, commit, folder = corpus
    snapshot = open_memory(folder, commit)
    query = query_of(source)
    rows = rows_of(search(lambda _: (snapshot, commit), [TARGET], query, SearchOptions(), CountingDown(check_count)))
    paths = {row[0] for row in rows}
    everything = naive_rows({p: d for p, d in memory.commits[commit].items() if p.decode() in paths}, query, LARGE_FILE)
    assert rows == everything


def test_a_stop_makes_nothing_match_by_what_it_lacks(corpus: tuple[MemorySource, str, Path]) -> None:
    _, commit, folder = corpus
    snapshot = open_memory(folder, commit)
    pattern = compile_pattern(r"(?s)[a-z]ar.*", kind="regexp", case_sensitive=True)
    query = TextQuery(And((Not(FileTerm(pattern, path=False)),)))
    for check_count in range(12):
        parts = search(lambda _: (snapshot, commit), [TARGET], query, SearchOptions(), CountingDown(check_count))
        assert not {row[0] for row in rows_of(parts)} & {"20.js", "21.js"}


def test_a_count_that_runs_out_of_time_is_none(corpus: tuple[MemorySource, str, Path]) -> None:
    _, commit, folder = corpus
    snapshot = open_memory(folder, commit)
    with pytest.raises(Cancelled):
        count(lambda _: (snapshot, commit), [TARGET], query_of("(a|b)="), ["repository"], CountingDown(20))


def test_a_large_file_is_a_batch_of_its_own(corpus: tuple[MemorySource, str, Path]) -> None:
    _, commit, folder = corpus
    running = CorpusSearch(Corpus((open_memory(folder, commit),)), prepare(query_of(".")), lambda: False)
    sizes = [len(file_match.content_files) for file_match in running.file_matches(BatchSizer(2))]
    assert sum(sizes) == 42
    assert len(sizes) > 1
