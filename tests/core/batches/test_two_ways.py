"""Few rows and long lines are written by way of Python's objects, others from fragments: to the same bytes."""

from __future__ import annotations

from hypothesis import given, settings

from core.batches.generated import Row, batch_of, chunked, facts_of, files
from sourcelight.core.batches import MatchBatch
from sourcelight.core.batches.codecs.encode import encode_matches

MANY = 60
"""More rows than are written by way of objects."""

_HEAD = {"repository": "c", "repository_id": 1, "revision": "", "name_start": [], "name_end": [], "match_count": 1}
MANY_PATHS: list[Row] = [{**_HEAD, "type": "path", "path": f"many/{number}"} for number in range(MANY)]
MANY_LINES: list[Row] = [
    {**_HEAD, "type": "content", "path": "many", "line_number": number, "line": "a line", "start": [0], "end": [1]}
    for number in range(1, MANY + 1)
]


@given(chunked(), files("path"))
@settings(max_examples=40, deadline=None)
def test_both_ways_write_the_same(lines: list[Row], paths: list[Row]) -> None:
    names = dict.fromkeys((lines or paths)[0])
    paths = [names | row | {"match_count": 1} for row in paths]

    def encode(rows: list[Row]) -> bytes:
        """Encode rows as one list; rows of the other kinds begin and end nothing within it."""
        columns = dict.fromkeys([*names, *MANY_LINES[0]])
        batch = batch_of([{name: row.get(name) for name in columns} for row in rows])
        return b",".join(matches[1:-1] for matches in encode_matches(MatchBatch(batch), facts_of(rows)))

    many = b",".join((encode(MANY_PATHS), encode(paths + lines), encode(MANY_LINES)))
    assert encode([*MANY_PATHS, *paths, *lines, *MANY_LINES]) == many
