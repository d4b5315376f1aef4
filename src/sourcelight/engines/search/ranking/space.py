"""The chunks that are ranked: those of the files of a revision, found from the chunks of the tables beside its shards.

Numbers run over all chunks of all files of all targets, file by file. Where a revision holds all documents of a shard
once, the numbers of a table are those of the space, moved by a constant; else they are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.ranking.paths import PathWords, path_words
from sourcelight.engines.search.ranking.table import TermsTable
from sourcelight.engines.search.ranking.terms_files import Opened

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Piece:
    """The chunks of one shard of one target.

    Attributes
    ----------
    target
        Place of the target.
    table
        The table they stand in.
    files
        The files of the view that have chunks here, in order of documents.
    first
        Number of the first chunk of each of `files`, within this piece; one more at the end.
    source
        The chunk of the table of each chunk; None: the same number.
    length
        Terms in each chunk.
    file_of
        Place in `files` of each chunk's file.
    file_length
        Terms in each of `files`.
    by_file, by_file_place
        `files` ascending, and their places in `files`.
    """

    target: int
    table: TermsTable
    files: Numbers
    documents: Numbers
    first: Numbers
    source: Numbers | None
    length: NDArray[Any]
    file_of: Numbers
    total_length: int
    file_length: NDArray[np.float64]
    by_file: Numbers
    by_file_place: Numbers

    @property
    def chunks(self) -> int:
        """How many chunks."""
        return int(self.first[-1])

    def numbers(self, held: NDArray[Any]) -> tuple[Numbers, Numbers | None]:
        """Turn chunks of the table into numbers of this piece, ascending, and the places they came from.

        The second is None where every chunk is here once.
        """
        if self.source is None:
            return held.astype(np.int64), None
        document = self.table.chunk_doc[held]
        low = np.searchsorted(self.documents, document, side="left")
        count = np.searchsorted(self.documents, document, side="right") - low
        total = int(count.sum())
        place = np.repeat(np.arange(len(held)), count)
        file = np.arange(total) + np.repeat(low - (np.cumsum(count) - count), count)
        number = self.first[file] + held[place] - self.table.doc_chunk[document[place]].astype(np.int64)
        order = np.argsort(number, kind="stable")
        return number[order], place[order]


def _piece(target: int, opened: Opened, shard: int, mask: Mask | None) -> Piece | None:
    table = opened.terms[shard]
    if table is None:
        return None
    placed = opened.snapshot.placement(shard)
    files, documents = placed.files.astype(np.int64), placed.documents.astype(np.int64)
    if mask is not None:
        files, documents = files[mask[files]], documents[mask[files]]
    bounds = table.doc_chunk.astype(np.int64)
    counts = bounds[documents + 1] - bounds[documents]
    some = counts > 0
    files, documents, counts = files[some], documents[some], counts[some]
    if not len(files):
        return None
    first = np.concatenate(([0], np.cumsum(counts)))
    same = int(first[-1]) == table.chunks and bool(np.all(documents[1:] > documents[:-1]))
    source = None
    if not same:
        source = np.arange(int(first[-1])) + np.repeat(bounds[documents] - first[:-1], counts)
    length = table.length if source is None else table.length[source]
    file_of = np.repeat(np.arange(len(files)), counts)
    order = np.argsort(files, kind="stable")
    total = int(length.sum(dtype=np.int64))
    lengths = np.add.reduceat(length, first[:-1], dtype=np.float64)
    return Piece(target, table, files, documents, first, source, length, file_of, total, lengths, files[order], order)


@dataclass(frozen=True, slots=True)
class Space:
    """All chunks that are ranked, in pieces. `chunk_base` and `file_base` are where each piece begins, and the end."""

    opened: Sequence[Opened]
    masks: Sequence[Mask | None]
    pieces: Sequence[Piece]
    chunk_base: Sequence[int]
    file_base: Sequence[int]
    words: Sequence[PathWords]
    mean_length: float

    @property
    def chunks(self) -> int:
        """How many chunks."""
        return self.chunk_base[-1]

    @property
    def files(self) -> int:
        """How many files with chunks."""
        return self.file_base[-1]

    def piece_of_chunk(self, chunk: int) -> int:
        """Give the piece in which a chunk is."""
        return int(np.searchsorted(self.chunk_base, chunk, side="right")) - 1

    def piece_of_file(self, file: int) -> int:
        """Give the piece in which a file is."""
        return int(np.searchsorted(self.file_base, file, side="right")) - 1


def make_space(opened: Sequence[Opened], masks: Sequence[Mask | None]) -> Space:
    """Put together the chunks of targets; `masks` say which files of each count, None for all."""
    pieces: list[Piece] = []
    for target, (each, mask) in enumerate(zip(opened, masks, strict=True)):
        for shard in range(len(each.snapshot.shards)):
            found = _kept(target, each, shard) if mask is None else _piece(target, each, shard, mask)
            if found is not None:
                pieces.append(found)
    chunk_base, file_base = [0], [0]
    for piece in pieces:
        chunk_base.append(chunk_base[-1] + piece.chunks)
        file_base.append(file_base[-1] + len(piece.files))
    total = sum(piece.total_length for piece in pieces)
    mean = total / chunk_base[-1] if chunk_base[-1] else 1.0
    words = [path_words(each.snapshot) for each in opened]
    return Space(opened, masks, pieces, chunk_base, file_base, words, max(mean, 1.0))


def _kept(target: int, opened: Opened, shard: int) -> Piece | None:
    """Make a piece, or give the one made before for the same table."""
    table = opened.terms[shard]
    made: Piece | None = opened.snapshot.remember(
        ("ranking piece", shard, id(table), target), lambda: _piece(target, opened, shard, None)
    )
    return made
