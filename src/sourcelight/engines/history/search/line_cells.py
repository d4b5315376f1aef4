"""Cells of notebooks with changed lines, for a search that doesn't compare cells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

from sourcelight.core.arrays import Int64Array
from sourcelight.core.batches import arrow_type
from sourcelight.core.caching import LruCache
from sourcelight.core.cells import CellDocument, CellPlace, UnreadableNotebook, format_of, has_cells, read_cells
from sourcelight.core.cells.formats import MAX_BYTES
from sourcelight.core.query.languages import language_of
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import RowPlaces
from sourcelight.repos import ObjectReader, Repository

_READ_BYTES = 32 * 1024 * 1024
"""Bytes of notebooks in which a search looks cells up: 0.3 s of work, as in a search of files."""

_CONTENTS = 16
"""Cached contents: the result of one commit is the input of the next."""

FirstByte: TypeAlias = Callable[[int], int]
"""Returns the byte of a row's line at which its first match starts."""

CellColumns: TypeAlias = Callable[[History, RowPlaces, FirstByte], dict[str, Any]]
"""Returns the columns of cells, and the language of rows in cells; empty without any."""


@dataclass(frozen=True, slots=True)
class _Content:
    document: CellDocument
    line_starts: Int64Array


@dataclass(slots=True)
class LineCells:
    """Looks up cells of changed lines, for all repositories of one search, as far as `_READ_BYTES` reach."""

    _remaining: int = _READ_BYTES
    _contents: LruCache[tuple[bytes, str], _Content | None] = field(default_factory=lambda: LruCache(_CONTENTS))

    def of_repository(self, repository: Repository) -> CellColumns:
        """Return a function that looks up the cells of changed lines in one repository."""
        return partial(self._columns, repository)

    def _columns(
        self, repository: Repository, history: History, rows: RowPlaces, first_byte: FirstByte
    ) -> dict[str, Any]:
        columns = history.changes
        # A removed line is in the old file, under its old name.
        paths = np.where(rows.removed, columns.old_path[rows.changes], columns.path[rows.changes])
        names = {number: history.paths.text(number) for number in np.unique(paths).tolist()}
        if not any(map(has_cells, names.values())):
            return {}

        positions: list[CellPlace | None] = [None] * len(rows.numbers)
        with ObjectReader(repository) as reader:
            for row, path in enumerate(paths.tolist()):
                if not has_cells(names[path]):
                    continue

                blobs = columns.old_blob if rows.removed[row] else columns.new_blob
                content = self._read(reader, blobs[rows.changes[row]].tobytes(), names[path])
                number = int(rows.numbers[row])
                if content is not None and number <= len(content.line_starts):
                    offset = int(content.line_starts[number - 1]) + first_byte(row)
                    positions[row] = content.document.place_at(offset)

        if not any(positions):
            return {}

        file_languages = [language_of(names[path]) for path in paths.tolist()]
        languages = [position and language for position, language in zip(positions, file_languages, strict=True)]
        return {
            "language": pa.array(languages, arrow_type("dict32")),
            "cell": pa.array([position and position.cell for position in positions], arrow_type("int32")),
            "cell_kind": pa.array([position and position.kind for position in positions], arrow_type("dict8")),
            "cell_line": pa.array([position and position.line for position in positions], arrow_type("int32")),
        }

    def _read(self, reader: ObjectReader, blob: bytes, name: str) -> _Content | None:
        key = blob, format_of(name)
        if key in self._contents:
            return self._contents.get(key)

        data = reader.read(blob, MAX_BYTES) if self._remaining > 0 else None
        content = None
        if data is not None:
            self._remaining -= len(data)
            newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
            try:
                content = _Content(read_cells(name, data), np.concatenate(([0], newlines + 1)))
            except UnreadableNotebook:
                content = None

        self._contents.put(key, content)
        return content
