"""What a limit keeps are the first matches by repository and path, however the work was cut and how long it took."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import pytest

from engines.search.naive import TARGET, MemorySource, build_memory, open_memory
from sourcelight.core.batches.rows import match_count
from sourcelight.core.boolean import And
from sourcelight.core.cancellation import Cancellation
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search import FileTerm, SearchOptions, TextQuery
from sourcelight.engines.search.model import DEFAULT_BATCHES, BatchLimits
from sourcelight.engines.search.open_index import CorpusCache
from sourcelight.engines.search.searcher import search


def files(seed: int, names: str, count: int = 60) -> dict[bytes, bytes]:
    rng = random.Random(seed)  # noqa: S311 - examples, no secrets
    return {
        f"{letter}/{number:03}.txt".encode(): f"{letter if rng.random() < 0.7 else 'x'} {number % 7}\n".encode()
        + b"word\n" * rng.randrange(6)
        + (b"%d of %c\n" % (number, ord(letter)) if rng.random() < 0.6 else b"")
        for letter in names
        for number in range(count)
    }


@pytest.fixture(scope="module", params=["in order", "late shards"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """An index that holds files in the order of their paths, and one to which early paths were added later."""
    folder, memory = tmp_path_factory.mktemp("index"), MemorySource()
    old = files(1, "bcdfgh")
    commit = memory.commit(old)
    build_memory(folder, memory, commit)
    if request.param == "late shards":
        for seed, names in ((2, "ae"), (3, "ag")):
            old |= files(seed, names, 8)
            commit = memory.commit(old)
            build_memory(folder, memory, commit)
        assert len(open_memory(folder, commit).shards) > 1
    return folder, commit


def search_rows(
    index: tuple[Path, str],
    query: TextQuery,
    limit: int | None,
    fleets: CorpusCache | None = None,
    batches: BatchLimits = DEFAULT_BATCHES,
) -> list[Any]:
    snapshot = open_memory(*index)
    options = SearchOptions(max_matches=limit, in_path_order=True, batch_limits=batches)
    parts = search(lambda _: (snapshot, index[1]), [TARGET], query, options, Cancellation(), fleets)
    return [
        (row["path"], row.get("line_number"), row["match_count"])
        for part in parts
        for batch in part.batches
        for row in batch.to_pylist()
        if match_count(batch)
    ]


def first(rows: list[Any], limit: int) -> list[Any]:
    retained: list[Any] = []
    for row in rows:
        if sum(count for *_, count in retained) >= limit:
            break
        retained.append(row)
    return retained


@pytest.mark.parametrize("source", ["word", r"x \d|003"])
@pytest.mark.parametrize("tree", ["one", "path too", "two"])
@pytest.mark.parametrize("limit", [1, 150, 400])
def test_the_first_matches_are_given_whatever_the_clock_says(
    index: tuple[Path, str], source: str, tree: str, limit: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    atom = FileTerm(compile_pattern(source, kind="regexp", case_sensitive=True), path=tree != "one")
    other = FileTerm(compile_pattern("o", kind="literal", case_sensitive=True), path=True)
    query = TextQuery(And((atom, other)) if tree == "two" else atom)
    everything = search_rows(index, query, None)
    assert [path for path, *_ in everything] == sorted(path for path, *_ in everything)
    for seed in range(2):
        rng = random.Random(seed)  # noqa: S311 - a slow machine and a fast one
        now = 0.0

        def clock(rng: random.Random = rng) -> float:
            nonlocal now
            now += rng.choice((0.0, 0.001, 0.5, 3.0))
            return now

        monkeypatch.setattr(time, "thread_time", clock)
        limits = BatchLimits(first_units=rng.choice((4, 16, 64)))
        fleets = CorpusCache()
        for _ in range(2):  # what the first search learned must not change the second
            rows = search_rows(index, query, limit, fleets, limits)
            assert rows[: len(first(everything, limit))] == first(everything, limit)
        assert search_rows(index, query, None, fleets, limits) == everything
