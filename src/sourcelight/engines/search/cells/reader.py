"""Read the cells of files at opened commits, and keep those that were read last."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from sourcelight.core.caching import LruCache
from sourcelight.core.cells import CellDocument, UnreadableNotebook, has_cells, read_cells
from sourcelight.core.cells.formats import MAX_BYTES
from sourcelight.core.query.languages import language_of
from sourcelight.engines.search.index.view import NO_SHARD, REASONS
from sourcelight.engines.search.model import Target
from sourcelight.engines.search.scan.corpus import OpenedCommit
from sourcelight.repos import ObjectReader

UNREADABLE = "cells-unreadable"
"""Reason in `SearchPart.skipped` for notebooks that are broken, too large, or none at all."""

_CACHE_BYTES = 256 * 1024 * 1024
"""Bytes of cells that stay in memory: those of about ten thousand notebooks, which are mostly images."""

_UNREADABLE_BYTES = 100

CellsOrReason: TypeAlias = CellDocument | str
"""The cells of a file, or why it has none, as a key of `SearchPart.skipped`."""


def _weight(cells: CellsOrReason) -> int:
    return _UNREADABLE_BYTES if isinstance(cells, str) else _UNREADABLE_BYTES + cells.weight


@dataclass(slots=True)
class CellReader:
    """Reads cells by blob, whatever commit and path a blob is read at. Safe to share between threads."""

    _known: LruCache[tuple[str, str], CellsOrReason] = field(
        default_factory=lambda: LruCache(_CACHE_BYTES, weigh=_weight)
    )

    def read(self, target: Target, snapshot: OpenedCommit, file: int) -> CellsOrReason:
        """Return the cells of a file of an opened commit, by its number in the view; or why there are none.

        A notebook above the size limit of the index is read from the repository, up to `MAX_BYTES`.
        """
        view = snapshot.view
        path = view.path(file)
        return self._known.get_or_make(
            (view.blob_id(file), _format_of(path)), lambda: self._read(target, snapshot, file, path)
        )

    def parse(self, key: str, path: str, data: bytes) -> CellsOrReason:
        """Return the cells of a content whose blob id is `key`."""
        return self._known.get_or_make((key, _format_of(path)), lambda: _parse(path, data))

    def _read(self, target: Target, snapshot: OpenedCommit, file: int, path: str) -> CellsOrReason:
        view = snapshot.view
        if view.shard[file] != NO_SHARD:
            return _parse(path, snapshot.shards[int(view.shard[file])].text(int(view.document[file])))
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
