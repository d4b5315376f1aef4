"""Read the cells of files at opened commits, and keep those that were read last."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

from sourcelight.core.caching import LruCache
from sourcelight.core.cells import CellDocument, UnreadableNotebook, has_cells, read_cells
from sourcelight.core.cells.formats import MAX_BYTES
from sourcelight.core.cells.strings import all_strings
from sourcelight.core.query.languages import language_of
from sourcelight.engines.search.index.view import NO_SHARD, REASONS
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.scan.corpus import OpenedCommit
from sourcelight.repos import ObjectReader

UNREADABLE = "cells-unreadable"
"""Reason in `SearchPart.skipped` for notebooks that are broken, too large, or none at all."""

_CACHE_BYTES = 256 * 1024 * 1024
"""Bytes of cells that stay in memory: those of about ten thousand notebooks, which are mostly images."""

_TEXT_BYTES = 64 * 1024 * 1024
"""Bytes of text without places that stay in memory, to see that a notebook has no match."""

_UNREADABLE_BYTES = 100

MayHold: TypeAlias = Callable[[bytes], bool]
"""Says for lines whether a cell that has some of them may match."""

CellsOrReason: TypeAlias = CellDocument | str
"""The cells of a file, or why it has none, as a key of `SearchPart.skipped`."""


def _weight(cells: CellsOrReason) -> int:
    return _UNREADABLE_BYTES if isinstance(cells, str) else _UNREADABLE_BYTES + cells.weight


def _text_weight(text: bytes | None) -> int:
    return _UNREADABLE_BYTES if text is None else _UNREADABLE_BYTES + len(text)


@dataclass(slots=True)
class CellReader:
    """Reads cells by blob, whatever commit and path a blob is read at. Safe to share between threads."""

    _known: LruCache[tuple[str, str], CellsOrReason] = field(
        default_factory=lambda: LruCache(_CACHE_BYTES, weigh=_weight)
    )
    _texts: LruCache[str, bytes | None] = field(default_factory=lambda: LruCache(_TEXT_BYTES, weigh=_text_weight))

    def read(self, target: Target, snapshot: OpenedCommit, file: int, may_hold: MayHold | None = None) -> CellsOrReason:
        """Return the cells of a file of an opened commit, by its number in the view; or why there are none.

        A notebook above the size limit of the index is read from the repository, up to `MAX_BYTES`. With `may_hold`, a
        notebook that surely has no match may have no cells in the answer.
        """
        view = snapshot.view
        path = view.path(file)
        key = view.blob_id(file), _format_of(path)
        if may_hold is not None and key[1] == "ipynb" and key not in self._known and view.shard[file] != NO_SHARD:
            text = self._texts.get_or_make(key[0], lambda: all_strings(snapshot.text_at(file) or b""))
            if text is not None and not may_hold(text):
                return CellDocument()
        return self._known.get_or_make(key, lambda: self._read(target, snapshot, file, path))

    def _read(self, target: Target, snapshot: OpenedCommit, file: int, path: str) -> CellsOrReason:
        view = snapshot.view
        indexed = snapshot.text_at(file)
        if indexed is not None:
            return _parse(path, indexed)
        reason = REASONS[int(view.reason[file])]
        if reason != "too-large":
            return reason
        if int(view.file.array("size")[file]) > MAX_BYTES:
            return UNREADABLE
        with ObjectReader(target.repository) as reader:
            data = next((text for _, text in reader.blobs([bytes.fromhex(view.blob_id(file))])), None)
        return "missing" if data is None else _parse(path, data)


def _parse(path: str, data: bytes) -> CellsOrReason:
    try:
        return read_cells(path, data)
    except UnreadableNotebook:
        return UNREADABLE


def _format_of(path: str) -> str:
    """Return what decides, beside its content, how a file is read."""
    return path.rpartition(".")[2].lower() if has_cells(path) else language_of(path)
