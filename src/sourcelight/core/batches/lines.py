"""Matched lines of the wire as columns, one list of them at a time and no object per row."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from itertools import chain
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches.columns import Numbers, int32, lists, repeats, strings
from sourcelight.core.batches.files import Columns, Files
from sourcelight.core.batches.points import Points, text_of
from sourcelight.core.batches.records import Line, Record


class LineRows:
    """Collects the matched lines of records; these can be dropped after `add`, which keeps numbers and text only."""

    def __init__(self) -> None:
        self._files = Files()
        self._sizes = array("i")
        self._numbers = array("i")
        self._texts: list[str] = []
        self._counts = array("i")
        self._spans = array("i")

    def add(self, records: Sequence[Record]) -> None:
        """Go on with `records`."""
        self._files.add(records)
        groups = [r.line_matches or () for r in records]
        found: list[Line] = list(chain.from_iterable(groups))
        pairs = [x.offset_and_lengths for x in found]
        self._sizes.fromlist(list(map(len, groups)))
        self._numbers.fromlist([x.line_number for x in found])
        self._texts += [x.line for x in found]
        self._counts.fromlist(list(map(len, pairs)))
        self._spans.fromlist(list(chain.from_iterable(chain.from_iterable(pairs))))

    def columns(self) -> tuple[Columns, Numbers] | None:
        """The columns of all rows, and the record of each; None if there are none."""
        if not self._texts:
            return None
        take, texts = repeats(np.asarray(self._sizes)), self._texts
        numbers, counts, flat = np.asarray(self._numbers), np.asarray(self._counts), np.asarray(self._spans)
        starts, ends = flat[0::2], flat[0::2] + flat[1::2]
        if ((numbers[1:] < numbers[:-1]) & (take[1:] == take[:-1])).any():
            order = np.lexsort((numbers, take))
            span_order = np.argsort(np.argsort(order)[repeats(counts)], kind="stable")
            numbers, counts, texts = numbers[order], counts[order], [texts[i] for i in order.tolist()]
            starts, ends = starts[span_order], ends[span_order]
        line = strings(texts)
        start, end = lists(counts, starts, ends)
        byte_start, byte_end = _in_bytes(line, counts, starts, ends) or (start, end)
        columns = self._files.columns("content", take) | {
            "line_number": int32(numbers + np.int32(1)),
            "line": line,
            "start": start,
            "end": end,
            "match_count": int32(counts),
            **self._files.name_columns(take),
            "byte_start": byte_start,
            "byte_end": byte_end,
        }
        return columns, take


def _in_bytes(line: Any, counts: Numbers, *found: NDArray[np.int32]) -> tuple[Any, ...]:
    """Columns of code point offsets (of each line as many as `counts` says) as byte offsets; empty if all is ASCII."""
    bounds, text = text_of(line)
    points = Points(text)
    if points.ascii:
        return ()
    first = points.before(bounds)
    begin, least, most = (np.repeat(x, counts) for x in (bounds[:-1], first[:-1], first[1:]))
    places = (points.byte(np.minimum(least + np.maximum(at, 0), most)) - begin for at in found)
    return lists(counts, *(at.astype(np.int32) for at in places))
