"""Tables for a fleet: made from the indexes of many shards, once searches have asked for them a few times.

Each shard has its index in a file of its own, so a search of a fleet takes a look into each of them. One table over all
shards tells which of them are worth it, see `ShardFilter`, or which units, see `unit_table`.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import Int64Array
from sourcelight.engines.search.index.postings import TRIGRAM_BITS
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.search.index.unit_table import UnitTable, has_table

MAX_SHARDS = 64
"""Shards with a bit of their own; all others are read. The table takes 2, 4, 8 or 16 MB."""

LOOKUPS_UNFILTERED = 2
"""Texts looked up in new shards before their table of trigrams is made."""

TEXTS_WITHOUT_UNITS, MAX_TEXTS_WITHOUT_UNITS = 32, 1024
"""Texts looked up in new shards before their table of units is made; more where such tables were of little use."""

TEXTS_WORTH_UNITS = 320
"""Texts that save as much time with a table of units as it takes to make: 0.2 s for 250 MB of text."""


class TablePace:
    """Decides after how many texts shards get a table of units. Safe to share between threads.

    After a commit, a corpus has other shards and needs another table. Where there are commits all the time, tables
    would never save the time that they take, so one that has served few texts makes the next one wait longer.
    """

    def __init__(self) -> None:
        self._texts = TEXTS_WITHOUT_UNITS
        # The texts that the last table has served; None before the first one.
        self._served: list[int] | None = None

    def texts(self) -> int:
        """Return how many texts new shards wait for."""
        if self._served is None:
            return TEXTS_WITHOUT_UNITS
        # The last table may still serve texts, so it is asked now and not when the next one is made.
        if self._served[0] >= TEXTS_WORTH_UNITS:
            self._texts = TEXTS_WITHOUT_UNITS
        return self._texts

    def start(self, served: list[int]) -> None:
        """Record a new table, with a list of one number: the texts that it has served, which grows."""
        if self._served is not None and self._served[0] < TEXTS_WORTH_UNITS:
            self._texts = min(2 * self._texts, MAX_TEXTS_WITHOUT_UNITS)
        self._served = served


pace = TablePace()
"""The pace of this process."""


class FleetTables:
    """The tables of some shards. Safe to share between threads.

    Parameters
    ----------
    shards
        The shards of a corpus, in its order.
    unit_base
        The first unit of each shard, and the number of units.
    """

    def __init__(self, shards: Sequence[Shard], unit_base: Int64Array) -> None:
        self._shards = shards
        self._unit_base = unit_base
        self._lookups = 0
        self._texts = 0
        self._wait = pace.texts()
        self._served = [0]

    def shards_with(self, trigrams: list[int]) -> Sequence[int]:
        """Return the numbers of the shards, ascending, that hold all of these trigrams, or may hold them."""
        # The table reads all trigrams of all shards, some 20 ms for 250 MB of text: not for the first search after a
        # commit, which should be quick too.
        if self._lookups < LOOKUPS_UNFILTERED:
            self._lookups += 1
            return range(len(self._shards))
        return self._filter.shards_with(trigrams)

    @property
    def units(self) -> UnitTable | None:
        """Bitmaps and lists of all units; None for very many units, and for the first texts."""
        if self._texts < self._wait:
            self._texts += 1
            return None
        # Not exact with several threads, and need not be.
        self._served[0] += 1
        return self._units

    @functools.cached_property
    def _filter(self) -> ShardFilter:
        return ShardFilter(self._shards)

    @functools.cached_property
    def _units(self) -> UnitTable | None:
        if not has_table(self._shards):
            return None
        pace.start(self._served)
        return UnitTable(self._shards, self._unit_base)


class ShardFilter:
    """The shards that hold each trigram: one table for a whole fleet.

    A shard has its posting lists in a file of its own, so a query over a fleet looks into as many tables as there are
    shards, although most texts occur in few of them. This table has one bit for each shard. A text with a trigram that
    no shard holds is answered by reading a few numbers; other texts leave the shards whose lists are worth reading.

    Parameters
    ----------
    shards
        The shards of a corpus, in its order.
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        self._count = len(shards)
        filtered = list(enumerate(shards[:MAX_SHARDS]))
        width = next(bits for bits in (8, 16, 32, 64) if bits >= len(filtered))
        table: NDArray[np.unsignedinteger] = np.zeros(1 << TRIGRAM_BITS, dtype=f"uint{width}")

        # Shards without posting lists are searched whatever the text is.
        self._always = 0
        for number, shard in filtered:
            if isinstance(shard, LooseShard):
                self._always |= 1 << number
                continue
            # A number of the table's own type: an int would make the whole column int64.
            bit = table.dtype.type(1 << number)
            for keys in shard.postings.trigrams:
                table[keys] |= bit

        # Reading one number from a memoryview takes a tenth of the time that numpy takes.
        self._bits: memoryview[int] = table.data

    def shards_with(self, trigrams: Sequence[int]) -> list[int]:
        """Return the numbers of the shards, ascending, that hold all of these trigrams, or may hold them."""
        table, possible = self._bits, (1 << min(self._count, MAX_SHARDS)) - 1
        for trigram in trigrams:
            possible &= table[trigram]
            if not possible:
                break

        possible |= self._always
        # Few bits are left as a rule, so the lowest is taken off one at a time: `x & -x` keeps it alone, since negation
        # in two's complement flips all bits above it.
        numbers = []
        while possible:
            lowest = possible & -possible
            numbers.append(lowest.bit_length() - 1)
            possible ^= lowest

        if self._count <= MAX_SHARDS:
            return numbers
        return [*numbers, *range(MAX_SHARDS, self._count)]
