"""Few rows and long lines are written by way of Python's objects, others from fragments: to the same bytes."""

from __future__ import annotations

import pytest
from hypothesis import given, settings

from core.batches.generated import Row, batch_of, chunked, facts_of, files
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.codecs import encode_files
from sourcelight.core.batches.codecs.encode import encode_matches


@given(chunked(), files("path"))
@settings(max_examples=40, deadline=None)
def test_both_ways_write_the_same(lines: list[Row], paths: list[Row]) -> None:
    names = dict.fromkeys((lines or paths)[0])
    rows = [names | row | {"match_count": 1} for row in paths] + lines
    batch = batch_of([{name: row.get(name) for name in names | dict.fromkeys(rows[0])} for row in rows])
    outputs = []
    with pytest.MonkeyPatch.context() as patch:
        for few in (0, 1 << 30):
            patch.setattr(encode_files, "_FEW", few)
            patch.setattr(encode_files, "_LONG_BYTES", 1 << 30)
            outputs.append(list(encode_matches(MatchBatch(batch), facts_of(rows))))
    assert outputs[0] == outputs[1]
