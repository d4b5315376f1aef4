r"""RE2 over many texts in one call: Arrow's kernel, which reads them where they are while other threads run.

RE2 alone says what matches. To ask it about each line costs more than to read the line, so it is asked about blocks of
many lines first, and then about the lines of the blocks with a match. A pattern that can't match a newline and does not
name the ends of the text has a match in a block if, and only if, it has one in a line of it: it can't read on, and what
``^``, ``$`` and ``\b`` look at is the same at a newline as at an end of the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sourcelight.core.cancellation import Stopped, check
from sourcelight.core.patterns.ranges import BufferList, Offsets, cut_at_lines, glued

BLOCK = 4096
"""Bytes of lines that RE2 is asked about together."""

LEAST, MOST = 64 << 10, 4 << 20
"""Bytes given to the kernel in one call: it can be stopped only between two."""

FIRST = 512 << 10

SHORT_S, LONG_S = 0.008, 0.04
"""Seconds of a call below which the next takes twice as much, and above which it takes a quarter."""

SLOW_S, SLOW_BYTES = 0.005, 40_000_000
"""Seconds of a call, and bytes a second, from which on RE2 is slow: it reads ten times as much where it can."""

TEXT_COST = 64
"""Bytes of text that take RE2 as long as to begin with one more text."""

NEAR = 8
"""Bytes between two texts, on average, up to which reading these as well is cheaper than to copy all texts."""

NEWLINE = 10


class BulkMatcher:
    """Tells in which of many texts a pattern is found; empty matches count.

    Parameters
    ----------
    source
        In RE2's syntax, flags included.
    weaker
        Gives patterns that match wherever this one does, each weaker than the one before: where RE2 is slow,
        `lines` and `documents` go on with the next, and say too much. It is asked only where RE2 is slow.
    """

    def __init__(self, source: bytes, weaker: Callable[[], Sequence[bytes]] = tuple) -> None:
        self._source = source.decode()
        self._scanned = _Source(self._source, weaker)

    def _among(self, data: Any, bounds: Offsets, source: str) -> NDArray[np.bool_]:
        """Tell for each text between two bounds that follow one another."""
        # That they are UTF-8 is neither needed nor checked.
        texts = pa.LargeStringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(data))
        return mask_of(pc.match_substring_regex(texts, pattern=source))

    def matches(self, view: memoryview, starts: Offsets, ends: Offsets, stopped: Stopped) -> NDArray[np.bool_]:
        """Tell for each text ``view[start:end]``; raises `Halted`."""
        found = np.zeros(len(starts), dtype=np.bool_)
        for first, last in paced(ends - starts, stopped):
            low, high = starts[first:last], ends[first:last]
            gaps = low[1:] - high[:-1]
            if (gaps >= 0).all() and int(gaps.sum()) <= NEAR * len(low):
                # What stands between the texts is read as well, and not looked at.
                bounds = np.stack((low, high), axis=1).ravel() - low[0]
                found[first:last] = self._among(view[low[0] : high[-1]], bounds, self._source)[::2]
                continue
            data = b"".join([view[a:b] for a, b in zip(low.tolist(), high.tolist(), strict=True)])
            found[first:last] = self._among(data, _bounds(high - low), self._source)
        return found

    def documents(self, buffers: BufferList, ranges: Offsets, stopped: Stopped) -> Offsets:
        """Give the ranges, each a text of its own, in which the pattern is found; raises `Halted`."""
        found = np.zeros(len(ranges), dtype=np.bool_)
        sizes = ranges[:, 1] - ranges[:, 0]
        source = self._scanned
        for first, last in paced(sizes, stopped):
            with source.timed(int(sizes[first:last].sum())) as text:
                data = _joined(buffers, ranges[first:last])
                found[first:last] = self._among(data, _bounds(sizes[first:last]), text)
        return ranges[found]

    def lines(self, buffers: BufferList, ranges: Offsets, stopped: Stopped) -> Offsets:
        """Give the starts of the lines with a match in ranges that end with lines; raises `Halted`.

        Right for patterns alone that can't match a newline and don't name the ends of the text.
        """
        blocks = cut_at_lines(buffers, ranges, BLOCK)
        sizes = blocks[:, 1] - blocks[:, 0]
        source = self._scanned
        found = [np.empty(0, dtype=np.int64)]
        for first, last in paced(sizes, stopped):
            part = blocks[first:last]
            with source.timed(int(sizes[first:last].sum())) as text:
                held = self._among(_joined(buffers, part), _bounds(sizes[first:last]), text)
            if held.any():
                check(stopped)
                found.append(self._lines(buffers, glued(part[held]), source.text))
        return np.concatenate(found)

    def _lines(self, buffers: BufferList, ranges: Offsets, source: str) -> Offsets:
        """Ask about every line of the ranges."""
        data, places = _joined(buffers, ranges), _bounds(ranges[:, 1] - ranges[:, 0])
        raw = np.frombuffer(data, dtype=np.uint8)
        bounds = np.concatenate(([0], np.flatnonzero(raw == NEWLINE) + 1))
        unended = places[1:][raw[places[1:] - 1] != NEWLINE]
        if len(unended):
            bounds = np.union1d(bounds, unended)
        starts = bounds[:-1][self._among(data, bounds, source)]
        rows = np.searchsorted(places, starts, side="right") - 1
        offsets: Offsets = starts - places[rows] + ranges[rows, 0]
        return offsets


class _Source:
    """The pattern that scans go on with: a weaker one after calls that were slow."""

    def __init__(self, text: str, weaker: Callable[[], Sequence[bytes]]) -> None:
        self.text = text
        self._weaker = weaker
        self._left: list[bytes] | None = None

    @contextmanager
    def timed(self, size: int) -> Iterator[str]:
        """Give the pattern for a call that reads `size` bytes, and see how long it takes."""
        text, began = self.text, time.thread_time()
        yield text
        taken = time.thread_time() - began
        if taken > SLOW_S and taken * SLOW_BYTES > size and text == self.text:
            left = list(self._weaker()) if self._left is None else self._left
            if left:
                self.text, self._left = left[0].decode(), left[1:]


def mask_of(found: Any) -> NDArray[np.bool_]:
    """Give an Arrow array of booleans without nulls as numpy's; Arrow's own way loads pandas, for a second."""
    bits = np.frombuffer(found.buffers()[1], dtype=np.uint8)
    return np.unpackbits(bits, count=len(found), bitorder="little").astype(np.bool_)


def _joined(buffers: BufferList, ranges: Offsets) -> Any:
    """Give the bytes of ranges one after another; they are copied only where something stands between."""
    texts = buffers.slices(glued(ranges))
    return texts[0] if len(texts) == 1 else b"".join(texts)


def _bounds(sizes: Offsets) -> Offsets:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))


def paced(sizes: Offsets, stopped: Stopped) -> Iterator[tuple[int, int]]:
    """Cut a list of texts into runs (first, last) for one call each, of as many bytes as take some milliseconds."""
    ends = np.cumsum(sizes + TEXT_COST)
    first, budget = 0, FIRST
    while first < len(sizes):
        check(stopped)
        done = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, done + budget, side="right")))
        began = time.thread_time()
        yield first, last
        taken = time.thread_time() - began
        if taken > LONG_S:
            budget = max(LEAST, budget // 4)
        elif taken < SHORT_S:
            budget = min(MOST, 2 * budget)
        first = last
