"""Results of a query's alternatives are united: one hit a file, spans merged."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from sourcelight.core.batches import arrow_type
from sourcelight.engines.execution.results.union import unite


def content(path: str, rows: dict[int, list[tuple[int, int]]]) -> Any:
    """A content batch of one file: line number to spans."""
    n = len(rows)
    return pa.record_batch(
        {
            "type": pa.array(["content"] * n, type=arrow_type("dict8")),
            "path": pa.array([path] * n, type=arrow_type("dict32")),
            "line_number": pa.array(list(rows), type=pa.int32()),
            "line": pa.array(["." * 30] * n),
            "start": pa.array([[a for a, _ in s] for s in rows.values()], type=arrow_type("list")),
            "end": pa.array([[b for _, b in s] for s in rows.values()], type=arrow_type("list")),
            "match_count": pa.array([len(s) for s in rows.values()], type=pa.int32()),
            "name_start": pa.array([[]] * n, type=arrow_type("list")),
            "name_end": pa.array([[]] * n, type=arrow_type("list")),
        }
    )


def by_path(path: str, spans: list[tuple[int, int]]) -> Any:
    """A path batch of one file."""
    return pa.record_batch(
        {
            "type": pa.array(["path"], type=arrow_type("dict8")),
            "path": pa.array([path], type=arrow_type("dict32")),
            "match_count": pa.array([1], type=pa.int32()),
            "name_start": pa.array([[a for a, _ in spans]], type=arrow_type("list")),
            "name_end": pa.array([[b for _, b in spans]], type=arrow_type("list")),
        }
    )


def rows(batches: list[Any]) -> list[dict[str, Any]]:
    return [row for batch in batches for row in batch.to_pylist()]


def test_files_of_one_alternative_pass_untouched() -> None:
    first, second = content("a", {1: [(0, 2)]}), content("b", {5: [(1, 3)]})
    assert unite([[first], [second]]) == [first, second]


def test_lines_are_united_and_overlapping_spans_removed() -> None:
    united = rows(
        unite([[content("a", {1: [(0, 2)], 3: [(4, 6)]})], [content("a", {1: [(1, 5), (9, 10)], 2: [(0, 1)]})]])
    )
    assert [(r["line_number"], r["start"], r["end"], r["match_count"]) for r in united] == [
        (1, [0, 9], [2, 10], 2),
        (2, [0], [1], 1),
        (3, [4], [6], 1),
    ]


def test_of_spans_with_one_start_the_longest_stays() -> None:
    united = rows(unite([[content("a", {1: [(3, 4)]})], [content("a", {1: [(3, 8)]})]]))
    assert (united[0]["start"], united[0]["end"]) == ([3], [8])


def test_a_path_hit_gives_way_to_a_content_hit() -> None:
    united = rows(unite([[by_path("a", [(0, 1)])], [content("a", {2: [(0, 1)]})]]))
    assert [(r["type"], r["name_start"]) for r in united] == [("content", [0])]


def test_two_path_hits_become_one() -> None:
    united = rows(unite([[by_path("a", [(0, 1)])], [by_path("a", [(2, 3)])]]))
    assert [(r["type"], r["name_start"], r["match_count"]) for r in united] == [("path", [0, 2], 1)]


def in_chunks(path: str, chunks: dict[int, tuple[int, str]], offset: int = 0) -> Any:
    """As `content`, with a match at the start of each line and the chunk that it is in."""
    batch = content(path, {number: [(0, 1)] for number in chunks})
    locations = list(chunks.values())
    return (
        batch.append_column("chunk", pa.array([text for _, text in locations], type=arrow_type("dict32")))
        .append_column("chunk_start_line", pa.array([first for first, _ in locations], type=pa.int32()))
        .append_column("truncated", pa.array([False] * len(locations)))
        .append_column("chunk_offset", pa.array([offset + first for first, _ in locations], type=pa.int64()))
    )


def test_chunks_of_several_alternatives_that_touch_or_overlap_become_one() -> None:
    first = in_chunks("a", {2: (1, "1\n2\n3"), 9: (8, "8\n9\n10")}, 100)
    second = in_chunks("a", {4: (3, "3\n4\n5"), 7: (6, "6\n7"), 20: (20, "20")}, 100)
    united = rows(unite([[second], [first]]))
    everything = "\n".join(map(str, range(1, 11)))
    assert [(r["line_number"], r["chunk_start_line"], r["chunk"], r["chunk_offset"]) for r in united] == [
        *((line, 1, everything, 101) for line in (2, 4, 7, 9)),
        (20, 20, "20", 120),
    ]
