"""The text of several shards in one address space, each block checked before it is first read.

A search reads thousands of ranges of many shards. Whether their blocks were checked is one look into an array for all
ranges, and not a call for each of them.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Sequence

import numpy as np

from sourcelight.core.arrays import Int64Array
from sourcelight.core.patterns.ranges import RANGE_COST_BYTES, BufferList
from sourcelight.engines.search.index.shard import LooseShard, Shard
from sourcelight.engines.storage.section_blocks import BLOCK_BITS, BLOCK_BYTES
from sourcelight.engines.storage.sections import SectionFile
from sourcelight.repos.catalog.watches import FileWatch

_SIZES_VALID_S = 0.02
"""Seconds for which the sizes of mapped files are not compared again: the parts of one query share a check."""

_MIN_WATCHED_FILES = 8
"""Mapped files from which on the kernel watches them: a look at fewer takes less time."""

_NO_BLOCKS: Int64Array = np.zeros(0, dtype=np.int64)


class ShardContents(BufferList):
    """The text of shards. Safe to share between threads.

    Parameters
    ----------
    shards
        The shards, in the order of their addresses.

    Attributes
    ----------
    bases
        The first address of each shard, and the end of the last one.
    is_complete
        Whether all blocks were checked.
    """

    def __init__(self, shards: Sequence[Shard]) -> None:
        # A shard begins with a block, so that the blocks of all of them are numbered through. The gap between two
        # shards is wider than the cost of a range, so no scan joins ranges across it; the extra byte keeps ranges of
        # different shards from touching.
        sizes = np.array([shard.content_bytes for shard in shards], dtype=np.int64)
        block_counts = (sizes + RANGE_COST_BYTES >> BLOCK_BITS) + 1
        self._first_blocks = np.concatenate(([0], np.cumsum(block_counts)))
        self.bases: Int64Array = self._first_blocks << BLOCK_BITS
        super().__init__([shard.content.unchecked.data for shard in shards], self.bases[:-1])
        self._shards = shards
        # A shard in memory has nothing to check, and another corpus may have checked all of one.
        is_incomplete = np.array([not shard.content.is_complete for shard in shards], dtype=np.bool_)
        self._is_unchecked = np.repeat(is_incomplete, block_counts)
        # The gap may take a block of its own, which has nothing to check.
        self._is_unchecked[self._first_blocks[1:] - 1] &= block_counts << BLOCK_BITS < sizes + BLOCK_BYTES
        self.is_complete = not self._is_unchecked.any()

    def check(self, ranges: Int64Array) -> None:
        """Compare the blocks of ranges with their checksums, if they weren't read before; raises `IndexDamaged`."""
        if self.is_complete:
            return
        blocks = self._unchecked_blocks(ranges)
        if len(blocks):
            self._check_blocks(blocks)

    def check_early(self, ranges: Int64Array, limit_bytes: int) -> None:
        """Do the same, but nothing if that would read more than a limit; raises `IndexDamaged`.

        If all shards together are below the limit, those of the ranges are checked as a whole: later searches would
        read most of them anyway.
        """
        if self.is_complete:
            return
        blocks = self._unchecked_blocks(ranges)
        if not len(blocks):
            return
        if self.bases[-1] <= limit_bytes:
            shards = np.flatnonzero(np.bincount(self._first_blocks.searchsorted(blocks, side="right") - 1))
            blocks = self._unchecked_blocks(np.stack((self.bases[shards], self.bases[shards + 1]), axis=1))
            # Each search looks into the lists of windows and the newlines of many shards, a fourth of the bytes of the
            # text, and need not ask again for each of them.
            for shard in map(self._shards.__getitem__, shards.tolist()):
                shard.newlines.check(0, len(shard.newlines))
                if not isinstance(shard, LooseShard):
                    windows = shard.postings.windows.items
                    windows.check(0, len(windows))
        if len(blocks) << BLOCK_BITS <= limit_bytes:
            self._check_blocks(blocks)

    def _unchecked_blocks(self, ranges: Int64Array) -> Int64Array:
        """Return the blocks of ranges that were not checked, ascending."""
        first, last = ranges[:, 0] >> BLOCK_BITS, ranges[:, 1] - 1 >> BLOCK_BITS
        is_unchecked = self._is_unchecked
        # Nearly all searches read units of 16 KiB, which lie in one or two blocks.
        if (last - first < 2).all() and not (is_unchecked[first] | is_unchecked[last]).any():
            return _NO_BLOCKS

        # Where a range begins and ends, the number of ranges over a block changes: their sums are those numbers.
        changes = np.bincount(first, minlength=len(is_unchecked) + 1)
        changes -= np.bincount(last + 1, minlength=len(changes))
        return np.flatnonzero((np.cumsum(changes[:-1]) > 0) & is_unchecked)

    def _check_blocks(self, blocks: Int64Array) -> None:
        bounds = blocks.searchsorted(self._first_blocks).tolist()
        for shard, base, start, end in zip(self._shards, self._first_blocks.tolist(), bounds, bounds[1:], strict=False):
            for number in (blocks[start:end] - base).tolist():
                offset = number << BLOCK_BITS
                shard.content.check(offset, min(offset + BLOCK_BYTES, shard.content_bytes))

        self._is_unchecked[blocks] = False
        self.is_complete = not self._is_unchecked.any()


class MappedFiles:
    """The files that a corpus maps: one that becomes shorter would end the process that reads its lost bytes."""

    def __init__(self, files: Iterable[object]) -> None:
        self._files = [file for file in files if isinstance(file, SectionFile)]
        self._checked_s = -math.inf
        # Watches of a few files would be used up by the corpora of single repositories.
        self._watch = FileWatch() if len(self._files) >= _MIN_WATCHED_FILES else None

    def check_sizes(self) -> None:
        """Raise `IndexDamaged` when a file has been truncated."""
        now_s = time.monotonic()
        if now_s - self._checked_s < _SIZES_VALID_S:
            return

        # One call where the kernel reports changes, and otherwise one for each file.
        watch = self._watch
        if watch is None or not watch.is_quiet:
            for file in self._files:
                if file.map.size() < file.size:
                    file.check_size()
            if watch is not None:
                watch.note_calm(lambda: [str(file.path) for file in self._files], self._have_sizes)
        self._checked_s = now_s

    def _have_sizes(self) -> bool:
        return all(file.map.size() >= file.size for file in self._files)
