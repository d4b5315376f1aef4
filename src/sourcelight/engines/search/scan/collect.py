"""Matching files of several shards and repositories made one record batch, in the order in which they are shown.

A batch costs about the same whether it holds three rows or three thousand, so what is found in one place waits a
moment for what is found in the next. Rows of type ``content`` and ``path`` stand together in a batch: a row of a path
has no line.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.index.shard import Shard
from sourcelight.engines.search.model import SearchOptions
from sourcelight.engines.search.scan.chunks import Chunks, chunk_columns, chunks_of
from sourcelight.engines.search.scan.evaluate import Found
from sourcelight.engines.search.scan.render import Place, Rendered, Source, name_columns, runs, where_columns
from sourcelight.engines.search.scan.rows import Rows, rows_of
from sourcelight.engines.search.scan.text import Texts, code_points, column, taken, texts_of

Places = NDArray[np.int64]

_MOST_ROWS = 8192
_MOST_BYTES = 1 << 20
_FEW = 32
"""Lines up to which slices of Python are cheaper than a kernel."""

_NONE = np.zeros(0, dtype=np.int64)
_BOTH = ("content", "path")


@dataclass(slots=True)
class _Piece:
    """A `Found` with its rows grouped: rows of content file *i* are ``low[i]:low[i] + lengths[i]``.

    `files` are all its files in the order shown; `content` says which of its content files each one is, -1 for a
    path.
    """

    source: Source
    files: Places
    content: Places
    shard: Shard | None
    rows: Rows | None
    row_document: Places
    documents: Places
    low: Places
    lengths: Places
    size: int


class Collector:
    """Takes what is found, and gives batches; files of one repository come in order of paths if so asked."""

    def __init__(self, options: SearchOptions) -> None:
        self._options = options
        self._ready: list[tuple[_Piece, Places]] = []
        self._late: list[tuple[int, int, _Piece, int]] = []
        self._number = 0
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

    def add(self, source: Source, found: Found) -> int:
        """Take what was found in a repository, and tell how many matches it is."""
        piece = self._piece(source, found)
        matches = int(np.count_nonzero(piece.content < 0))
        if piece.rows is not None:
            matches += int(piece.rows.count[runs(piece.low, piece.lengths)].sum())
        everything = np.arange(len(piece.files))
        self.matches += matches
        self.files += len(everything)
        if not self._options.in_path_order:
            self._take(piece, everything)
            return matches
        settled = found.settled
        if not self._late and (not len(piece.files) or int(piece.files[-1]) < settled):
            self._take(piece, everything)
            return matches
        self._number += 1
        self._late += [(file, self._number, piece, at) for at, file in enumerate(piece.files.tolist())]
        self._release(settled)
        return matches

    def settle(self) -> None:
        """Hold nothing back: no further file of this repository comes."""
        if self._late:
            self._release(None)

    def _release(self, below: int | None) -> None:
        """Let go of the files below a number, in their order; neighbours of one piece together."""
        self._late.sort()
        end = len(self._late) if below is None else bisect_left(self._late, (below,))
        run: list[int] = []
        former: _Piece | None = None
        for _, _, piece, at in self._late[:end]:
            if former is not None and piece is not former:
                self._take(former, np.array(run))
                run = []
            former = piece
            run.append(at)
        if former is not None:
            self._take(former, np.array(run))
        del self._late[:end]

    def _take(self, piece: _Piece, chosen: Places) -> None:
        if len(chosen):
            self._ready.append((piece, chosen))
            share = len(chosen) / len(piece.files)
            self._rows += len(chosen) if piece.rows is None else max(len(chosen), int(len(piece.rows) * share))
            self._bytes += int(piece.size * share)

    def _piece(self, source: Source, found: Found) -> _Piece:
        shard = found.shard
        if not self._options.lines:
            return _paths(source, np.sort(np.concatenate((found.content_files, found.path_files))))
        if shard is None or not len(found.content_files):
            return _paths(source, found.path_files)
        rows = rows_of(shard, found.hits)
        row_document = shard.docs_of(rows.begin)
        documents = found.documents.astype(np.int64)
        low = row_document.searchsorted(documents)
        lengths = row_document.searchsorted(documents, side="right") - low
        files = found.content_files.astype(np.int64)
        content = np.arange(len(files))
        if len(found.path_files):
            files = np.concatenate((files, found.path_files.astype(np.int64)))
            content = np.concatenate((content, np.full(len(found.path_files), -1)))
            if self._options.in_path_order:
                order = np.argsort(files, kind="stable")
                files, content = files[order], content[order]
        size = int((rows.stop - rows.begin).sum())
        return _Piece(source, files, content, shard, rows, row_document, documents, low, lengths, size)

    def rendered(self) -> Rendered:
        """Give what is ready as a batch, and forget it."""
        import pyarrow as pa

        ready, self._ready = self._ready, []
        matches, files = self.matches, self.files
        self.matches = self.files = self._rows = self._bytes = 0
        if not ready:
            return Rendered((), matches, files)
        parts = [self._part(piece, chosen) for piece, chosen in ready]
        places = [part.place for part in parts]
        if any(part.rows for part in parts):
            kind = _kinds(parts)
            columns = where_columns(places, *_named(kind))
            columns |= self._lines(parts, None if kind is None else kind == 0)
        else:
            columns = where_columns(places, _BOTH[1:], None)
            columns["match_count"] = column(np.ones(sum(len(place.files) for place in places), dtype=np.int32))
        columns |= name_columns(places)
        return Rendered((pa.RecordBatch.from_pydict(columns),), matches, files)

    def _part(self, piece: _Piece, chosen: Places) -> _Part:
        whole = len(chosen) == len(piece.files)
        files, content = (piece.files, piece.content) if whole else (piece.files[chosen], piece.content[chosen])
        if piece.rows is None or piece.shard is None:
            return _Part(Place(piece.source, files, np.ones(len(files), dtype=np.int64)), content)
        in_content = content >= 0
        held = content if in_content.all() else content[in_content]
        low, lengths = piece.low[held], piece.lengths[held]
        all_lengths = lengths
        if len(held) != len(content):
            all_lengths = np.ones(len(content), dtype=np.int64)
            all_lengths[in_content] = lengths
        wanted = runs(low, lengths)
        in_order = len(wanted) == len(piece.rows) and bool((wanted[1:] > wanted[:-1]).all())
        order = None if in_order else wanted
        part = _Part(Place(piece.source, files, all_lengths), content)
        if len(held):
            part.fill(piece.shard, piece.rows, piece.row_document, order)
        if self._options.chunk_matches and part.rows:
            file = np.repeat(np.arange(len(held)), lengths)
            line = piece.rows.line if order is None else piece.rows.line[order]
            limits = (self._options.context_lines, self._options.max_line_len)
            part.chunks = chunks_of(piece.shard, line, file, piece.documents[held], *limits)
        return part

    def _lines(self, parts: list[_Part], valid: NDArray[np.bool_] | None) -> dict[str, Any]:
        """Make the columns of lines; rows that are not `valid` (None: all are) have none."""
        lined = [part for part in parts if part.rows]
        texts = _texts(lined)
        counts = _joined([part.counts for part in lined])
        starts, ends = _joined([part.starts for part in lined]), _joined([part.ends for part in lined])

        def spread(name: str, kind: Any, fill: int = 0) -> NDArray[Any]:
            values = _joined([getattr(part, name) for part in lined]).astype(kind)
            if valid is None:
                return values
            found = np.full(len(valid), fill, dtype=kind)
            found[valid] = values
            return found

        offsets = np.concatenate(([0], np.cumsum(spread("counts", np.int64)))).astype(np.int32)
        byte_start, byte_end = _lists(offsets, starts, valid), _lists(offsets, ends, valid)
        start, end = byte_start, byte_end
        if len(texts.beyond_ascii):
            row = np.repeat(np.arange(len(counts)), counts)
            start = _lists(offsets, code_points(texts, row, starts), valid)
            end = _lists(offsets, code_points(texts, row, ends), valid)
        line = texts.strings
        if valid is not None:
            line = line.take(column((np.cumsum(valid) - 1).astype(np.int32), valid))
        columns = {
            "line_number": column(spread("numbers", np.int32), valid),
            "line": line,
            "start": start,
            "end": end,
            "match_count": column(spread("matches", np.int32, 1)),
            "line_offset": column(spread("offsets", np.int64), valid),
            "byte_start": byte_start,
            "byte_end": byte_end,
        }
        chunks = [part.chunks for part in lined if part.chunks is not None]
        return columns | (chunk_columns(chunks, valid) if chunks else {})


class _Part:
    """What one piece adds to a batch; without rows it is paths alone."""

    def __init__(self, place: Place, content: Places) -> None:
        self.place = place
        self.content = content
        self.rows = 0
        self.chunks: Chunks | None = None

    def fill(self, shard: Shard, rows: Rows, row_document: Places, order: Places | None) -> None:
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
        self.numbers = line - shard.doc_line[row_document] + 1
        self.offsets = begin - shard.doc_start[row_document]
        self.sizes = stop - begin
        self.data = _data(shard, begin, stop)


def _paths(source: Source, files: Places) -> _Piece:
    files = files.astype(np.int64)
    content = np.full(len(files), -1)
    return _Piece(source, files, content, None, None, _NONE, _NONE, _NONE, _NONE, 0)


def _kinds(parts: list[_Part]) -> NDArray[np.int8] | None:
    """For each row whether it is a path; None when none is."""
    if all(len(part.content) and int(part.content.min()) >= 0 for part in parts):
        return None
    return np.concatenate([np.repeat(part.content < 0, part.place.lengths) for part in parts]).astype(np.int8)


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


def _data(shard: Shard, begin: Places, stop: Places) -> Any:
    """The bytes of lines, one after another."""
    if len(begin) <= _FEW:
        content = shard.content
        return b"".join([content[low:high] for low, high in zip(begin.tolist(), stop.tolist(), strict=True)])
    if bool((begin[1:] > begin[:-1]).all()):
        found = taken(shard.arrow_content, begin, stop)
    else:
        needed, back = np.unique(begin, return_inverse=True)
        ends = np.empty(len(needed), dtype=np.int64)
        ends[back] = stop
        found = taken(shard.arrow_content, needed, ends).take(column(back.astype(np.int32)))
    return found.buffers()[2] or b""


def _texts(parts: list[_Part]) -> Texts:
    import pyarrow as pa

    sizes = _joined([part.sizes for part in parts])
    bounds = np.concatenate(([0], np.cumsum(sizes))).astype(np.int32)
    whole = [part.data for part in parts]
    data = whole[0] if len(whole) == 1 else b"".join(whole)
    return texts_of(pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(bounds), pa.py_buffer(data)]))


def _joined(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
