"""Hyperscan over many byte ranges in one call."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import Any

import hyperscan
import numpy as np

from sourcelight.core.patterns.buffers import Buffers, Offsets
from sourcelight.core.patterns.halting import Halted, Stopped, check, never
from sourcelight.core.patterns.ranges import PORTION

FEWEST_TOO_MANY = 100_000
"""Hits of one call that are never too many."""
HITS_PER_CHECK = 4096
"""Hits between two looks at whether to stop: about a millisecond."""
BYTES_PER_HIT = 24
"""More hits than one in so many bytes are too many: about the length of a short line."""
_NEWLINE = memoryview(b"\n")


class TooManyHits(Exception):
    """Raised when single hits stopped being worth their memory: take every line for a candidate."""


class Refused(Exception):
    """Raised for an expression that Hyperscan does not compile."""


class Scanner:
    """Compiled alternatives; scans may run in several threads at once, each with a scratch of its own.

    Parameters
    ----------
    expressions
        In Hyperscan's syntax, over bytes, ``^`` and ``$`` at line bounds; a match of any one counts.

    Attributes
    ----------
    precise
        False when the expression was too much for a full compile, so that it finds a superset.
    """

    def __init__(self, expressions: list[bytes]) -> None:
        self._expressions = expressions
        self._flags = hyperscan.HS_FLAG_MULTILINE
        self.precise = True
        self._lock = threading.Lock()
        self._scratches: dict[int, deque[Any]] = {}
        self._databases: dict[int, Any] = {}
        try:
            self._database(hyperscan.HS_MODE_VECTORED)
        except hyperscan.error:
            self._flags |= hyperscan.HS_FLAG_PREFILTER
            self.precise = False
            try:
                self._database(hyperscan.HS_MODE_VECTORED)
            except hyperscan.error as fault:
                raise Refused(str(fault)) from fault

    def _database(self, mode: int) -> Any:
        with self._lock:
            if mode not in self._databases:
                database = hyperscan.Database(mode=mode)
                database.compile(self._expressions, flags=[self._flags] * len(self._expressions))
                self._scratches[mode] = deque()
                self._databases[mode] = database
            return self._databases[mode]

    def last_bytes(
        self,
        buffers: Buffers,
        ranges: Offsets,
        dense: Callable[[Buffers, Offsets], Offsets] | None = None,
        stopped: Stopped = never,
        *,
        documents: bool = False,
    ) -> Offsets:
        """Give the distinct offsets of the last bytes of all matches in the ranges, ascending.

        Ranges that are whole `documents` are scanned with a newline behind each, so that none goes on in the next; the
        text of others is taken for one. Where matches end more often than lines do, `dense` answers for that portion
        instead, so that memory and time stay bounded.

        Raises
        ------
        TooManyHits
            In such a place when `dense` is None.
        Halted
            Once `stopped` says so.
        """
        found: list[Offsets] = []
        for part in _portions(ranges):
            check(stopped)
            try:
                found.append(self._scan(buffers, part, stopped, documents=documents))
            except TooManyHits:
                if dense is None:
                    raise
                found.append(dense(buffers, part))
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def _scan(self, buffers: Buffers, ranges: Offsets, stopped: Stopped, *, documents: bool) -> Offsets:
        ends: list[int] = []
        add = ends.append
        most = max(FEWEST_TOO_MANY, int((ranges[:, 1] - ranges[:, 0]).sum()) // BYTES_PER_HIT)
        next_check = min(HITS_PER_CHECK, most)
        halted = False

        def hit(_id: int, _start: int, end: int, _flags: int, _context: object) -> bool:
            nonlocal next_check, halted
            add(end - 1)
            if len(ends) <= next_check:
                return False
            next_check = min(next_check + HITS_PER_CHECK, most)
            halted = stopped()
            return halted or len(ends) > most

        single = len(ranges) == 1 and not documents
        mode = hyperscan.HS_MODE_BLOCK if single else hyperscan.HS_MODE_VECTORED
        database = self._database(mode)
        pool = self._scratches[mode]
        try:
            scratch = pool.pop()
        except IndexError:
            scratch = database.scratch.clone()
        try:
            pieces = buffers.slices(ranges)
            if documents:
                pieces = [piece for document in pieces for piece in (document, _NEWLINE)]
            database.scan(pieces[0] if single else pieces, hit, scratch=scratch)
        except hyperscan.ScanTerminated as stop:
            raise (Halted if halted else TooManyHits) from stop
        finally:
            pool.append(scratch)
        found = np.array(ends, dtype=np.int64)
        if len(found) > 1 and not (np.diff(found) > 0).all():
            found = np.unique(found)
        if single:
            return found + int(ranges[0, 0])
        totals = np.concatenate(([0], np.cumsum(ranges[:, 1] - ranges[:, 0] + int(documents))))
        rows = np.searchsorted(totals[1:-1], found, side="right")
        placed: Offsets = found - totals[rows] + ranges[rows, 0]
        if documents:
            placed = np.unique(np.minimum(placed, ranges[rows, 1] - 1))
        return placed


def _portions(ranges: Offsets) -> list[Offsets]:
    """Cut a list of ranges into lists that one call can take; empty ranges are dropped."""
    sizes = ranges[:, 1] - ranges[:, 0]
    if not (sizes > 0).all():
        ranges, sizes = ranges[sizes > 0], sizes[sizes > 0]
    if not len(ranges):
        return []
    return [part for part in np.split(ranges, _cuts(sizes.tolist())) if len(part)]


def _cuts(sizes: list[int]) -> list[int]:
    cuts: list[int] = []
    total = 0
    for at, size in enumerate(sizes):
        if total and total + size > 2 * PORTION:
            cuts.append(at)
            total = 0
        total += size
    return cuts
