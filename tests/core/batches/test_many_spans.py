"""Lines with no match left to show, with one, and with so many that they need several events."""

from __future__ import annotations

import json

import pyarrow as pa
import pytest

from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.codecs.encode import encode_matches
from sourcelight.core.wire.encode import MAX_EVENT_BYTES


def batch(lines: list[str], starts: list[list[int]], ends: list[list[int]]) -> MatchBatch:
    count = len(lines)

    def same(text: str) -> pa.DictionaryArray:
        return pa.array([text] * count).dictionary_encode()

    spans = pa.list_(pa.int32())
    columns = {
        "type": same("content"),
        "repository": same("a/b"),
        "repository_id": pa.array([1] * count, pa.int32()),
        "revision": same(""),
        "commit": same("0" * 40),
        "path": same("f.txt"),
        "language": same("Text"),
        "line_number": pa.array(range(1, count + 1), pa.int32()),
        "line": pa.array(lines),
        "start": pa.array(starts, spans),
        "end": pa.array(ends, spans),
        "match_count": pa.array([len(start) for start in starts], pa.int32()),
        "line_offset": pa.array([0] * count, pa.int64()),
        "byte_start": pa.array(starts, spans),
        "byte_end": pa.array(ends, spans),
        "name_start": pa.array([[]] * count, spans),
        "name_end": pa.array([[]] * count, spans),
    }
    return MatchBatch(pa.RecordBatch.from_pydict(columns))


def test_a_row_that_matches_its_newline_alone_has_no_pair() -> None:
    result = batch(["ab", "cd", "e"], [[2], [0, 1], [0]], [[3], [1, 2], [1]])
    (payload,) = encode_matches(result, {})
    (match,) = json.loads(payload)
    assert [(line["line"], line["offsetAndLengths"]) for line in match["lineMatches"]] == [
        ("ab", []),
        ("cd", [[0, 1], [1, 1]]),
        ("e", [[0, 1]]),
    ]


@pytest.mark.parametrize("chunks", [False, True])
def test_a_million_matches_in_a_line_are_spread_over_events(*, chunks: bool) -> None:
    size = 1_200_000 if not chunks else 150_000
    starts = list(range(size))
    result = batch(["x", "y" * size], [[0], starts], [[1], [position + 1 for position in starts]])
    seen = 0
    for payload in encode_matches(result, {}, chunk_matches=chunks):
        assert len(payload) < MAX_EVENT_BYTES
        for match in json.loads(payload):
            parts = match["chunkMatches"] if chunks else match["lineMatches"]
            seen += sum(len(part["ranges" if chunks else "offsetAndLengths"]) for part in parts)
    assert seen == size + 1
