"""Blocks of a section: each is compared with its checksum when it is first read.

An index may have gigabytes of text, of which a search for a rare word reads a few kilobytes. To check all of it first
would take seconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

import numpy as np
import xxhash

from sourcelight.core.arrays import AnyArray, Int64Array, UInt8Array

BLOCK_BITS = 16
BLOCK_BYTES = 1 << BLOCK_BITS
"""Bytes of a block. The kernel maps as many around a page that it has in memory, so a smaller block costs no less."""

_ONE_BLOCK_BITS = 62
"""Bits of a number of an item, in a section that is one block."""


def block_checksums(parts: Iterable[memoryview]) -> list[int]:
    """Return the checksums of the blocks of bytes that come in parts."""
    checksums = []
    block, block_size = xxhash.xxh3_64(), 0
    for part in parts:
        start = 0
        while start < len(part):
            end = min(start + BLOCK_BYTES - block_size, len(part))
            block.update(part[start:end])
            block_size += end - start
            start = end
            if block_size == BLOCK_BYTES:
                checksums.append(block.intdigest())
                block, block_size = xxhash.xxh3_64(), 0

    return [*checksums, block.intdigest()] if block_size else checksums


class SectionBlocks:
    """The items of a section, checked by block. Safe to share between threads.

    All methods raise `IndexDamaged` for a block that is damaged.

    Parameters
    ----------
    unchecked
        All items. A reader must check those that it reads; the methods here do so.
    block_count
        The blocks that have to be checked; 1 for a section that is checked as a whole, 0 for one in memory.
    check_block
        Raises `IndexDamaged` if the block of this number is damaged.

    Attributes
    ----------
    is_checked
        1 for each block that was checked.
    is_complete
        Whether all of them were.
    shift
        By how many bits the number of an item is shifted to get that of its block.
    """

    def __init__(
        self, unchecked: AnyArray, block_count: int = 0, check_block: Callable[[int], object] | None = None
    ) -> None:
        self.unchecked = unchecked
        self.is_checked = bytearray(block_count) if check_block is not None else bytearray(b"\1")
        item_bits = unchecked.itemsize.bit_length() - 1
        self.shift = BLOCK_BITS - item_bits if block_count > 1 else _ONE_BLOCK_BITS
        self.is_complete = 0 not in self.is_checked
        self._check_block = check_block
        # The same bytes as an array.
        self._mask: UInt8Array = np.frombuffer(self.is_checked, np.uint8)

    def __len__(self) -> int:
        return len(self.unchecked)

    def check(self, start: int, end: int) -> None:
        """Check the items from `start` up to `end`."""
        if self.is_complete or self._check_block is None:
            return

        is_checked = self.is_checked
        for number in range(start >> self.shift, (end - 1 >> self.shift) + 1):
            if not is_checked[number]:
                self._check_block(number)
                is_checked[number] = 1

        self.is_complete = 0 not in is_checked

    def slice(self, start: int, end: int) -> AnyArray:
        """Return the items from `start` up to `end`, without copying."""
        # Most lists are in one block, which was checked before, and a call for each of them costs more than to read it.
        if not self.is_complete:
            block = start >> self.shift
            if block != end - 1 >> self.shift or not self.is_checked[block]:
                self.check(start, end)
        return self.unchecked[start:end]

    def take(self, positions: Int64Array) -> AnyArray:
        """Return a copy of the items at some positions."""
        if not self.is_complete:
            self._check_at(positions)
        return self.unchecked[positions]

    def find_positions(self, values: AnyArray) -> Int64Array:
        """Return for each value the number of items below it; items ascend without repeats, and have its type."""
        positions = self.unchecked.searchsorted(values)
        if self.is_complete or not len(self.unchecked):
            return positions

        # The search reads items that were not checked, which can mislead it. But if an item that was checked is below
        # the value and the next one isn't, the position is right, whatever the others are.
        last = len(self.unchecked) - 1
        before, after = np.maximum(positions - 1, 0), np.minimum(positions, last)
        is_right = (positions == 0) | (self.take(before) < values)
        is_right &= (positions > last) | (self.take(after) >= values)
        if is_right.all():
            return positions
        self.check(0, len(self.unchecked))
        return self.unchecked.searchsorted(values)

    def _check_at(self, positions: Int64Array) -> None:
        numbers = positions >> self.shift
        unchecked = numbers[self._mask[numbers] == 0]
        if len(unchecked):
            for number in set(unchecked.tolist()):
                start = number << self.shift
                self.check(start, start + 1)
