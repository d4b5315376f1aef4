"""The process that `first_rows` measures: it opens a folder without an index and searches it, then once it is indexed.

It imports nothing but the public package, so that the time of `open` has the imports that a user waits for.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, TypeAlias

import sourcelight as sl

Line: TypeAlias = tuple[str, str, int]
"""Repository, path and 1-based line."""

_POLL_S = 0.05


@dataclass(slots=True)
class SearchTimes:
    """One search: seconds until its first row and its end, CPU seconds, and whether the index was being built."""

    row_s: float
    wall_s: float
    cpu_s: float
    was_building: bool
    lines: list[Line]


@dataclass(slots=True)
class Round:
    """What one process measured: seconds of `open` and until the index was ready, and each search."""

    open_s: float
    open_cpu_s: float
    ready_s: float = 0.0
    building: list[SearchTimes] = field(default_factory=list)
    indexed: list[SearchTimes] = field(default_factory=list)


def cpu_s() -> float:
    """CPU seconds of this process and of its children that ended."""
    usage = os.times()
    return usage.user + usage.system + usage.children_user + usage.children_system


def ask(client: sl.Client, word: str) -> SearchTimes:
    """Search a word, for every match."""
    began, before, row_s, was_building = time.perf_counter(), cpu_s(), 0.0, is_building(client)
    batches: list[Any] = []
    for event in client.stream(f"{word} count:all case:yes type:file patterntype:literal"):
        if hasattr(event, "batch"):
            row_s = row_s or time.perf_counter() - began
            batches.append(event.batch)
    wall_s, used_s = time.perf_counter() - began, cpu_s() - before
    rows = [row for batch in batches for row in batch.select(("repository", "path", "line_number")).to_pylist()]
    lines = [(row["repository"], row["path"], row["line_number"]) for row in rows]
    return SearchTimes(row_s or wall_s, wall_s, used_s, was_building, lines)


def is_building(client: sl.Client) -> bool:
    """Whether the index of the repositories is being built."""
    backend: Any = client.backend
    return bool(backend.engine.indexing.is_running)


def measure(folder: str, index: str, words: Sequence[str]) -> Round:
    """Open a folder without an index, search it, and again once it has one."""
    began, before = time.perf_counter(), cpu_s()
    with sl.open(folder, index_dir=index, background_index=False, progress=False) as client:
        result = Round(time.perf_counter() - began, cpu_s() - before)
        result.building = [ask(client, word) for word in words]
        while is_building(client):
            time.sleep(_POLL_S)
        result.ready_s = time.perf_counter() - began
        result.indexed = [ask(client, word) for word in words]
    return result


if __name__ == "__main__":
    json.dump(asdict(measure(sys.argv[1], sys.argv[2], sys.argv[3:])), sys.stdout)
