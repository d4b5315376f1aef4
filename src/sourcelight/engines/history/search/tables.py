"""Commits and changed lines as record batches, without a Python object for each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, BoolArray, Int64Array, UInt8Array, runs
from sourcelight.core.batches import arrow_type
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.code_points import points_in_texts
from sourcelight.core.patterns import CompiledPattern
from sourcelight.engines.history.history import History
from sourcelight.engines.history.model import ChangeNumbers, CommitNumbers, RowNumbers
from sourcelight.engines.history.search.find import DiffMatches
from sourcelight.engines.history.search.lines import removed_rows
from sourcelight.engines.history.segment import LINE

BATCH_ROWS = 500
"""Rows of a batch: the first ones are displayed while the others are built."""

_SEGMENT_BITS = 32
"""Bits of a key for a line that hold its number in a segment; the number of the segment is above them."""

_MAX_TABLE_FACTOR = 8
"""Entries that a table of all codes may have for each value that `renumber` looks up; with more, it sorts."""

_MIN_TABLE_CODES = 4096
"""Entries that such a table may have beyond these: a small one is always faster than a sort."""

_DIGITS = np.array([b"%02x" % byte for byte in range(256)], "S2").view(np.uint16)
"""The two hex digits of each byte."""

Batch: TypeAlias = pa.RecordBatch
Column: TypeAlias = pa.Array

FULL_LINE = 1 << 40
"""End of a span that reaches the end of its line."""


def commit_batches(history: History, commits: CommitNumbers, rows: int = BATCH_ROWS) -> Iterator[Batch]:
    """Yield batches of commits in the given order.

    Columns as in the table ``commits``, except ``co_authors``, ``bot`` and ``url``.
    """
    for start in range(0, max(1, len(commits)), rows):
        yield commit_batch(history, CommitNumbers(commits[start : start + rows]))


def commit_batch(history: History, commits: CommitNumbers) -> Batch:
    """Return one batch of commits; see `commit_batches`."""
    columns = history.commits
    return pa.record_batch(
        {
            "repository": constant(history.repository, len(commits)),
            "commit": hex_dictionary(columns.oid[commits]),
            "subject": subject_texts(history, commits),
            **_person_columns(history, "author", columns.author[commits]),
            "author_date": times(columns.author_time[commits]),
            "author_utc_offset_min": pa.array(columns.author_offset[commits].astype(np.int32)),
            **_person_columns(history, "committer", columns.committer[commits]),
            "commit_date": times(columns.commit_time[commits]),
            "commit_utc_offset_min": pa.array(columns.commit_offset[commits].astype(np.int32)),
            "message": message_texts(history, commits),
            "parents": _parent_lists(history, commits),
            "files": pa.array((columns.change_starts[commits + 1] - columns.change_starts[commits]).astype(np.int32)),
            "additions": _line_sums(history, "additions", commits),
            "deletions": _line_sums(history, "deletions", commits),
        }
    )


def line_batches(
    history: History, matches: DiffMatches, rows: int = BATCH_ROWS, stopped: Stopped = never
) -> Iterator[Batch]:
    """Yield batches of changed lines, newest commit first, with the columns of the table ``diff_lines``."""
    for start in range(0, max(1, len(matches.rows)), rows):
        yield line_batch(
            history,
            RowNumbers(matches.rows[start : start + rows]),
            ChangeNumbers(matches.row_changes[start : start + rows]),
            matches.patterns,
            stopped,
        )


def line_batch(
    history: History,
    rows: RowNumbers,
    changes: ChangeNumbers,
    patterns: Sequence[CompiledPattern] = (),
    stopped: Stopped = never,
) -> Batch:
    """Return one batch of changed lines; see `line_batches`."""
    commits = history.changes.commit[changes].astype(np.int64)
    # Texts of a commit are read once and spread over its rows by dictionary codes.
    distinct, commit_of_row = np.unique(commits, return_inverse=True)
    columns = history.commits
    removed = removed_rows(history, rows)
    lines, of_row = distinct_lines(history, rows)
    starts, ends = line_spans(lines, patterns, stopped)
    return pa.record_batch(
        {
            "repository": constant(history.repository, len(rows)),
            "commit": _dictionary_column(commit_of_row, hex_texts(columns.oid[distinct])),
            "subject": subject_texts(history, CommitNumbers(distinct))
            .dictionary_encode()
            .take(pa.array(commit_of_row)),
            **_person_columns(history, "author", columns.author[commits]),
            "author_date": times(columns.author_time[commits]),
            "commit_date": times(columns.commit_time[commits]),
            "path": paths(history, history.changes.path[changes]),
            "old_path": paths(history, history.changes.old_path[changes]),
            "side": pa.DictionaryArray.from_arrays(pa.array(removed.astype(np.int8)), pa.array(["added", "removed"])),
            "line_number": pa.array(line_numbers(history, rows, removed).astype(np.int32)),
            "line": as_text(without_newlines(lines)).take(of_row),
            "start": starts.take(of_row),
            "end": ends.take(of_row),
        }
    )


def int32_of(column: Column) -> NDArray[np.int32]:
    """Return a column of 32-bit numbers as an array; pyarrow's own conversion would import pandas."""
    if not len(column):
        return np.zeros(0, np.int32)
    return np.frombuffer(column.buffers()[1], np.int32, len(column), 4 * column.offset)


