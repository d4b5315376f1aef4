"""Hyperscan over many byte ranges in one call."""

from __future__ import annotations

import threading
from collections import deque
from typing import Any

import hyperscan
import numpy as np

from sourcelight.core.patterns.ranges import Offsets

LONGEST_SCAN = 1 << 30
"""Bytes given to one call: its block length is a 32-bit number."""


class Refused(Exception):
    """Raised for an expression that Hyperscan does not compile."""


class Scanner:
    """One compiled expression; scans may run in several threads at once, each with a scratch of its own.

    Parameters
    ----------
    expression
        In Hyperscan's syntax, over bytes, ``^`` and ``$`` at line bounds.

    Attributes
    ----------
    precise
        False when the expression was too much for a full compile, so that it finds a superset.
    """

    def __init__(self, expression: bytes) -> None:
        self._expression = expression
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
                database.compile([self._expression], flags=[self._flags])
                self._scratches[mode] = deque()
                self._databases[mode] = database
            return self._databases[mode]

    def last_bytes(self, view: memoryview, ranges: Offsets) -> Offsets:
        """Give the distinct offsets of the last bytes of all matches in the ranges, ascending."""
        found = [self._scan(view, part) for part in _portions(ranges)]
        return np.concatenate(found) if found else np.empty(0, dtype=np.int64)

    def _scan(self, view: memoryview, ranges: Offsets) -> Offsets:
        ends: list[int] = []
        add = ends.append

        def hit(_id: int, _start: int, end: int, _flags: int, _context: object) -> None:
            add(end - 1)

        single = len(ranges) == 1
        mode = hyperscan.HS_MODE_BLOCK if single else hyperscan.HS_MODE_VECTORED
        database = self._database(mode)
        pool = self._scratches[mode]
        try:
            scratch = pool.pop()
        except IndexError:
            scratch = database.scratch.clone()
        try:
            if single:
                low, high = ranges[0].tolist()
                database.scan(view[low:high], hit, scratch=scratch)
            else:
                database.scan([view[low:high] for low, high in ranges.tolist()], hit, scratch=scratch)
        finally:
            pool.append(scratch)
        found = np.array(ends, dtype=np.int64)
        if len(found) > 1 and not (np.diff(found) > 0).all():
            found = np.unique(found)
        if single:
            return found + int(ranges[0, 0])
        totals = np.concatenate(([0], np.cumsum(ranges[:, 1] - ranges[:, 0])))
        rows = np.searchsorted(totals[1:-1], found, side="right")
        placed: Offsets = found - totals[rows] + ranges[rows, 0]
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
        if total and total + size > LONGEST_SCAN:
            cuts.append(at)
            total = 0
        total += size
    return cuts
