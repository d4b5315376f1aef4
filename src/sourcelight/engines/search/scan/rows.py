"""From spans to rows: one row for each line that a span touches."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.scan.hits import Hits

Places = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows in order of lines.

    `line` is the line in the shard, `begin` and `stop` its bytes without the newline. Spans of row *i* are
    ``first[i]:first[i + 1]`` of `start` and `end`, in bytes into the line; `count` says how many begin in the row.
    """

    line: Places
    begin: Places
    stop: Places
    first: Places
    start: Places
    end: Places
    count: Places

    def __len__(self) -> int:
        return len(self.line)


def rows_of(shard: Shard, hits: Hits) -> Rows:
    """Group spans by line; a span that goes past its line's end goes on in the lines after it."""
    line, start, end, begins = hits.line, hits.start, hits.end, None
    newlines = shard.newlines
    if len(hits):
        crossing = end > newlines[line + 1]
        if crossing.any():
            line, start, end, begins = _split(shard, hits)
    heads = np.empty(len(line), dtype=np.bool_)
    heads[:1] = True
    np.not_equal(line[1:], line[:-1], out=heads[1:])
    first = np.append(np.flatnonzero(heads), len(line))
    lines = line[first[:-1]]
    begin = newlines[lines].astype(np.int64) + 1
    stop = newlines[lines + 1].astype(np.int64)
    lengths = np.diff(first)
    base = begin if len(lines) == len(line) else np.repeat(begin, lengths)
    count = lengths if begins is None else np.add.reduceat(begins.astype(np.int64), first[:-1])
    return Rows(lines, begin, stop, first, start - base, end - base, count)


def _split(shard: Shard, hits: Hits) -> tuple[Places, Places, Places, NDArray[np.bool_]]:
    last = shard.lines_of(hits.end - 1)
    pieces = last - hits.line + 1
    origin = np.repeat(np.arange(len(hits)), pieces)
    step = np.arange(len(origin)) - np.repeat(np.cumsum(pieces) - pieces, pieces)
    line = hits.line[origin] + step
    start = np.maximum(hits.start[origin], shard.newlines[line].astype(np.int64) + 1)
    end = np.minimum(hits.end[origin], shard.newlines[line + 1].astype(np.int64) + 1)
    return line, start, end, step == 0