def constant(value: str, rows: int) -> Column:
    """Return a dictionary-encoded column of one value."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))


def times(seconds: Int64Array) -> Column:
    """Return a column of times in UTC."""
    return pa.array(seconds * 1_000_000).cast(pa.timestamp("us")).cast(arrow_type("timestamp"))


def hex_texts(oids: UInt8Array) -> Column:
    """Return object ids as 40 hex digits."""
    return prefixed_oids("", oids)


def prefixed_oids(prefix: str, oids: UInt8Array) -> Column:
    """Return object ids as text after a prefix."""
    raw = prefix.encode()
    size = len(raw) + 40
    texts = _DIGITS[oids].view(np.uint8)
    if raw:
        texts = np.concatenate((np.broadcast_to(np.frombuffer(raw, np.uint8), (len(oids), len(raw))), texts), axis=1)
    offsets = np.arange(0, size * (len(oids) + 1), size, dtype=np.int32)
    return pa.StringArray.from_buffers(len(oids), pa.py_buffer(offsets), pa.py_buffer(texts))


def hex_dictionary(oids: UInt8Array) -> Column:
    """Return distinct object ids as a dictionary column."""
    return _dictionary_column(np.arange(len(oids)), hex_texts(oids))


def _dictionary_column(codes: Int64Array, texts: Column) -> Column:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), texts)


def _person_columns(history: History, role: str, people: NDArray[np.int32]) -> dict[str, Column]:
    """Return names and addresses after the mailmap."""
    return {role: author_names(history, people), f"{role}_email": author_emails(history, people)}


def author_names(history: History, people: NDArray[np.int32]) -> Column:
    """Return names after the mailmap."""
    identities = history.identities
    return _shared_column(history, "names", identities.person_names, identities.person[people])


def author_emails(history: History, people: NDArray[np.int32]) -> Column:
    """Return addresses after the mailmap."""
    identities = history.identities
    return _shared_column(history, "emails", identities.person_emails, identities.person[people])


def paths(history: History, numbers: NDArray[np.int32]) -> Column:
    """Return paths as text."""
    return _shared_column(
        history, "path texts", lambda: [path.decode("utf-8", "replace") for path in history.paths], numbers
    )


def _shared_column(
    history: History, name: str, texts: Sequence[str] | Callable[[], Sequence[str]], codes: NDArray[np.int32]
) -> Column:
    """Return a dictionary column with the values that occur, from a table that is built once per history.

    Several people may have the same name, and different bytes of a path the same text, so values are renumbered.
    """

    def make() -> tuple[Column, NDArray[np.int32]]:
        encoded = pa.array(texts() if callable(texts) else texts, pa.string()).dictionary_encode()
        return encoded.dictionary, int32_of(encoded.indices)

    values, numbers = history.remember(f"table of {name}", make)
    distinct, renumbered_codes = renumber(numbers[codes], len(values))
    return _dictionary_column(renumbered_codes, values.take(pa.array(distinct)))


def renumber(codes: AnyArray, code_count: int) -> tuple[Int64Array, Int64Array]:
    """Return the distinct `codes`, ascending, and the index of each code among them; all are below `code_count`."""
    if code_count > _MAX_TABLE_FACTOR * len(codes) + _MIN_TABLE_CODES:
        return np.unique(codes, return_inverse=True)
    index_of_code = np.zeros(code_count, np.int64)
    index_of_code[codes] = 1
    distinct = np.flatnonzero(index_of_code)
    index_of_code[distinct] = np.arange(len(distinct))
    return distinct, index_of_code[codes]


def message_texts(history: History, commits: CommitNumbers) -> Column:
    """Return complete messages."""
    return _text_column(history, "message", commits)


def subject_texts(history: History, commits: CommitNumbers) -> Column:
    """Return subjects like git's ``%s``: first paragraphs on one line."""
    return _text_column(history, "subject", commits)


