"""The cells of matched lines on the wire: the key ``cells`` of a file or a commit, beside its lines or chunks.

The wire reference knows no cells, and readers of it ignore keys that they don't know. The key has one entry for each
matched line of the file, in their order: ``[cell, kind, line in the cell]``, or null for a line in no cell. It stands
only where a line is in a cell. A commit has it for the matched lines of its diff.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import AnyArray
from sourcelight.core.batches.records import WireCell, WireRecord
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.wire.encode import dump

CellEntry: TypeAlias = tuple[int, str, int]

CELL_KEY = "cells"
_COLUMNS = ("cell", "cell_kind", "cell_line")


def cell_entries(rows: MatchRows) -> list[CellEntry | None] | None:
    """Return the entry of each row; None where no row is in a cell."""
    if "cell" not in rows or rows.batch.column("cell").null_count == len(rows):
        return None
    columns = [rows.batch.column(name).to_pylist() for name in _COLUMNS]
    return [None if entry[0] is None else entry for entry in zip(*columns, strict=True)]


def file_payloads(entries: Sequence[CellEntry | None], bounds: Sequence[tuple[int, int]]) -> list[bytes]:
    """Return the value of the key for each file, whose rows are given; empty for a file without cells."""
    return [dump(entries[start:end]) if any(entries[start:end]) else b"" for start, end in bounds]


class CellColumns:
    """Collects the cells of records, and gives the columns of their rows."""

    def __init__(self) -> None:
        self._cells: list[Sequence[WireCell | None] | None] = []
        self._has_any = False

    def add(self, records: Sequence[WireRecord]) -> None:
        """Add `records`."""
        self._cells += [record.cells for record in records]
        self._has_any = self._has_any or any(record.cells for record in records)

    def columns(self, take: AnyArray, order: AnyArray | None = None) -> dict[str, Any]:
        """Return the columns for rows whose records are `take`, ascending; none where no record has cells.

        `order`: the place of each row among those that the service sent, where these were sorted.
        """
        if not self._has_any:
            return {}
        entries: list[WireCell | None] = []
        for cells, count in zip(self._cells, np.bincount(take, minlength=len(self._cells)).tolist(), strict=True):
            # A list of another length belongs to other lines than those that were sent.
            entries += cells if cells is not None and len(cells) == count else [None] * count
        if order is not None:
            entries = [entries[row] for row in order.tolist()]
        values = zip(*(entry or (None, None, None) for entry in entries), strict=True)
        types = ("int32", "dict8", "int32")
        return {
            name: pa.array(column, arrow_type(kind)) for name, column, kind in zip(_COLUMNS, values, types, strict=True)
        }
