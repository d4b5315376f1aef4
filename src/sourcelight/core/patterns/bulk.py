r"""RE2 over many texts in one call, by Arrow's kernel, which reads them without a copy while other threads run.

Only RE2 decides what matches. A call per line costs more than reading the line, so RE2 gets blocks of many lines first,
and then the lines of blocks with a match. A pattern that can't match a newline and doesn't name the ends of the text
matches in a block if and only if it matches in one of its lines: a match can't cross a newline, and ``^``, ``$`` and
``\b`` see a newline as they see an end of the text.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from sourcelight.core.arrays import BoolArray, Int64Array, to_numpy
from sourcelight.core.cancellation import Stopped, check_stopped
from sourcelight.core.patterns.ranges import BufferList, cut_at_lines, join_adjacent

BLOCK_BYTES = 4096
"""Bytes of a block of lines that RE2 matches as one text."""

MIN_CALL_BYTES, MAX_CALL_BYTES = 64 << 10, 4 << 20
"""Maximum bytes of a call of the kernel, which can be stopped only between calls."""

FIRST_CALL_BYTES = 512 << 10
"""Bytes of the first call, which is short so that the first matches arrive soon."""

SHORT_S, LONG_S = 0.008, 0.04
"""Seconds of a call below which the next one gets twice as many bytes, and above which it gets a quarter."""

SLOW_S, SLOW_BYTES = 0.005, 40_000_000
"""Seconds of a call, and bytes per second below which RE2 counts as slow: it usually reads ten times as much."""

TEXT_COST_BYTES = 64
"""Bytes of text that RE2 reads in the time that it takes to start with another text."""

MAX_GAP_BYTES = 8
"""Average bytes between two texts up to which reading these too is cheaper than copying all texts."""

NEWLINE = 10


class BulkMatcher:
    """Matches a pattern in many texts at once; empty matches count.

    Parameters
    ----------
    source
        In RE2's syntax, flags included.
    weaker
        Returns patterns that match wherever this one does, each weaker than the one before. If RE2 is slow, `lines` and
        `documents` continue with the next of them, and may return too many. It is called only if RE2 is slow.
    """

    def __init__(self, source: bytes, weaker: Callable[[], Sequence[bytes]] = tuple) -> None:
        self._source = source.decode()
        self._scanned = _Source(self._source, weaker)

    def _among(self, data: Any, bounds: Int64Array, source: str) -> BoolArray:
        """Return which texts match, each between two consecutive bounds."""
        # `from_buffers` does not check for UTF-8, and RE2 does not need it. Bounds are int64, hence the large type.
        texts = pa.LargeStringArray.from_buffers(len(bounds) - 1, pa.py_buffer(bounds), pa.py_buffer(data))
        return to_numpy(pc.match_substring_regex(texts, pattern=source))

    def matches(self, view: memoryview, starts: Int64Array, ends: Int64Array, stopped: Stopped) -> BoolArray:
        """Return which texts ``view[start:end]`` match; raises `ScanStopped`."""
        matched = np.zeros(len(starts), dtype=np.bool_)
        for first, last in paced_runs(ends - starts, stopped):
            run_starts, run_ends = starts[first:last], ends[first:last]
            gaps = run_starts[1:] - run_ends[:-1]
            if (gaps >= 0).all() and int(gaps.sum()) <= MAX_GAP_BYTES * len(run_starts):
                # Texts and gaps alternate in one array over the view, so nothing is copied; `[::2]` drops the gaps.
                bounds = np.stack((run_starts, run_ends), axis=1).ravel() - run_starts[0]
                matched[first:last] = self._among(view[run_starts[0] : run_ends[-1]], bounds, self._source)[::2]
                continue
            data = b"".join(
                [view[start:end] for start, end in zip(run_starts.tolist(), run_ends.tolist(), strict=True)]
            )
            matched[first:last] = self._among(data, _bounds(run_ends - run_starts), self._source)

        return matched

    def documents(self, buffers: BufferList, ranges: Int64Array, stopped: Stopped) -> Int64Array:
        """Return the ranges that match, each as a separate text; raises `ScanStopped`."""
        matched = np.zeros(len(ranges), dtype=np.bool_)
        sizes = ranges[:, 1] - ranges[:, 0]
        source = self._scanned
        for first, last in paced_runs(sizes, stopped):
            with source.measure(int(sizes[first:last].sum())) as text:
                data = _concat(buffers, ranges[first:last])
                matched[first:last] = self._among(data, _bounds(sizes[first:last]), text)

        return ranges[matched]

    def lines(self, buffers: BufferList, ranges: Int64Array, stopped: Stopped) -> Int64Array:
        """Return the starts of matching lines in ranges that end with lines; raises `ScanStopped`.

        Correct only for patterns that can't match a newline and don't name the ends of the text.
        """
        blocks = cut_at_lines(buffers, ranges, BLOCK_BYTES)
        sizes = blocks[:, 1] - blocks[:, 0]
        source = self._scanned
        line_starts = [np.empty(0, dtype=np.int64)]  # so that the concatenation works without a match
        for first, last in paced_runs(sizes, stopped):
            run = blocks[first:last]
            with source.measure(int(sizes[first:last].sum())) as text:
                matched = self._among(_concat(buffers, run), _bounds(sizes[first:last]), text)
            if matched.any():
                check_stopped(stopped)
                # Neighboring blocks are joined, because the second step reads lines, wherever the blocks were cut.
                line_starts.append(self._lines(buffers, join_adjacent(run[matched]), source.text))

        return np.concatenate(line_starts)

    def _lines(self, buffers: BufferList, ranges: Int64Array, source: str) -> Int64Array:
        """Return the starts of the matching lines of the ranges, each matched by itself."""
        data, range_bounds = _concat(buffers, ranges), _bounds(ranges[:, 1] - ranges[:, 0])
        raw = np.frombuffer(data, dtype=np.uint8)
        bounds = np.concatenate(([0], np.flatnonzero(raw == NEWLINE) + 1))

        # The last line of a text may lack its newline, and needs its own bound to end before the next range.
        unended = range_bounds[1:][raw[range_bounds[1:] - 1] != NEWLINE]
        if len(unended):
            bounds = np.union1d(bounds, unended)

        starts = bounds[:-1][self._among(data, bounds, source)]
        # Map each start from the copied text to the buffers, by the range that it was copied from.
        rows = np.searchsorted(range_bounds, starts, side="right") - 1
        offsets: Int64Array = starts - range_bounds[rows] + ranges[rows, 0]
        return offsets


class _Source:
    """The pattern that scans continue with: a weaker one after calls that were slow."""

    def __init__(self, text: str, weaker: Callable[[], Sequence[bytes]]) -> None:
        self.text = text
        self._weaker = weaker
        self._left: list[bytes] | None = None

    @contextmanager
    def measure(self, size: int) -> Iterator[str]:
        """Yield the pattern for a call that reads `size` bytes, and measure the call."""
        text, started_at = self.text, time.thread_time()
        yield text

        # CPU time of this thread: by wall time, every pattern would be slow on a busy machine.
        duration_s = time.thread_time() - started_at
        if duration_s > SLOW_S and duration_s * SLOW_BYTES > size and text == self.text:
            # Weaker patterns are built on first use and stay: a pattern that was slow once is slow again. Scans in
            # other threads may share this object, so check that the text is still the measured one.
            weaker_patterns = list(self._weaker()) if self._left is None else self._left
            if weaker_patterns:
                self.text, self._left = weaker_patterns[0].decode(), weaker_patterns[1:]


def _concat(buffers: BufferList, ranges: Int64Array) -> Any:
    """Return the bytes of ranges one after another, copied only if there is a gap."""
    texts = buffers.slices(join_adjacent(ranges))
    return texts[0] if len(texts) == 1 else b"".join(texts)


def _bounds(sizes: Int64Array) -> Int64Array:
    return np.concatenate((np.zeros(1, dtype=np.int64), np.cumsum(sizes)))


def paced_runs(sizes: Int64Array, stopped: Stopped) -> Iterator[tuple[int, int]]:
    """Cut a list of texts into runs (first, last) for one call each, of as many bytes as take a few milliseconds."""
    ends = np.cumsum(sizes + TEXT_COST_BYTES)
    first, budget = 0, FIRST_CALL_BYTES
    while first < len(sizes):
        check_stopped(stopped)
        end_of_previous = int(ends[first - 1]) if first else 0
        last = max(first + 1, int(np.searchsorted(ends, end_of_previous + budget, side="right")))
        started_at = time.thread_time()
        yield first, last
        duration_s = time.thread_time() - started_at
        if duration_s > LONG_S:
            # Shrinks faster than it grows, because a long call delays a stop.
            budget = max(MIN_CALL_BYTES, budget // 4)
        elif duration_s < SHORT_S:
            budget = min(MAX_CALL_BYTES, 2 * budget)

        first = last