def _text_column(history: History, name: str, commits: CommitNumbers) -> Column:
    of_segment = np.searchsorted(history.bases.commits, commits, side="right") - 1
    local = commits - np.array(history.bases.commits)[of_segment]
    return _take_items(
        history, f"{name}s", starts=f"{name}_starts", of_segment=of_segment, local=2 * local, make=_texts
    ).cast(pa.string())


def _texts(offsets: Int64Array, raw: memoryview) -> Column:
    """Return texts without their newlines, which are separate items, so that no text must be cut.

    Segments contain valid UTF-8. If a file was altered, invalid bytes become U+FFFD, so that all segments have text.
    """
    bounds_offsets = np.empty(2 * len(offsets) - 1, np.int64)
    # Offsets alternate between the start of a text and the position of its newline, so even items are texts and odd
    # ones newlines, over the same bytes.
    bounds_offsets[::2] = offsets
    bounds_offsets[1::2] = offsets[1:] - 1
    buffers = [None, pa.py_buffer(bounds_offsets), pa.py_buffer(raw)]
    texts = pa.Array.from_buffers(pa.large_string(), len(bounds_offsets) - 1, buffers)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        # Invalid UTF-8: every text is decoded separately, with U+FFFD, which costs a copy.
        raw_texts = pa.Array.from_buffers(pa.large_binary(), len(bounds_offsets) - 1, buffers)
        return pa.array([item.decode("utf-8", "replace") for item in raw_texts.to_pylist()], pa.large_string())

    return texts


def distinct_lines(history: History, rows: RowNumbers) -> tuple[Column, Column]:
    """Return distinct lines as bytes with their newlines, and the index of each row's line among them."""
    of_segment = np.searchsorted(history.bases.rows, rows, side="right") - 1
    local = rows - np.array(history.bases.rows)[of_segment]

    # Segment and line number in one integer, because each segment numbers its lines from 0.
    keys = of_segment << _SEGMENT_BITS
    for segment_index, segment in enumerate(history.segments):
        in_segment = slice(None) if len(history.segments) == 1 else of_segment == segment_index
        keys[in_segment] |= segment["rows"][local[in_segment]] & LINE

    distinct, line_of_row = np.unique(keys, return_inverse=True)
    lines = _take_items(
        history, "lines", starts="line_starts", of_segment=distinct >> _SEGMENT_BITS, local=distinct & int(LINE)
    )
    return lines, pa.array(line_of_row.astype(np.int32))


