"""From record batches to the JSON of ``matches`` events, put together from fragments.

The texts of a batch are escaped in one go and cut apart again at a character that JSON never escapes and code hardly
holds; numbers likewise. What is left per row is a place in a list that is joined once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

import numpy as np

from sourcelight.core.batches.codecs import encode_objects
from sourcelight.core.batches.codecs.encode_files import FileEncoder, file_payloads
from sourcelight.core.batches.codecs.few_matches import FewMatchBatch
from sourcelight.core.batches.codecs.raw_matches import RawMatchBatch, can_encode, raw_payloads
from sourcelight.core.batches.events import MatchBatch, RepositoryInfo
from sourcelight.core.batches.rows import MatchRows, boundaries
from sourcelight.core.wire.encode import MAX_EVENT_BYTES, ChunkText, dump

#: Bytes of text after which an event is closed at the next file: small enough to flow, large enough to be cheap.
_TEXT_PER_EVENT = 512 * 1024
_MAX_BYTES = MAX_EVENT_BYTES - 1024
"""Bytes of a payload, with room for the frame of its event."""

# Matches of one line whose ranges (120 bytes each at most) leave room for the shortened line.
_MAX_SPANS = _MAX_BYTES // 480

# A pair of numbers, or a range of a chunk, takes at least this many bytes where there are so many of them.
_MANY_SPANS, _SPAN_BYTES, _RANGE_BYTES = 100_000, 11, 90

_OF_FILES = frozenset({"content", "path"})
"""Types of rows with lines."""


def encode_matches(
    match_batch: MatchBatch,
    repositories: Mapping[str, RepositoryInfo],
    *,
    chunk_text: ChunkText = "both",
    chunk_matches: bool = False,
    diff_type: Literal["diff", "commit"] = "diff",
    symbol_lines: bool = False,
) -> Iterator[bytes]:
    """Yield JSON arrays of matches, each small enough for one event of the stream.

    Parameters
    ----------
    match_batch
        Rows of any kind; rows of one file (commit) are adjacent.
    repositories
        Metadata of each repository by name; a missing repository is sent with its name only.
    chunk_text
        Under which key the text of a chunk travels.
    chunk_matches
        Whether content travels as chunks; else as lines.
    diff_type
        The ``type`` of diff matches.
    symbol_lines
        Whether definitions carry their line.

    Notes
    -----
    A file whose rows don't fit into one event is spread over several. A single line that does not fit is cut, and its
    chunk is marked as truncated; one with too many matches is sent several times, each time with other matches.
    """
    if isinstance(match_batch, FewMatchBatch) and not chunk_matches:
        yield match_batch.few.payload(repositories)
        return

    if isinstance(match_batch, RawMatchBatch) and not chunk_matches and can_encode(match_batch.raw):
        yield from raw_payloads(match_batch.raw, repositories)
        return

    batch = match_batch.batch
    if not batch.num_rows:
        return

    options = encode_objects.EncodeOptions(chunk_text, chunk_matches, diff_type, symbol_lines)
    rows = MatchRows(batch)
    kinds = rows.codes("type")
    for start, end in boundaries(len(kinds), [kinds]):
        yield from _encode_kind(rows.slice(start, end), repositories, options)


def _encode_kind(
    rows: MatchRows, repositories: Mapping[str, RepositoryInfo], options: encode_objects.EncodeOptions
) -> Iterator[bytes]:
    kind = rows.first("type")
    groups = _groups(rows, rows.files())
    if kind in _OF_FILES and not options.chunk_matches and rows.spans() <= _MANY_SPANS:
        payloads = file_payloads(rows, groups, repositories)
        for (start, end), data in zip(groups, payloads, strict=True):
            yield from [data] if len(data) <= _MAX_BYTES else _in_halves(rows.slice(start, end), repositories, options)
        return

    for start, end in groups:
        group = rows.slice(start, end)
        spans = group.spans() if kind == "content" else 0
        if spans > _MANY_SPANS and spans * (_RANGE_BYTES if options.chunk_matches else _SPAN_BYTES) > _MAX_BYTES:
            # Don't encode more than fits: a line of a megabyte may have a million matches.
            yield from _in_halves(group, repositories, options)
            continue

        if kind == "content" and options.chunk_matches:
            data = _chunk_payload(group, repositories, options)
        elif kind in _OF_FILES:
            (data,) = file_payloads(group, [(0, len(group))], repositories)
        else:
            objects = encode_objects.matches(group, kind, repositories, options)
            data = b"[" + b",".join(dump(value) for value in objects) + b"]"

        if len(data) <= _MAX_BYTES:
            yield data
        else:
            yield from _in_halves(group, repositories, options)


def _in_halves(
    rows: MatchRows, repositories: Mapping[str, RepositoryInfo], options: encode_objects.EncodeOptions
) -> Iterator[bytes]:
    if len(rows) > 1:
        # Halve, at the border of a file if there is one.
        middle = next((a for a, _ in rows.files() if a >= len(rows) // 2), 0) or len(rows) // 2
        yield from _encode_kind(rows.slice(0, middle), repositories, options)
        yield from _encode_kind(rows.slice(middle, len(rows)), repositories, options)
    elif rows.spans() > _MAX_SPANS:
        for half in rows.halve():
            yield from _encode_kind(half, repositories, options)
    else:
        yield from _encode_kind(_shorten(rows, options), repositories, options)


def _groups(rows: MatchRows, files: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Yield runs of whole files with about as much text as one event should hold."""
    # 64: bytes of JSON around the text of a row, roughly.
    size = rows.text_bytes(chunks="chunk" in rows) + 64
    ends = np.cumsum(size)[[file_end - 1 for _, file_end in files]]
    groups = []
    start, base = 0, 0
    for (_, file_end), end in zip(files, ends.tolist(), strict=True):
        if end - base >= _TEXT_PER_EVENT:
            groups.append((start, file_end))
            start, base = file_end, end

    if start < len(rows):
        groups.append((start, len(rows)))

    return groups


def _shorten(rows: MatchRows, options: encode_objects.EncodeOptions) -> MatchRows:
    """Return a single row with truncated texts; even fully escaped they fit twice into one event."""
    return rows.shorten(_MAX_BYTES // (6 * (3 if options.chunk_matches else 2)))


def _chunk_payload(
    rows: MatchRows, repositories: Mapping[str, RepositoryInfo], options: encode_objects.EncodeOptions
) -> bytes:
    keys = ("context", "content") if options.chunk_text == "both" else (options.chunk_text,)
    chunks = encode_objects.chunks(rows)
    out = []
    position = 0
    files = FileEncoder(rows, repositories)
    for (_, end), head, tail in zip(rows.files(), files.before, files.after, strict=True):
        of_file = []
        while position < len(chunks) and chunks[position].row < end:
            of_file.append(chunks[position].to_json(keys))
            position += 1
        out.append(b'%b,"hunks":null,"chunkMatches":[%b]%b' % (head, b",".join(of_file), tail))

    return b"[" + b",".join(out) + b"]"
