"""Chunks: matched lines with context lines; chunks that touch or overlap are merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from sourcelight.core.arrays import BoolArray, Int64Array, arrow_array
from sourcelight.engines.search.model import LineNumbers
from sourcelight.engines.search.scan.corpus import Corpus
from sourcelight.engines.search.scan.text import arrow_binary, text_column

_TRUNCATION_MARK = b"...truncated"


@dataclass(frozen=True, slots=True)
class Chunks:
    """Chunks of rows: the chunk of each row (`index`), and text, first line and byte offset of each chunk."""

    index: Int64Array
    strings: Any
    line: Int64Array
    offset: Int64Array
    is_truncated: BoolArray


def chunks_of(
    corpus: Corpus, line: LineNumbers, file: Int64Array, documents: Int64Array, context_lines: int, max_line_len: int
) -> Chunks:
    """Make the chunks of rows, whose lines are `line` and whose documents are ``documents[file]``.

    Chunks of a file that touch or overlap are one chunk. Its text has no newline after its last line.
    """
    document = documents[file]
    first_line = corpus.doc_line[document]

    # Looked up per file, then spread over its rows: a file may have thousands.
    last_line = _last_lines(corpus, documents)[file]
    first_chunk_line = np.maximum(line - context_lines, first_line)
    last_chunk_line = np.minimum(line + context_lines, last_line)
    starts_chunk = np.ones(len(line), dtype=np.bool_)

    # Rows of a file ascend, so each row is compared with the one before it alone. With + 1, lines that follow one
    # another are one chunk.
    starts_chunk[1:] = (file[1:] != file[:-1]) | (first_chunk_line[1:] > last_chunk_line[:-1] + 1)
    first_rows = np.flatnonzero(starts_chunk)
    number = np.cumsum(starts_chunk) - 1
    first_chunk_line = first_chunk_line[first_rows]

    # The last row of a chunk reaches furthest down.
    last_chunk_line = last_chunk_line[np.append(first_rows[1:], len(line)) - 1]
    # Rows are in file order, and documents may lie elsewhere; look-ups in the corpus must ascend.
    order = np.argsort(first_chunk_line, kind="stable")
    start, end = np.empty(len(first_chunk_line), dtype=np.int64), np.empty(len(first_chunk_line), dtype=np.int64)
    start[order] = corpus.line_bounds(LineNumbers(first_chunk_line[order]))[0]
    end[order] = _line_ends(corpus, LineNumbers(last_chunk_line[order]))
    strings = _strings(corpus, start, end)
    is_truncated = np.zeros(len(first_rows), dtype=np.bool_)
    if max_line_len > 0:
        strings, is_truncated = _truncate(corpus, strings, first_chunk_line, last_chunk_line, max_line_len)

    offset = start - corpus.doc_start[document[first_rows]]
    return Chunks(number, strings, first_chunk_line - first_line[first_rows] + 1, offset, is_truncated)


def _last_lines(corpus: Corpus, documents: Int64Array) -> Int64Array:
    # The last byte lies on the last line, whether the file ends in a newline or not. Documents are in file order here,
    # and `lines_of` needs ascending offsets: sort, look up, put back.
    ends = corpus.doc_start[documents] + corpus.doc_size[documents] - 1
    order = np.argsort(ends, kind="stable")
    last_lines = np.empty(len(ends), dtype=np.int64)
    last_lines[order] = corpus.lines_of(ends[order])
    return last_lines


def _line_ends(corpus: Corpus, lines: LineNumbers) -> Int64Array:
    order = np.argsort(lines, kind="stable")
    ends = np.empty(len(lines), dtype=np.int64)
    ends[order] = corpus.line_bounds(LineNumbers(lines[order]))[1]
    return ends


def _strings(corpus: Corpus, start: Int64Array, end: Int64Array) -> Any:
    """Return the texts of chunks; chunks of files that share a document may be equal or overlap."""
    # `Corpus.data` copies in C, but only ranges that ascend and stay apart.
    if bool((start[1:] >= end[:-1]).all()):
        return text_column(arrow_binary(end - start, corpus.data(start, end))).strings
    texts = corpus.buffers.slices(np.stack((start, end), axis=1))
    return text_column(arrow_binary(end - start, b"".join(texts))).strings


def chunk_columns(chunks: Chunks, valid: BoolArray | None) -> dict[str, Any]:
    """Make the chunk columns; they are null in rows that are not `valid` (None: all are)."""
    import pyarrow as pa

    number = chunks.index
    if valid is not None:
        # Rows without a line point at chunk 0; the validity bitmap of each column makes them null.
        number = np.zeros(len(valid), dtype=np.int64)
        number[valid] = chunks.index

    return {
        "chunk": pa.DictionaryArray.from_arrays(arrow_array(number.astype(np.int32), valid), chunks.strings),
        "chunk_start_line": arrow_array(chunks.line[number].astype(np.int32), valid),
        "chunk_offset": arrow_array(chunks.offset[number].astype(np.int64), valid),
        "truncated": arrow_array(chunks.is_truncated[number], valid),
    }


def _truncate(
    corpus: Corpus, strings: Any, first_lines: Int64Array, last_lines: Int64Array, max_line_len: int
) -> tuple[Any, BoolArray]:
    import pyarrow as pa

    texts: list[str | None] = []
    is_truncated = np.zeros(len(first_lines), dtype=np.bool_)
    for index, (first, last) in enumerate(zip(first_lines.tolist(), last_lines.tolist(), strict=True)):
        starts, ends = corpus.line_bounds(LineNumbers(np.arange(first, last + 1)))
        if int((ends - starts).max()) <= max_line_len:
            # None: no line of the chunk is too long, so it keeps its text.
            texts.append(None)
            continue
        is_truncated[index] = True
        lines = [bytes(line_text) for line_text in corpus.buffers.slices(np.stack((starts, ends), axis=1))]
        texts.append(b"\n".join(truncate_line(line, max_line_len) for line in lines).decode(errors="replace"))

    if not is_truncated.any():
        return strings, is_truncated

    # Only chunks with a line that is too long are replaced; this path is rare, so it may make Python objects.
    originals = strings.to_pylist()
    return pa.array(
        [original if truncated is None else truncated for original, truncated in zip(originals, texts, strict=True)],
        pa.string(),
    ), is_truncated


def truncate_line(line: bytes, size: int) -> bytes:
    """Truncate a line to `size` bytes, a mark of the truncation included where it fits."""
    if len(line) <= size:
        return line
    if size >= len(_TRUNCATION_MARK):
        return line[: size - len(_TRUNCATION_MARK)] + _TRUNCATION_MARK
    return line[:size]
