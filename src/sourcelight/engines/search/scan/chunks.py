"""Chunks: matched lines with the lines around them, neighbours merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.text import binary_of, column, texts_of

Places = NDArray[np.int64]

_CUT_MARK = b"...truncated"


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks of some rows: which one each row is in, their texts, and where they begin in their files."""

    number: Places
    strings: Any
    line: Places
    offset: Places
    cut: NDArray[np.bool_]


def chunks_of(
    fleet: Corpus, line: Places, file: Places, documents: Places, context_lines: int, max_line_len: int
) -> Chunks:
    """Find the chunks for rows on the given lines; `file` says which of the `documents` each row is in.

    Two chunks of a file whose lines touch or overlap are one. The text has no newline after its last line.
    """
    document = documents[file]
    first_line = fleet.doc_line[document]
    last_line = _last_lines(fleet, documents)[file]
    low = np.maximum(line - context_lines, first_line)
    high = np.minimum(line + context_lines, last_line)
    fresh = np.ones(len(line), dtype=np.bool_)
    fresh[1:] = (file[1:] != file[:-1]) | (low[1:] > high[:-1] + 1)
    heads = np.flatnonzero(fresh)
    number = np.cumsum(fresh) - 1
    low = low[heads]
    high = high[np.append(heads[1:], len(line)) - 1]
    # Documents may come in any order: what is looked up and copied must ascend.
    order = np.argsort(low, kind="stable")
    begin, stop = np.empty(len(low), dtype=np.int64), np.empty(len(low), dtype=np.int64)
    begin[order] = fleet.bounds_of(low[order])[0]
    stop[order] = _stops(fleet, high[order])
    strings = _strings(fleet, begin, stop)
    cut = np.zeros(len(heads), dtype=np.bool_)
    if max_line_len > 0:
        strings, cut = _cut(fleet, strings, low, high, max_line_len)
    offset = begin - fleet.doc_start[document[heads]]
    return Chunks(number, strings, low - first_line[heads] + 1, offset, cut)


def _last_lines(fleet: Corpus, documents: Places) -> Places:
    ends = fleet.doc_start[documents] + fleet.doc_size[documents] - 1
    order = np.argsort(ends, kind="stable")
    found = np.empty(len(ends), dtype=np.int64)
    found[order] = fleet.lines_of(ends[order])
    return found


def _stops(fleet: Corpus, lines: Places) -> Places:
    order = np.argsort(lines, kind="stable")
    found = np.empty(len(lines), dtype=np.int64)
    found[order] = fleet.bounds_of(lines[order])[1]
    return found


def _strings(fleet: Corpus, begin: Places, stop: Places) -> Any:
    """The texts of chunks; those of files with one content may be the same, or overlap."""
    if bool((begin[1:] >= stop[:-1]).all()):
        return texts_of(binary_of(stop - begin, fleet.data(begin, stop))).strings
    pieces = fleet.buffers.slices(np.stack((begin, stop), axis=1))
    return texts_of(binary_of(stop - begin, b"".join(pieces))).strings


def chunk_columns(chunks: Chunks, valid: NDArray[np.bool_] | None) -> dict[str, Any]:
    """Make the chunk columns of all rows; only those that are `valid` (None: all) are in a chunk."""
    import pyarrow as pa

    number = chunks.number
    if valid is not None:
        number = np.zeros(len(valid), dtype=np.int64)
        number[valid] = chunks.number
    return {
        "chunk": pa.DictionaryArray.from_arrays(column(number.astype(np.int32), valid), chunks.strings),
        "chunk_line_number": column(chunks.line[number].astype(np.int32), valid),
        "chunk_offset": column(chunks.offset[number].astype(np.int64), valid),
        "truncated": column(chunks.cut[number], valid),
    }


def _cut(fleet: Corpus, strings: Any, low: Places, high: Places, max_line_len: int) -> tuple[Any, NDArray[np.bool_]]:
    import pyarrow as pa

    texts: list[str | None] = []
    cut = np.zeros(len(low), dtype=np.bool_)
    for at, (first, last) in enumerate(zip(low.tolist(), high.tolist(), strict=True)):
        begin, stop = fleet.bounds_of(np.arange(first, last + 1))
        if int((stop - begin).max()) <= max_line_len:
            texts.append(None)
            continue
        cut[at] = True
        lines = [bytes(piece) for piece in fleet.buffers.slices(np.stack((begin, stop), axis=1))]
        texts.append(b"\n".join(cut_line(line, max_line_len) for line in lines).decode(errors="replace"))
    if not cut.any():
        return strings, cut
    whole = strings.to_pylist()
    return pa.array([old if new is None else new for old, new in zip(whole, texts, strict=True)], pa.string()), cut


def cut_line(line: bytes, size: int) -> bytes:
    """Cut a line to `size` bytes, the mark that says so included where there is room for it."""
    if len(line) <= size:
        return line
    return line[: size - len(_CUT_MARK)] + _CUT_MARK if size >= len(_CUT_MARK) else line[:size]
