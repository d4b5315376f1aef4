"""Read the cells of files at opened commits, and cache the most recent ones."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from sourcelight.core.caching import LruCache
from sourcelight.core.cells import CellDocument, UnreadableNotebook, format_of, has_cells, read_cells
from sourcelight.core.cells.formats import MAX_BYTES
from sourcelight.core.cells.notebook import quick_text
from sourcelight.core.query.fields import OUTPUT
from sourcelight.engines.search.index.view import REASONS
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.scan.opened_commit import OpenedCommit
from sourcelight.repos import ObjectReader

UNREADABLE = "cells-unreadable"
"""Reason in `SearchPart.skipped` for notebooks that are broken, too large, or none at all."""

MALFORMED = "cells-malformed"
"""Reason in `SearchPart.skipped` for notebooks with unreadable cells."""

UNREAD = frozenset({UNREADABLE, MALFORMED})
"""Reasons whose notices name the files."""

PAIRED = "cells-paired"
"""Reason in `SearchPart.skipped` for notebooks that match in both files of a pair."""

CELL_NOTICES: Mapping[str, tuple[str, str, str, str]] = {
    UNREADABLE: (
        UNREADABLE,
        "files without readable cells",
        "are broken, too large, or notebooks only by name; none of their cells was searched",
        "warn",
    ),
    MALFORMED: (
        MALFORMED,
        "files with malformed cells",
        "have cells that aren't objects, or whose source isn't text; their other cells were searched",
        "warn",
    ),
    PAIRED: (
        PAIRED,
        "paired files",
        "match in a text notebook of the same name, too, so that both rows are one finding; `-file:` leaves one out",
        "info",
    ),
}
"""Texts of the notices about such files: reason, noun, description and severity."""

_CACHE_BYTES = 256 * 1024 * 1024
"""Bytes of cells that stay in memory: about ten thousand notebooks, which are mostly images."""

_TEXT_BYTES = 64 * 1024 * 1024
"""Bytes of text without places that stay in memory, to see that a notebook has no match."""

_UNREADABLE_BYTES = 100
"""Bytes that a file without readable cells takes in the cache."""

CellsOrReason: TypeAlias = CellDocument | str
"""The cells of a file, or the reason why it has none, as a key of `SearchPart.skipped`."""


def _weight(cells: CellsOrReason) -> int:
    if isinstance(cells, str):
        return _UNREADABLE_BYTES
    return _UNREADABLE_BYTES + cells.weight


def _text_weight(text: bytes | None) -> int:
    return _UNREADABLE_BYTES if text is None else _UNREADABLE_BYTES + len(text)


@dataclass(slots=True)
class CellReader:
    """Reads cells by blob, independent of commit and path. Safe to share between threads."""

    _cells: LruCache[tuple[str, str, bool], CellsOrReason] = field(
        default_factory=lambda: LruCache(_CACHE_BYTES, weigh=_weight)
    )
    _texts: LruCache[tuple[str, frozenset[str]], bytes | None] = field(
        default_factory=lambda: LruCache(_TEXT_BYTES, weigh=_text_weight)
    )

    def read(self, target: Target, snapshot: OpenedCommit, file: int, *, with_outputs: bool = True) -> CellsOrReason:
        """Return the cells of a file by its number in the view, or the reason why it has none.

        A notebook above the size limit of the index is read from the repository, up to `MAX_BYTES`.
        """
        key = self._key(snapshot, file, with_outputs=with_outputs)
        cached = self._find(key)
        if cached is not None:
            return cached
        return self._cells.get_or_make(key, lambda: self._read(target, snapshot, file, with_outputs=with_outputs))

    def quick_text(self, target: Target, snapshot: OpenedCommit, file: int, kinds: frozenset[str]) -> bytes | None:
        """Return all lines of some kinds of text, to check that none matches, or None if only `read` can tell."""
        key = self._key(snapshot, file, with_outputs=OUTPUT in kinds)
        if key[1] != "ipynb" or self._find(key) is not None:
            return None

        def make() -> bytes | None:
            data = self._data(target, snapshot, file)
            return None if isinstance(data, str) else quick_text(data, kinds)

        return self._texts.get_or_make((key[0], kinds), make)

    @staticmethod
    def _key(snapshot: OpenedCommit, file: int, *, with_outputs: bool) -> tuple[str, str, bool]:
        return snapshot.view.blob_id(file), format_of(snapshot.view.path(file)), with_outputs

    def _find(self, key: tuple[str, str, bool]) -> CellsOrReason | None:
        cells = self._cells.get(key)
        return self._cells.get((*key[:2], True)) if cells is None else cells

    def _read(self, target: Target, snapshot: OpenedCommit, file: int, *, with_outputs: bool) -> CellsOrReason:
        data = self._data(target, snapshot, file)
        if isinstance(data, str):
            return data
        return _parse(snapshot.view.path(file), data, with_outputs=with_outputs)

    @staticmethod
    def _data(target: Target, snapshot: OpenedCommit, file: int) -> bytes | str:
        """Return the content of a file, or why it can't be read."""
        view = snapshot.view
        indexed = snapshot.text_at(file)
        if indexed is not None:
            return indexed

        reason = REASONS[int(view.reason[file])]
        if reason == "binary" and has_cells(view.path(file)):
            return UNREADABLE  # such as a notebook in UTF-16, which no reader of notebooks opens
        if reason != "too-large":
            return reason
        if int(view.file.array("size")[file]) > MAX_BYTES:
            return UNREADABLE

        with ObjectReader(target.repository) as reader:
            data = next((text for _, text in reader.blobs([bytes.fromhex(view.blob_id(file))])), None)

        return "missing" if data is None else data


def _parse(path: str, data: bytes, *, with_outputs: bool) -> CellsOrReason:
    try:
        return read_cells(path, data, with_outputs=with_outputs)
    except UnreadableNotebook:
        return UNREADABLE
