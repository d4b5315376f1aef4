"""Several texts addressed as one, so that a scan of many files of an index is one call and not one for each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Offsets: TypeAlias = NDArray[np.int64]


class Buffers:
    """Texts one after another: byte *n* of text *i* has the address ``first[i] + n``.

    Parameters
    ----------
    views
        The texts, none of which is copied.
    first
        Addresses of their first bytes, ascending. Between a text and the next there must be more than
        `ranges.RANGE_COST` addresses, so that no scan goes on from one to the other.
    """

    def __init__(self, views: Sequence[memoryview], first: Offsets) -> None:
        self.views = views
        self.first = first

    @classmethod
    def of(cls, buffer: Any) -> Buffers:
        """Take one text, addressed from 0, as it is, or buffers."""
        return buffer if isinstance(buffer, cls) else cls([memoryview(buffer)], np.zeros(1, dtype=np.int64))

    def slices(self, ranges: Offsets) -> list[memoryview]:
        """Give the bytes of ranges, none of which goes past its text."""
        if len(self.views) == 1:
            view, base = self.views[0], int(self.first[0])
            return [view[low - base : high - base] for low, high in ranges.tolist()]
        which = self.index_of(ranges[:, 0])
        numbers = which.tolist()
        views = {at: self.views[at] for at in set(numbers)}
        own = ranges - self.first[which][:, None]
        return [views[at][low:high] for at, (low, high) in zip(numbers, own.tolist(), strict=True)]

    def index_of(self, addresses: Offsets) -> NDArray[np.intp]:
        """Tell in which text each address lies."""
        return self.first.searchsorted(addresses, side="right") - 1

    def runs(self, addresses: Offsets) -> Iterator[tuple[int, int, int]]:
        """Cut ascending addresses by text: (text, first, last) of each that any lies in."""
        if not len(addresses):
            return
        if len(self.views) == 1:
            yield 0, 0, len(addresses)
            return
        bounds = addresses.searchsorted(self.first).tolist()
        bounds.append(len(addresses))
        for text in range(len(self.views)):
            if bounds[text] < bounds[text + 1]:
                yield text, bounds[text], bounds[text + 1]
