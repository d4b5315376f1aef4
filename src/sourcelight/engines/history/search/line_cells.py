"""The cell of each changed line of a notebook, for a search of lines.

Such a search compares the text of files, so a matched line is a line of the notebook's JSON or script. These columns
say in which cell it is. A search that compares cells is in `cells`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from typing import TypeAlias

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
from sourcelight.engines.history.search.tables import Column
from sourcelight.repos import ObjectReader, Repository

_READ_BYTES = 32 * 1024 * 1024
"""Bytes of notebooks in which a search looks cells up: 0.3 s of work, as in a search of files."""

_CONTENTS = 16
"""Cached contents: the result of one commit is the input of the next."""

FirstByte: TypeAlias = Callable[[int], int]
"""Returns the byte of a row's line at which its first match starts."""

CellColumns: TypeAlias = Callable[[History, RowPlaces, FirstByte], dict[str, Column]]
"""Returns the columns of cells, and the language of rows in cells; empty without any."""


@dataclass(frozen=True, slots=True)
class _Content:
    """A notebook that was read, and the byte offset of each of its lines."""

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
    ) -> dict[str, Column]:
        columns = history.changes
        # A removed line is in the old file, under its old name.
        paths = np.where(rows.removed, columns.old_path[rows.changes], columns.path[rows.changes])
        names = {number: history.paths.text(number) for number in np.unique(paths).tolist()}
        if not any(map(has_cells, names.values())):
            return {}

        positions: list[CellPlace | None] = []
        languages: list[str | None] = []
        with ObjectReader(repository) as reader:
            for row, path in enumerate(paths.tolist()):
                position = None
                if has_cells(names[path]):
                    blobs = columns.old_blob if rows.removed[row] else columns.new_blob
                    blob = blobs[rows.changes[row]].tobytes()
                    position = self._find_place(
                        reader,
                        blob,
                        name=names[path],
                        line_number=int(rows.numbers[row]),
                        find_byte=partial(first_byte, row),
                    )

                positions.append(position)
                languages.append(None if position is None else language_of(names[path]))

        if not any(positions):
            return {}

        return {
            "language": pa.array(languages, arrow_type("dict32")),
            "cell": pa.array([position and position.cell for position in positions], arrow_type("int32")),
            "cell_kind": pa.array([position and position.kind for position in positions], arrow_type("dict8")),
            "cell_line": pa.array([position and position.line for position in positions], arrow_type("int32")),
        }

    def _find_place(
        self, reader: ObjectReader, blob: bytes, *, name: str, line_number: int, find_byte: Callable[[], int]
    ) -> CellPlace | None:
        """Return the place in a cell of a byte of a notebook's line.

        None for a line outside of cells, and for a notebook that can't be read or is beyond the limit of a search.
        """
        content = self._read(reader, blob, name)
        if content is None or line_number > len(content.line_starts):
            return None

        line_start = int(content.line_starts[line_number - 1])
        return content.document.place_at(line_start + find_byte())

    def _read(self, reader: ObjectReader, blob: bytes, name: str) -> _Content | None:
        key = blob, format_of(name)
        if key in self._contents:
            return self._contents.get(key)

        data = None
        if self._remaining > 0:
            data = reader.read(blob, MAX_BYTES)

        content = None
        if data is not None:
            self._remaining -= len(data)
            newlines = np.flatnonzero(np.frombuffer(data, np.uint8) == ord("\n"))
            with suppress(UnreadableNotebook):
                content = _Content(read_cells(name, data), np.concatenate(([0], newlines + 1)))

        self._contents.put(key, content)
        return content
