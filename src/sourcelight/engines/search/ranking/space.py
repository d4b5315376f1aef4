"""The chunks that are ranked: those of the files of a revision, found from the chunks of the tables beside its shards.

Numbers run over all chunks of all files of all targets, file by file. Where a revision holds all documents of a shard
once, the numbers of a table are those of the space, moved by a constant; else they are looked up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.ranking.paths import PathWords, path_words
from sourcelight.engines.search.ranking.table import TermsTable
from sourcelight.engines.search.ranking.terms_files import Opened

Mask = NDArray[np.bool_]
Numbers = NDArray[np.int64]
Floats = NDArray[np.float64]


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
    place
        The first number of each chunk of the table, -1 where it is not here; None: the same number.
    copied
        Which chunks of the table are here more than once; None: none is.
    place_of_file
        Place in `files` of each file of the view, -1 where it has no chunk here.
    norms
        What `norm` gave last, by what it was asked.
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
    file_length: Floats
    place: NDArray[np.int32] | None
    copied: Mask | None
    place_of_file: Numbers
    norms: dict[tuple[float, float, float], tuple[Floats, Floats]] = field(default_factory=dict)

    @property
    def chunks(self) -> int:
        """How many chunks."""
        return int(self.first[-1])

    def numbers(self, held: NDArray[Any]) -> tuple[Numbers, Numbers | None]:
        """Turn chunks of the table into numbers of this piece, ascending, and the places they came from.

        The second is None where every chunk is here once.
        """
        if self.place is None:
            return held.astype(np.int64), None
        number = self.place[held]
        if self.copied is not None:
            copied = self.copied[held].nonzero()[0]
            if len(copied):
                return self._with_copies(held, number, copied)
        some = (number >= 0).nonzero()[0]
        if len(some) == len(number):
            return number.astype(np.int64), None
        return number[some].astype(np.int64), some

    def _with_copies(
        self, held: NDArray[Any], number: NDArray[np.int32], copied: NDArray[np.intp]
    ) -> tuple[Numbers, Numbers]:
        number[copied] = -1
        single = (number >= 0).nonzero()[0]
        document = self.table.chunk_doc[held[copied]]
        low = self.documents.searchsorted(document, side="left")
        count = self.documents.searchsorted(document, side="right") - low
        within = held[copied] - self.table.doc_chunk[document].astype(np.int64)
        file = np.arange(int(count.sum())) + (low - (count.cumsum() - count)).repeat(count)
        numbers = np.concatenate([number[single], self.first[file] + within.repeat(count)])
        order = numbers.argsort(kind="stable")
        return numbers[order], np.concatenate([single, copied.repeat(count)])[order]

    def norm(self, b: float, mean: float, mean_file: float) -> tuple[Floats, Floats]:
        """Give by what the counts of each chunk and of each file are divided: 1 - b + b · length / mean."""
        asked = b, mean, mean_file
        found = self.norms.get(asked)
        if found is None:
            found = (1.0 - b) + (b / mean) * self.length, 1.0 - b + b * self.file_length / mean_file
            self.norms.clear()
            self.norms[asked] = found
        return found


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
    source = place = copied = None
    if not same:
        source = np.arange(int(first[-1])) + np.repeat(bounds[documents] - first[:-1], counts)
        place = np.full(table.chunks, -1, dtype=np.int32)
        place[source[::-1]] = np.arange(len(source) - 1, -1, -1, dtype=np.int32)
        often = np.bincount(source, minlength=table.chunks) > 1
        copied = often if often.any() else None
    length = table.length if source is None else table.length[source]
    file_of = np.repeat(np.arange(len(files)), counts)
    place_of_file = np.full(opened.snapshot.view.files, -1, dtype=np.int64)
    place_of_file[files] = np.arange(len(files))
    total = int(length.sum(dtype=np.int64))
    lengths = np.add.reduceat(length, first[:-1], dtype=np.float64)
    return Piece(
        target, table, files, documents, first, source, length, file_of, total, lengths, place, copied, place_of_file
    )


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
