"""Which shards of a corpus can hold a text: one table of trigrams for a whole fleet.

A shard keeps its posting lists in a file of its own, so a query over a fleet looks into as many tables as there are
shards, although most texts occur in few of them. This table has, for each trigram, one bit for each shard that holds
it. A text with a trigram that no shard holds is answered by reading a few numbers; other texts leave the shards whose
posting lists are worth reading.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.index.postings import TRIGRAM_BITS
from sourcelight.engines.search.index.shard import LooseShard, Shard

MAX_SHARDS = 64
"""Shards with a bit of their own; all others are looked into. The table takes 2, 4, 8 or 16 MB."""

MIN_SHARDS = 4
"""Shards from which on the table saves more than it takes to ask."""


class ShardFilter:
    """The shards that hold each trigram.

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
        numbers = []
        while possible:
            lowest = possible & -possible
            numbers.append(lowest.bit_length() - 1)
            possible ^= lowest
        return numbers if self._count <= MAX_SHARDS else [*numbers, *range(MAX_SHARDS, self._count)]
