"""The cells that lines of notebooks are in, for a search of whole files: its rows stay, and get three more columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from sourcelight.core.batches.raw_matches import RawMatches
from sourcelight.core.batches.rows import MatchRows
from sourcelight.core.batches.schema import arrow_type
from sourcelight.core.cells import CellDocument

_ENDINGS = (".ipynb", ".qmd", ".rmd")
_RAW_ENDINGS = tuple(ending.encode() for ending in _ENDINGS)

CellsOf: TypeAlias = Callable[[str, str, str], CellDocument | None]
"""Returns the cells of a file by repository, revision and path; None for a file without cells."""


def add_cells(batch: Any, cells_of: CellsOf) -> Any:
    """Return a batch with ``cell``, ``cell_kind`` and ``cell_line`` where lines of notebooks matched.

    The cell is that of the first match of a line that is in the source or the output of one. A batch without notebooks
    is returned as it is.
    """
    import pyarrow as pa

    if isinstance(batch, RawMatches):
        if not any(path[-6:].lower().endswith(_RAW_ENDINGS) for path in batch.paths):
            return batch
        batch = batch.batch
    rows = MatchRows(batch)
    if "line_offset" not in rows or "cell" in rows or not len(rows):
        return batch
    paths = rows.column("path")
    if not any((path or "")[-6:].lower().endswith(_ENDINGS) for path in paths.dictionary.to_pylist()):
        return batch
    entries: list[tuple[int, str, int] | tuple[None, None, None]] = [(None, None, None)] * len(rows)
    counts, byte_starts = rows.lists("byte_start")
    ends = counts.cumsum().tolist()
    offsets = rows.numbers("line_offset").tolist()
    for first, last in rows.files():
        path = rows.text("path", first)
        if not path.lower().endswith(_ENDINGS) or rows.text("type", first) != "content":
            continue
        cells = cells_of(rows.text("repository", first), rows.text("revision", first), path)
        if cells is None:
            continue
        for row in range(first, last):
            starts = byte_starts[ends[row] - int(counts[row]) : ends[row]].tolist()
            positions = (place_at(cells, offsets[row] + start) for start in starts)
            entries[row] = next(filter(None, positions), entries[row])
    if all(entry[0] is None for entry in entries):
        return batch
    for name, kind, values in zip(
        ("cell", "cell_kind", "cell_line"), ("int32", "dict8", "int32"), zip(*entries, strict=True), strict=True
    ):
        batch = batch.append_column(pa.field(name, arrow_type(kind)), pa.array(values, arrow_type(kind)))
    return batch


def place_at(cells: CellDocument, offset: int) -> tuple[int, str, int] | None:
    """Return number and kind of the cell at a byte of the file, and the line in it; None for a byte of no cell."""
    position = cells.text_at(offset)
    if position is None:
        return None
    text, fragment = position
    return text.cell, text.kind, text.line_at(fragment, offset) + 1
