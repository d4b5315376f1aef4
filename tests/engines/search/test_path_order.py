"""Files come in the order of their paths when that is asked for, however the index holds them."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest

from engines.search.naive import TARGET, MemorySource, build_memory, open_memory, rows_of
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, SearchOptions, TextQuery
from sourcelight.engines.search.searcher import search

FILES = {b"%c%d.txt" % (letter, n): b"word %d\nword\n" % (letter * n) for letter in b"acegi" for n in range(1, 5)}


def paths_of(folder: Path, commit: str, source: str, *, path: bool, ordered: bool = True) -> list[str]:
    snapshot = open_memory(folder, commit)
    query = TextQuery(FileTerm(compile_pattern(source, kind="regexp", case_sensitive=True), path=path))
    options = SearchOptions(in_path_order=ordered, chunk_matches=True)
    parts = list(search(lambda _: (snapshot, commit), [TARGET], query, options, Cancellation()))
    unordered = search(lambda _: (snapshot, commit), [TARGET], query, SearchOptions(), Cancellation())
    assert rows_of(parts) == rows_of(unordered)
    assert sum(part.files for part in parts) == len({row[0] for row in rows_of(parts)})
    return [row["path"] for part in parts for batch in part.batches for row in batch.to_pylist()]


@pytest.mark.parametrize(("source", "path"), [("word", False), ("word|b", True), (r"txt", True), (r"5\d*|c2", True)])
def test_files_of_late_shards_stand_among_the_others(tmp_path: Path, source: str, *, path: bool) -> None:
    memory = MemorySource()
    build_memory(tmp_path, memory, memory.commit(FILES))
    new_files = {b"b.txt": b"word b\n", b"a2.txt": b"new word\n", b"g9.bin": b"\0word", b"d.txt": FILES[b"i1.txt"]}
    commit = memory.commit(FILES | new_files)
    build_memory(tmp_path, memory, commit)
    assert len(open_memory(tmp_path, commit).shards) > 1
    result = paths_of(tmp_path, commit, source, path=path)
    assert result == sorted(result)
    assert result
    everything = [key for key, _ in itertools.groupby(result)]
    assert len(everything) == len(set(everything))


def test_an_index_in_order_gives_each_part_as_it_is_found(tmp_path: Path) -> None:
    memory = MemorySource()
    commit = memory.commit(FILES)
    build_memory(tmp_path, memory, commit)
    result = paths_of(tmp_path, commit, "word", path=False)
    assert result == sorted(result)
    assert len(result) == 2 * len(FILES)
