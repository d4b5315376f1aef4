"""How many units of text a scan takes at once: few at first, more while that is fast."""

from __future__ import annotations

from dataclasses import dataclass, field

# 64 units are about 1 MB: scanned in less than a millisecond, and enough for a first screen of rows.
_FIRST_BATCH_UNITS, _MIN_BATCH_UNITS, _MAX_BATCH_UNITS, _GROWTH = 64, 4, 8192, 4

LAST_BATCH_FACTOR = 2
"""Remaining units, in batches, that are taken at once: a small last batch costs as much as a full one."""

# A search can be stopped only between batches, so a batch should take 50 ms; above 80 ms the next one is smaller.
_TARGET_S, _MAX_BATCH_S = 0.05, 0.08


@dataclass(slots=True)
class BatchSizer:
    """Number of units of the next batch: few at first, four times as many after each fast batch.

    With `expects_one_batch` the first batch is large enough for most searches. A search that has more units starts
    small all the same, and sets `has_many`.
    """

    units: int = field(default_factory=lambda: _FIRST_BATCH_UNITS)
    expects_one_batch: bool = False
    has_many: bool = False

    def start(self, total_units: int) -> None:
        """Set the size of the first batch of a search with `total_units`."""
        if self.expects_one_batch and total_units > LAST_BATCH_FACTOR * self.units:
            self.units, self.has_many = _FIRST_BATCH_UNITS, True
        self.expects_one_batch = False

    def adapt(self, taken_s: float) -> None:
        """Set the size of the next batch from the CPU time of the last one, including its consumer's."""
        if taken_s > _MAX_BATCH_S:
            self.units = max(_MIN_BATCH_UNITS, int(self.units * _TARGET_S / taken_s))
        elif taken_s < _TARGET_S / 2:
            self.units = min(self.units * _GROWTH, _MAX_BATCH_UNITS)
