"""`scan/paths`: what rules out a search of paths never rules out a path that matches."""

from __future__ import annotations

import random

import numpy as np
import pytest

from sourcelight.core.cancellation import never
from sourcelight.core.patterns import compile_pattern
from sourcelight.engines.search.scan.paths import PathBlocks, PathTable

PATHS = ["src/Main.java", "a", "docs/Übersicht.md", "tests/test_main.py", "lib/KelvinScale.go", "x y.txt", "世/界"]


def table_of(paths: list[str]) -> PathTable:
    """Make a table of paths, each after a newline."""
    raw = [path.encode() for path in paths]
    starts = np.cumsum([1, *(len(path) + 1 for path in raw)])
    return PathTable(b"\n" + b"".join(path + b"\n" for path in raw), starts.astype(np.int64))


def may_hold(table: PathTable, text: str) -> bool:
    """Whether a table rules out no path with a text; of a long table that was searched before, its hashes decide."""
    return table.may_match(compile_pattern(text, kind="literal", case_sensitive=False))


@pytest.fixture(scope="module")
def hashed() -> PathTable:
    """A long table that was searched a few times."""
    table = table_of([f"{folder}/{path}" for folder in range(1000) for path in PATHS])
    for _ in range(5):
        may_hold(table, "main")
    return table


def test_every_piece_of_a_path_may_be_there(hashed: PathTable) -> None:
    for path in PATHS:
        for start in range(len(path)):
            for end in range(start + 1, len(path) + 1):
                assert may_hold(hashed, path[start:end])


def test_tables_of_any_size_rule_out_only_what_no_path_holds() -> None:
    """A short table is searched, and so is a long one a few times, before its hashes decide."""
    for paths in (PATHS, [f"{folder}/{path}" for folder in range(1000) for path in PATHS]):
        table = table_of(paths)
        for _ in range(5):
            assert table.may_match(compile_pattern("main", kind="literal", case_sensitive=True))
            assert not table.may_match(compile_pattern("qzjxvqzjxv", kind="literal", case_sensitive=True))


def test_texts_that_no_path_holds_are_ruled_out_as_a_rule(hashed: PathTable) -> None:
    chance = random.Random(5)  # noqa: S311 - the same texts again
    absent = ["".join(chance.choices("qzjxv", k=9)) for _ in range(200)]
    assert sum(may_hold(hashed, text) for text in absent) < 20


@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize(
    "pattern", ["main", "Main", "MAIN", "kelvin", "(java|go)$", "ü", "x y", "test_main.py", "absent", "(absent|main)"]
)
def test_paths_are_those_of_the_pattern(pattern: str, sensitive: bool) -> None:  # noqa: FBT001 - a parameter
    for paths in (PATHS, [*PATHS, "\N{KELVIN SIGN}elvin"]):
        compiled = compile_pattern(pattern, kind="regexp", case_sensitive=sensitive)
        spans = table_of(paths).find(compiled, never)
        expected = [(index, *span) for index, path in enumerate(paths) for span in compiled.find(path.encode())]
        assert list(zip(spans.file.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True)) == expected


@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize(
    "pattern",
    ["main", "Main", "tests/TEST", "scale", "a", "Main.java", "(?i)main", "^src", "\\.md$", "x y", "m\\x41in"],
)
def test_filters_select_the_paths_that_their_pattern_matches(pattern: str, sensitive: bool) -> None:  # noqa: FBT001
    for paths in (PATHS, [*PATHS, "\N{KELVIN SIGN}elvin"]):
        compiled = compile_pattern(pattern, kind="regexp", case_sensitive=sensitive, whole_text=True)
        expected = [bool(compiled.match_many(path, [0], [len(path)])[0]) for path in map(str.encode, paths)]
        assert table_of(paths).match(compiled).tolist() == expected


@pytest.mark.parametrize("sensitive", [True, False])
@pytest.mark.parametrize("pattern", ["main", "77/d", "7/a", "x", "Main.java", "bersicht", "absent", "(absent|99/src)"])
def test_blocks_of_paths_have_all_paths_of_a_pattern(pattern: str, sensitive: bool) -> None:  # noqa: FBT001
    paths = [f"{folder}/{path}" for folder in range(1000) for path in PATHS]
    compiled = compile_pattern(pattern, kind="regexp", case_sensitive=sensitive)
    expected = [(index, *span) for index, path in enumerate(paths) for span in compiled.find(path.encode())]
    table = table_of(paths)
    # The first ones read all paths.
    for _ in range(12):
        spans = table.find(compiled, never)
        assert list(zip(spans.file.tolist(), spans.start.tolist(), spans.end.tolist(), strict=True)) == expected


def test_blocks_leave_out_most_paths() -> None:
    table = table_of([f"{folder:04}/{path}" for folder in range(1000) for path in PATHS])
    blocks = PathBlocks(bytes(table.text), table.offsets)
    size = len(table.text)
    for text, limit in (("0777/src", size // 20), ("0777", size // 2), ("test_main.py", size), ("ab", size)):
        pattern = compile_pattern(text, kind="literal", case_sensitive=True)
        ranges = blocks.ranges(pattern.required)
        assert 0 < (ranges[:, 1] - ranges[:, 0]).sum() <= limit
        starts = [start for start in range(size) if table.text[start : start + len(text)] == text.encode()]
        assert all(any(first <= start < end for first, end in ranges.tolist()) for start in starts)