def _items(offsets: Int64Array, raw: memoryview) -> Column:
    """Return byte strings, each with its newline."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(raw)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _take_items(
    history: History,
    raw: str,
    *,
    starts: str,
    of_segment: Int64Array,
    local: Int64Array,
    make: Callable[[Int64Array, memoryview], Column] = _items,
) -> Column:
    """Return the items `local` of the columns that `make` builds from each segment."""
    columns = []
    order = []
    for segment_index, segment in enumerate(history.segments):
        if len(history.segments) == 1:
            in_segment = np.arange(len(local))
        else:
            in_segment = np.flatnonzero(of_segment == segment_index)
        all_items = history.remember(
            f"{raw} {segment_index}",
            lambda s=segment: make(s[starts].astype(np.int64), s.bytes_of(raw)),  # type: ignore[misc]
        )
        columns.append(all_items.take(pa.array(local[in_segment])))
        order.append(in_segment)

    if not columns:
        return pa.array([], pa.large_binary())
    if len(columns) == 1:
        return columns[0]

    positions = np.empty(len(local), np.int64)
    # The inverse permutation restores the requested order: items were read segment by segment.
    positions[np.concatenate(order)] = np.arange(len(local))
    return pa.concat_arrays(columns).take(pa.array(positions))


def without_newlines(lines: Column) -> Column:
    """Return byte strings without their last byte."""
    return pc.binary_slice(lines, 0, -1)


def as_text(raw: Column) -> Column:
    """Return bytes as text, invalid UTF-8 as U+FFFD."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([item.decode("utf-8", "replace") for item in raw.to_pylist()], pa.string())


@dataclass(frozen=True, slots=True, eq=False)
class _TextSpans:
    """Matches in texts: of each the number of its text, and its start and end in it."""

    row: Int64Array
    starts: Int64Array
    ends: Int64Array

    def take(self, order: Int64Array) -> _TextSpans:
        return _TextSpans(self.row[order], self.starts[order], self.ends[order])


def line_spans(lines: Column, patterns: Sequence[CompiledPattern], stopped: Stopped = never) -> tuple[Column, Column]:
    """Return code point offsets of matches in lines (bytes with newlines), sorted and without overlaps."""
    raw, line_starts = _line_buffer(lines)
    spans_by_pattern = [
        _TextSpans(*pattern.spans(raw, line_starts[:-1], line_starts[1:] - 1, stopped)) for pattern in patterns
    ]
    if not spans_by_pattern:
        empty = _list_column(np.zeros(len(lines), np.int64), np.zeros(0, np.int64))
        return empty, empty

    spans = spans_by_pattern[0]
    if len(spans_by_pattern) > 1:
        spans = _drop_overlaps(_concat_spans(spans_by_pattern))

    counts = np.bincount(spans.row, minlength=len(lines))
    starts, ends = _code_points(raw, line_starts, spans.row, (spans.starts, spans.ends))
    return _list_column(counts, starts), _list_column(counts, ends)


def _concat_spans(parts: Sequence[_TextSpans]) -> _TextSpans:
    return _TextSpans(
        row=np.concatenate([part.row for part in parts]),
        starts=np.concatenate([part.starts for part in parts]),
        ends=np.concatenate([part.ends for part in parts]),
    )


def _drop_overlaps(spans: _TextSpans) -> _TextSpans:
    """Sort spans by row and start, and drop those that overlap an earlier one; of one start the longest stays."""
    # The last key of lexsort is the main one.
    ordered = spans.take(np.lexsort((-spans.ends, spans.starts, spans.row)))
    selected = []
    previous_row = -1
    previous_end = 0
    columns = zip(ordered.row.tolist(), ordered.starts.tolist(), ordered.ends.tolist(), strict=True)
    for index, (row, start, end) in enumerate(columns):
        if row != previous_row or start >= previous_end:
            selected.append(index)
            previous_row = row
            previous_end = end

    return ordered.take(np.array(selected, np.int64))


