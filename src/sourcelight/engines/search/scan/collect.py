"""Matching files of several shards and repositories made one record batch, in the order in which they are shown.

A batch costs about the same whether it holds three rows or three thousand, so what is found in one place waits a
moment for what is found in the next. Rows of type ``content`` and ``path`` stand together in a batch: a row of a path
has no line.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.batches.raw_matches import RawMatches
from sourcelight.engines.search.model import SearchOptions
from sourcelight.engines.search.scan.chunks import Chunks, chunk_columns, chunks_of
from sourcelight.engines.search.scan.columns import (
    BatchSource,
    CollectedBatches,
    FilePlace,
    data_of,
    found_lines,
    name_columns,
    where_columns,
)
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.evaluate import FileMatches, runs
from sourcelight.engines.search.scan.spans import NO_ROWS, MatchedLines, rows_of, rows_together
from sourcelight.engines.search.scan.text import binary_of, code_points, column, texts_of

Places = NDArray[np.int64]

_MOST_ROWS = 8192
_MOST_BYTES = 1 << 20

_NONE = np.zeros(0, dtype=np.int64)
_BOTH = ("content", "path")


@dataclass(slots=True)
class _Piece:
    """A `FileMatches` with its rows grouped: rows of content file *i* are ``low[i]:low[i] + lengths[i]``.

    `files` are all its files in the order shown; `content` says which of its content files each one is, -1 for a
    path.
    """

    files: Places
    content: Places
    rows: MatchedLines | None
    row_document: Places
    documents: Places
    low: Places
    lengths: Places
    size: int

    def match_counts(self) -> Places:
        """How many matches each file has, in the order of `files`; 1 for a path."""
        counts = np.ones(len(self.files), dtype=np.int64)
        if self.rows is not None:
            total = np.concatenate(([0], np.cumsum(self.rows.count)))
            in_content = self.content >= 0
            held = self.content[in_content]
            counts[in_content] = total[self.low[held] + self.lengths[held]] - total[self.low[held]]
        return counts


class MatchCollector:
    """Takes what is found in a source, and gives batches; files come in order of their numbers if so asked.

    `released` counts the matches of all files that were not held back.
    """

    def __init__(self, source: BatchSource, options: SearchOptions) -> None:
        self._source = source
        self._options = options
        self._ready: list[tuple[_Piece, Places]] = []
        self._late: list[_Piece] = []
        self._late_files, self._late_piece, self._late_at, self._late_matches = _NONE, _NONE, _NONE, _NONE
        self.released = 0
        self.matches = self.files = 0
        self._rows = self._bytes = 0

    @property
    def any(self) -> bool:
        """Whether a batch can be had."""
        return bool(self._ready)

    @property
    def full(self) -> bool:
        """Whether a batch has the size that is worth its cost."""
        return self._rows >= _MOST_ROWS or self._bytes >= _MOST_BYTES

    def add(self, found: FileMatches) -> int:
        """Take what was found, and tell how many matches it is."""
        size = len(found.content_files) + len(found.path_files)
        if not size:
            self.release(found.settled)
            return 0
        piece = self._piece(found)
        counts = piece.match_counts()
        matches = int(counts.sum())
        self.matches += matches
        self.files += size
        everything = np.arange(size)
        if not self._options.in_path_order or (not self._late and int(piece.files[-1]) < found.settled):
            self._take(piece, everything, matches)
            return matches
        self._late.append(piece)
        self._late_files = np.concatenate((self._late_files, piece.files))
        self._late_piece = np.concatenate((self._late_piece, np.full(size, len(self._late) - 1)))
        self._late_at = np.concatenate((self._late_at, everything))
        self._late_matches = np.concatenate((self._late_matches, counts))
        self.release(found.settled)
        return matches

    def last_needed(self, matches: int) -> int | None:
        """The number of the file that completes so many `matches` in order; None while there are fewer.

        Files held back that stand after it are forgotten: they can't be among the first ones any more.
        """
        if self.released + int(self._late_matches.sum()) < matches:
            return None
        order = np.argsort(self._late_files, kind="stable")
        total = self.released + np.cumsum(self._late_matches[order])
        kept = order[: int(total.searchsorted(matches)) + 1]
        last = int(self._late_files[kept[-1]]) if len(kept) else None
        dropped = np.delete(np.arange(len(order)), kept)
        self.matches -= int(self._late_matches[dropped].sum())
        self.files -= len(dropped)
        pieces, self._late_piece = np.unique(self._late_piece[kept], return_inverse=True)
        self._late = [self._late[at] for at in pieces.tolist()]
        self._late_files, self._late_at = self._late_files[kept], self._late_at[kept]
        self._late_matches = self._late_matches[kept]
        return last

    def settle(self) -> None:
        """Hold nothing back: no further file comes."""
        self.release(None)

    def release(self, below: int | None) -> None:
        """Let go of the files below a number (None: of all), in their order; neighbours of one piece together."""
        if not self._late:
            return
        order = np.argsort(self._late_files, kind="stable")
        files, piece, at = self._late_files[order], self._late_piece[order], self._late_at[order]
        counts = self._late_matches[order]
        end = len(files) if below is None else int(files.searchsorted(below))
        cuts = np.flatnonzero(piece[1:end] != piece[: max(end - 1, 0)]) + 1
        for chosen in np.split(np.arange(end), cuts):
            if len(chosen):
                self._take(self._late[int(piece[chosen[0]])], at[chosen], int(counts[chosen].sum()))
        self._late_files, self._late_piece, self._late_at = files[end:], piece[end:], at[end:]
        self._late_matches = counts[end:]
        if not len(self._late_files):
            self._late = []

    def _take(self, piece: _Piece, chosen: Places, matches: int) -> None:
        if len(chosen):
            self.released += matches
            self._ready.append((piece, chosen))
            share = len(chosen) / len(piece.files)
            self._rows += len(chosen) if piece.rows is None else max(len(chosen), int(len(piece.rows) * share))
            self._bytes += int(piece.size * share)

    def _piece(self, found: FileMatches) -> _Piece:
        if not self._options.lines:
            return _paths(np.sort(np.concatenate((found.content_files, found.path_files))))
        if not len(found.content_files):
            return _paths(found.path_files)
        fleet = self._source.fleet
        rows = rows_of(fleet, found.hits)
        row_document = fleet.docs_of(rows.begin)
        documents = found.documents
        low = row_document.searchsorted(documents)
        lengths = row_document.searchsorted(documents, side="right") - low
        files = found.content_files
        content = np.arange(len(files))
        if len(found.path_files):
            files = np.concatenate((files, found.path_files))
            content = np.concatenate((content, np.full(len(found.path_files), -1)))
            order = np.argsort(files, kind="stable")
            files, content = files[order], content[order]
        size = int((rows.stop - rows.begin).sum())
        return _Piece(files, content, rows, row_document, documents, low, lengths, size)

    def rendered(self) -> CollectedBatches:
        """Give what is ready as a batch, and forget it."""
        ready, self._ready = self._ready, []
        matches, files = self.matches, self.files
        self.matches = self.files = self._rows = self._bytes = 0
        if not ready:
            return CollectedBatches((), matches, files)
        piece, chosen = _united(ready)
        if self._options.unmade and not self._options.chunk_matches:
            return CollectedBatches((self._unmade(piece, chosen),), matches, files)
        return CollectedBatches((self._made(piece, chosen),), matches, files)

    def _made(self, piece: _Piece, chosen: Places | None) -> Any:
        """Make a record batch of the chosen files of a piece."""
        import pyarrow as pa

        part = self._part(piece, chosen)
        place = FilePlace(self._source, part.files, part.lengths)
        if part.rows:
            kind = None if part.in_content.all() else np.repeat(~part.in_content, part.lengths).astype(np.int8)
            columns = where_columns(place, *_named(kind))
            columns |= _lines(part, None if kind is None else kind == 0)
        else:
            columns = where_columns(place, _BOTH[1:], None)
            columns["match_count"] = column(np.ones(len(place.files), dtype=np.int32))
        columns |= name_columns(place)
        return pa.RecordBatch.from_pydict(columns)

    def _unmade(self, piece: _Piece, chosen: Places | None) -> RawMatches:
        """Give the chosen files of a piece as they are; their columns are made when somebody asks."""
        files, in_content, lengths, _, order = _chosen_rows(piece, chosen)
        rows = NO_ROWS if piece.rows is None else piece.rows
        if order is not None:
            rows = rows.taken(order)
        place = FilePlace(self._source, files, lengths)
        return found_lines(place, in_content, rows, lambda: self._made(piece, chosen))

    def _part(self, piece: _Piece, chosen: Places | None) -> _BatchPart:
        """Take the chosen files of a piece, in that order; None for all as they are."""
        files, in_content, all_lengths, held, order = _chosen_rows(piece, chosen)
        part = _BatchPart(files, all_lengths, in_content)
        if piece.rows is None:
            return part
        lengths = piece.lengths[held]
        fleet = self._source.fleet
        if len(held):
            part.fill(fleet, piece.rows, piece.row_document, order)
        if self._options.chunk_matches and part.rows:
            file = np.repeat(np.arange(len(held)), lengths)
            line = piece.rows.line if order is None else piece.rows.line[order]
            limits = (self._options.context_lines, self._options.max_line_len)
            part.chunks = chunks_of(fleet, line, file, piece.documents[held], *limits)
        return part


def _chosen_rows(
    piece: _Piece, chosen: Places | None
) -> tuple[Places, NDArray[np.bool_], Places, Places, Places | None]:
    """The chosen files, which have lines, how many rows each has, those with lines, and the order of rows if it is new.

    None for all as they are.
    """
    files, content = (piece.files, piece.content) if chosen is None else (piece.files[chosen], piece.content[chosen])
    in_content = content >= 0
    if piece.rows is None:
        return files, in_content, np.ones(len(files), dtype=np.int64), _NONE, None
    held = content if in_content.all() else content[in_content]
    low, lengths = piece.low[held], piece.lengths[held]
    all_lengths = lengths
    if len(held) != len(content):
        all_lengths = np.ones(len(content), dtype=np.int64)
        all_lengths[in_content] = lengths
    wanted = runs(low, lengths)
    in_order = len(wanted) == len(piece.rows) and bool((wanted[1:] > wanted[:-1]).all())
    return files, in_content, all_lengths, held, None if in_order else wanted


def _united(ready: list[tuple[_Piece, Places]]) -> tuple[_Piece, Places | None]:
    """One piece of all that is ready, and which of its files are shown, in order; None for all as they are."""
    if len(ready) == 1:
        piece, chosen = ready[0]
        return piece, None if len(chosen) == len(piece.files) else chosen
    numbers = {id(piece): number for number, piece in enumerate({id(piece): piece for piece, _ in ready}.values())}
    pieces: list[_Piece] = list({id(piece): piece for piece, _ in ready}.values())
    first_file = _before([len(piece.files) for piece in pieces])
    chosen = np.concatenate([chosen + first_file[numbers[id(piece)]] for piece, chosen in ready])
    files = np.concatenate([piece.files for piece in pieces])
    if all(piece.rows is None for piece in pieces):
        return _paths(files), chosen
    first_content = _before([len(piece.low) for piece in pieces])
    content = [np.where(p.content < 0, -1, p.content + at) for p, at in zip(pieces, first_content, strict=True)]
    first_row = _before([0 if piece.rows is None else len(piece.rows) for piece in pieces])
    low = np.concatenate([piece.low + at for piece, at in zip(pieces, first_row, strict=True)])
    row_document, documents, lengths = (
        np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("row_document", "documents", "lengths")
    )
    rows = rows_together([piece.rows for piece in pieces if piece.rows is not None])
    size = sum(piece.size for piece in pieces)
    return _Piece(files, np.concatenate(content), rows, row_document, documents, low, lengths, size), chosen


def _before(sizes: list[int]) -> list[int]:
    return [0, *accumulate(sizes)][:-1]


class _BatchPart:
    """What is made of pieces; without rows it is paths alone."""

    def __init__(self, files: Places, lengths: Places, in_content: NDArray[np.bool_]) -> None:
        self.files = files
        self.lengths = lengths
        self.in_content = in_content
        self.rows = 0
        self.chunks: Chunks | None = None

    def fill(self, fleet: Corpus, rows: MatchedLines, row_document: Places, order: Places | None) -> None:
        """Take the rows in that order; None for all as they are."""
        begin, stop, line = rows.begin, rows.stop, rows.line
        counts = np.diff(rows.first)
        self.starts, self.ends, self.matches = rows.start, rows.end, rows.count
        if order is not None:
            spans = runs(rows.first[:-1][order], counts[order])
            self.starts, self.ends, self.matches = self.starts[spans], self.ends[spans], self.matches[order]
            begin, stop, line = begin[order], stop[order], line[order]
            counts, row_document = counts[order], row_document[order]
        self.rows = len(begin)
        self.counts = counts
        self.numbers = line - fleet.doc_line[row_document] + 1
        self.offsets = begin - fleet.doc_start[row_document]
        self.texts = texts_of(binary_of(stop - begin, data_of(fleet, begin, stop)))


def _lines(part: _BatchPart, valid: NDArray[np.bool_] | None) -> dict[str, Any]:
    """Make the columns of lines; rows that are not `valid` (None: all are) have none."""
    texts, counts = part.texts, part.counts

    def spread(values: NDArray[Any], kind: Any, fill: int = 0) -> NDArray[Any]:
        if valid is None:
            return values.astype(kind)
        found = np.full(len(valid), fill, dtype=kind)
        found[valid] = values
        return found

    offsets = np.concatenate(([0], np.cumsum(spread(counts, np.int64)))).astype(np.int32)
    byte_start, byte_end = _lists(offsets, part.starts, valid), _lists(offsets, part.ends, valid)
    start, end = byte_start, byte_end
    if len(texts.beyond_ascii):
        row = np.repeat(np.arange(len(counts)), counts)
        start = _lists(offsets, code_points(texts, row, part.starts), valid)
        end = _lists(offsets, code_points(texts, row, part.ends), valid)
    line = texts.strings
    if valid is not None:
        line = line.take(column((np.cumsum(valid) - 1).astype(np.int32), valid))
    columns = {
        "line_number": column(spread(part.numbers, np.int32), valid),
        "line": line,
        "start": start,
        "end": end,
        "match_count": column(spread(part.matches, np.int32, 1)),
        "line_offset": column(spread(part.offsets, np.int64), valid),
        "byte_start": byte_start,
        "byte_end": byte_end,
    }
    return columns | (chunk_columns(part.chunks, valid) if part.chunks is not None else {})


def _paths(files: Places) -> _Piece:
    return _Piece(files, np.full(len(files), -1), None, _NONE, _NONE, _NONE, _NONE, 0)


def _named(kind: NDArray[np.int8] | None) -> tuple[Sequence[str], NDArray[np.int8] | None]:
    """Names of the kinds in order of appearance, and the number of each row's."""
    if kind is None:
        return _BOTH[:1], None
    return (_BOTH[::-1], np.int8(1) - kind) if kind[0] else (_BOTH, kind)


def _lists(offsets: NDArray[np.int32], values: Places, valid: NDArray[np.bool_] | None) -> Any:
    import pyarrow as pa

    inner = column(values.astype(np.int32))
    if valid is None:
        return pa.ListArray.from_arrays(column(offsets), inner)
    mask = pa.py_buffer(np.packbits(valid, bitorder="little"))
    kind = pa.list_(pa.int32())
    return pa.Array.from_buffers(kind, len(valid), [mask, pa.py_buffer(offsets)], children=[inner])