def spans_to_columns(lines: Column, spans: Sequence[Sequence[tuple[int, int]]]) -> tuple[Column, Column]:
    """Return code point offsets in lines (bytes with newlines) from byte offsets of each line, which may overlap."""
    raw, line_starts = _line_buffer(lines)
    line_sizes = line_starts[1:] - 1 - line_starts[:-1]
    row = np.repeat(np.arange(len(spans)), [len(row_spans) for row_spans in spans])
    offsets = np.array(list(chain.from_iterable(spans)), dtype=np.int64).reshape(-1, 2)
    byte_spans = _TextSpans(row, offsets[:, 0], np.minimum(offsets[:, 1], line_sizes[row]))

    # A match may contain empty lines, in which it has no text.
    byte_spans = byte_spans.take(np.flatnonzero(byte_spans.starts < byte_spans.ends))
    counts = np.bincount(byte_spans.row, minlength=len(spans))
    starts, ends = _code_points(raw, line_starts, byte_spans.row, (byte_spans.starts, byte_spans.ends))
    return _list_column(counts, starts), _list_column(counts, ends)


def _line_buffer(lines: Column) -> tuple[memoryview, Int64Array]:
    """Return the bytes of all lines, and the start of each in them; the end of the last is one start more."""
    _, offsets, data = lines.buffers()
    starts = np.frombuffer(offsets, np.int64, len(lines) + 1, 8 * lines.offset)
    if not len(lines):
        return memoryview(b""), starts

    # Arrow's offsets are positions in the whole buffer. A column may be a slice of another one, whose bytes it shares.
    first = int(starts[0])
    last = int(starts[-1])
    return memoryview(data or b"")[first:last], starts - first


def _code_points(
    raw: memoryview, starts: Int64Array, row: Int64Array, columns: tuple[Int64Array, Int64Array]
) -> tuple[Int64Array, Int64Array]:
    """Return offsets into the texts of rows, from bytes to code points."""
    try:
        bytes(raw).decode()
        is_valid = True
    except UnicodeDecodeError:
        is_valid = False
    first, last = points_in_texts(np.frombuffer(raw, np.uint8), starts[row], columns, is_valid=is_valid)
    return first, last


def _list_column(counts: Int64Array, values: Int64Array) -> Column:
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.astype(np.int32)))


def _parent_lists(history: History, commits: CommitNumbers) -> Column:
    columns = history.commits
    starts = columns.parent_starts[commits]
    counts = columns.parent_starts[commits + 1] - starts
    parents = columns.parents[runs(starts, counts)]
    # A parent that a shallow clone lacks is -1, and has no id to show.
    is_known = parents >= 0
    if not is_known.all():
        row = np.repeat(np.arange(len(commits)), counts)[is_known]
        counts = np.bincount(row, minlength=len(commits))
        parents = parents[is_known]

    offsets = np.zeros(len(commits) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), hex_texts(columns.oid[parents]))


def _line_sums(history: History, name: str, commits: CommitNumbers) -> Column:
    """Return sums over the changes of each commit; null if one is unknown."""

    def make() -> tuple[Int64Array, Int64Array]:
        values = getattr(history.changes, name).astype(np.int64)
        zero = np.zeros(1, np.int64)
        # Prefix sums: the sum over a commit's changes is one subtraction. `UNKNOWN` is negative, so the second sum
        # counts unknown changes; with any of them, the value must be null.
        return np.concatenate((zero, np.cumsum(values))), np.concatenate((zero, np.cumsum(values < 0)))

    sums, unknown = history.remember(f"sums of {name}", make)
    first = history.commits.change_starts[commits]
    end = history.commits.change_starts[commits + 1]
    has_unknown = (unknown[end] > unknown[first]) | history.commits.unread[commits]
    return pa.array(sums[end] - sums[first], mask=has_unknown)


def line_numbers(history: History, rows: RowNumbers, removed: BoolArray) -> Int64Array:
    """Return 1-based line numbers: in the new file, or in the old one for removed lines."""
    blocks = history.blocks
    block = np.searchsorted(blocks.row, rows, side="right") - 1
    row_in_block = rows - blocks.row[block]
    return np.where(removed, blocks.old[block] + row_in_block, blocks.new[block] + row_in_block - blocks.removed[block])
