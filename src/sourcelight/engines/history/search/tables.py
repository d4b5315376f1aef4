"""Commits and changed lines as record batches, without a Python object for each cell."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from sourcelight.core.batches import arrow_type
from sourcelight.core.cancellation import Stopped, never
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.engines.history.history import History, Ints
from sourcelight.engines.history.people import co_authors
from sourcelight.engines.history.search.find import DiffMatches, removed_rows
from sourcelight.engines.history.search.lines import found_in
from sourcelight.engines.history.segment import LINE

BATCH_ROWS = 500
"""Rows of a batch, so that the first ones are on screen while the others are made."""

_SEGMENT_BITS = 32
_ASCII_END = 0x80
_SPARSE, _FEW_CODES = 8, 4096  # up to so many codes, sorting them costs more than a table of all
_DIGITS = np.array([b"%02x" % byte for byte in range(256)], "S2").view(np.uint16)
"""The two hex digits of each byte."""

Batch = Any
Column = Any


def commit_batches(history: History, commits: Ints, rows: int = BATCH_ROWS) -> Iterator[Batch]:
    """Batches of commits in the given order.

    Columns are those of the table ``commits``, but for ``co_authors``, ``bot`` and ``url``.
    """
    for low in range(0, max(1, len(commits)), rows):
        yield commit_batch(history, commits[low : low + rows])


def commit_batch(history: History, commits: Ints) -> Batch:
    """One batch of commits; see `commit_batches`."""
    found = history.commits
    return pa.record_batch(
        {
            "repository": constant(history.repository, len(commits)),
            "commit": hex_dictionary(found.oid[commits]),
            "subject": subject_texts(history, commits),
            **_who(history, "author", found.author[commits]),
            "author_date": times(found.author_time[commits]),
            "author_utc_offset_min": pa.array(found.author_offset[commits].astype(np.int32)),
            **_who(history, "committer", found.committer[commits]),
            "commit_date": times(found.commit_time[commits]),
            "commit_utc_offset_min": pa.array(found.commit_offset[commits].astype(np.int32)),
            "message": message_texts(history, commits),
            "parents": _parents(history, commits),
            "files": pa.array((found.change_starts[commits + 1] - found.change_starts[commits]).astype(np.int32)),
            "additions": _lines(history, "additions", commits),
            "deletions": _lines(history, "deletions", commits),
        }
    )


def line_batches(
    history: History, hits: DiffMatches, rows: int = BATCH_ROWS, stopped: Stopped = never
) -> Iterator[Batch]:
    """Batches of changed lines, newest commit first; columns are those of the table ``diff_lines``."""
    for low in range(0, max(1, len(hits.rows)), rows):
        yield line_batch(
            history, hits.rows[low : low + rows], hits.row_changes[low : low + rows], hits.patterns, stopped
        )


def line_batch(
    history: History, rows: Ints, changes: Ints, patterns: Sequence[CompiledPattern] = (), stopped: Stopped = never
) -> Batch:
    """One batch of changed lines; see `line_batches`."""
    commits = history.changes.commit[changes].astype(np.int64)
    distinct, which = np.unique(commits, return_inverse=True)
    found = history.commits
    removed = removed_rows(history, rows)
    lines, of_row = distinct_lines(history, rows)
    starts, ends = line_spans(lines, patterns, stopped)
    return pa.record_batch(
        {
            "repository": constant(history.repository, len(rows)),
            "commit": _of_dictionary(which, hex_texts(found.oid[distinct])),
            "subject": subject_texts(history, distinct).dictionary_encode().take(pa.array(which)),
            **_who(history, "author", found.author[commits]),
            "author_date": times(found.author_time[commits]),
            "commit_date": times(found.commit_time[commits]),
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
    """A column of 32-bit numbers as an array, without loading pandas as pyarrow's own way does."""
    if not len(column):
        return np.zeros(0, np.int32)
    return np.frombuffer(column.buffers()[1], np.int32, len(column), 4 * column.offset)


def constant(value: str, rows: int) -> Column:
    """A dictionary-encoded column of one value."""
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array([value]))


def times(seconds: Ints) -> Column:
    """Instants in UTC."""
    return pa.array(seconds * 1_000_000).cast(pa.timestamp("us")).cast(arrow_type("timestamp"))


def hex_texts(oids: NDArray[np.uint8]) -> Column:
    """Object names as 40 hex digits."""
    return addresses("", oids)


def addresses(prefix: str, oids: NDArray[np.uint8]) -> Column:
    """Object names behind a prefix, as text."""
    raw = prefix.encode()
    size = len(raw) + 40
    texts = _DIGITS[oids].view(np.uint8)
    if raw:
        texts = np.concatenate((np.broadcast_to(np.frombuffer(raw, np.uint8), (len(oids), len(raw))), texts), axis=1)
    offsets = np.arange(0, size * (len(oids) + 1), size, dtype=np.int32)
    return pa.StringArray.from_buffers(len(oids), pa.py_buffer(offsets), pa.py_buffer(texts))


def hex_dictionary(oids: NDArray[np.uint8]) -> Column:
    """Object names that are all different, dictionary-encoded."""
    return _of_dictionary(np.arange(len(oids)), hex_texts(oids))


def _of_dictionary(codes: Any, texts: Column) -> Column:
    return pa.DictionaryArray.from_arrays(pa.array(codes.astype(np.int32)), texts)


def _who(history: History, role: str, people: NDArray[np.int32]) -> dict[str, Column]:
    """Names and addresses as mailmap has them."""
    person = history.identities.person[people]
    identities = history.identities
    return {
        role: _shared(history, "names", identities.person_names, person),
        f"{role}_email": _shared(history, "emails", identities.person_emails, person),
    }


def author_names(history: History, people: NDArray[np.int32]) -> Column:
    """Names as mailmap has them."""
    return _shared(history, "names", history.identities.person_names, history.identities.person[people])


def paths(history: History, numbers: NDArray[np.int32]) -> Column:
    """Paths as text."""
    return _shared(history, "path texts", lambda: [path.decode("utf-8", "replace") for path in history.paths], numbers)


def _shared(
    history: History, name: str, texts: Sequence[str] | Callable[[], Sequence[str]], codes: NDArray[np.int32]
) -> Column:
    """A dictionary column with the values that occur, taken from a table that is made once for each history.

    Different people may bear one name, and different bytes of a path look alike as text, so values are numbered anew.
    """

    def make() -> tuple[Any, NDArray[np.int32]]:
        encoded = pa.array(texts() if callable(texts) else texts, pa.string()).dictionary_encode()
        return encoded.dictionary, int32_of(encoded.indices)

    values, numbers = history.memory(f"table of {name}", make)
    used, which = renumbered(numbers[codes], len(values))
    return _of_dictionary(which, values.take(pa.array(used)))


def renumbered(codes: NDArray[Any], most: int) -> tuple[Ints, Ints]:
    """The distinct ones of `codes`, ascending, and for each code its place among them; all are below `most`."""
    if most > _SPARSE * len(codes) + _FEW_CODES:
        return np.unique(codes, return_inverse=True)
    place = np.zeros(most, np.int64)
    place[codes] = 1
    used = np.flatnonzero(place)
    place[used] = np.arange(len(used))
    return used, place[codes]


def message_texts(history: History, commits: Ints) -> Column:
    """Whole messages."""
    return _texts_of(history, "message", commits)


def subject_texts(history: History, commits: Ints) -> Column:
    """Subjects as git has them (``%s``): first paragraphs on one line."""
    return _texts_of(history, "subject", commits)


def _texts_of(history: History, name: str, commits: Ints) -> Column:
    of_segment = np.searchsorted(history.bases.commits, commits, side="right") - 1
    local = commits - np.array(history.bases.commits)[of_segment]
    return _taken(history, f"{name}s", f"{name}_starts", of_segment, 2 * local, _texts).cast(pa.string())


def _texts(offsets: Ints, raw: memoryview) -> Column:
    """Texts, and between them their newlines as items of their own, so that none has to be cut off each time.

    Segments hold valid UTF-8; a file that was altered since still gives text, so that those of all segments fit.
    """
    bounds = np.empty(2 * len(offsets) - 1, np.int64)
    bounds[::2] = offsets
    bounds[1::2] = offsets[1:] - 1
    buffers = [None, pa.py_buffer(bounds), pa.py_buffer(raw)]
    texts = pa.Array.from_buffers(pa.large_string(), len(bounds) - 1, buffers)
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        bare = pa.Array.from_buffers(pa.large_binary(), len(bounds) - 1, buffers)
        return pa.array([item.decode("utf-8", "replace") for item in bare.to_pylist()], pa.large_string())
    return texts


def distinct_lines(history: History, rows: Ints) -> tuple[Column, Column]:
    """Distinct texts of rows as bytes with their newlines, and for each row which one it has."""
    of_segment = np.searchsorted(history.bases.rows, rows, side="right") - 1
    local = rows - np.array(history.bases.rows)[of_segment]
    keys = of_segment << _SEGMENT_BITS
    for at, segment in enumerate(history.segments):
        own = slice(None) if len(history.segments) == 1 else of_segment == at
        keys[own] |= segment["rows"][local[own]] & LINE
    used, which = np.unique(keys, return_inverse=True)
    lines = _taken(history, "lines", "line_starts", used >> _SEGMENT_BITS, used & int(LINE))
    return lines, pa.array(which.astype(np.int32))


def _items(offsets: Ints, raw: memoryview) -> Column:
    """Byte strings, each with the newline behind it."""
    buffers = [None, pa.py_buffer(offsets), pa.py_buffer(raw)]
    return pa.Array.from_buffers(pa.large_binary(), len(offsets) - 1, buffers)


def _taken(
    history: History,
    raw: str,
    starts: str,
    of_segment: Ints,
    local: Ints,
    make: Callable[[Ints, memoryview], Column] = _items,
) -> Column:
    """Items number `local` of what `make` makes of each segment."""
    parts = []
    order = []
    for at, segment in enumerate(history.segments):
        own = np.arange(len(local)) if len(history.segments) == 1 else np.flatnonzero(of_segment == at)
        whole = history.memory(
            f"{raw} {at}",
            lambda s=segment: make(s[starts].astype(np.int64), s.bytes_of(raw)),  # type: ignore[misc]
        )
        parts.append(whole.take(pa.array(local[own])))
        order.append(own)
    if not parts:
        return pa.array([], pa.large_binary())
    if len(parts) == 1:
        return parts[0]
    place = np.empty(len(local), np.int64)
    place[np.concatenate(order)] = np.arange(len(local))
    return pa.concat_arrays(parts).take(pa.array(place))


def without_newlines(lines: Column) -> Column:
    """Byte strings without their last byte."""
    return pc.binary_slice(lines, 0, -1)


def as_text(raw: Column) -> Column:
    """Bytes as text, invalid UTF-8 as U+FFFD."""
    try:
        return raw.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([item.decode("utf-8", "replace") for item in raw.to_pylist()], pa.string())


def line_spans(lines: Column, patterns: Sequence[CompiledPattern], stopped: Stopped = never) -> tuple[Column, Column]:
    """Places of the matches in lines (bytes with newlines), in code points, sorted and without overlaps."""
    raw, starts = _side_by_side(lines)
    found = [pattern.spans(raw, starts[:-1], starts[1:] - 1, stopped) for pattern in patterns]
    if not found:
        empty = _lists(np.zeros(len(lines), np.int64), np.zeros(0, np.int64))
        return empty, empty
    if len(found) == 1:
        row, low, high = found[0]
    else:
        row, low, high = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.lexsort((-high, low, row))
        row, low, high = _apart(row[order], low[order], high[order])
    counts = np.bincount(row, minlength=len(lines))
    low, high = _code_points(raw, starts, row, low), _code_points(raw, starts, row, high)
    return _lists(counts, low), _lists(counts, high)


def _side_by_side(lines: Column) -> tuple[memoryview, Ints]:
    _, offsets, data = lines.buffers()
    starts = np.frombuffer(offsets, np.int64, len(lines) + 1, 8 * lines.offset)
    first, last = (int(starts[0]), int(starts[-1])) if len(lines) else (0, 0)
    return memoryview(data or b"")[first:last], starts - first


def _apart(row: Ints, low: Ints, high: Ints) -> tuple[Ints, Ints, Ints]:
    kept = []
    last, end = -1, 0
    for at, (r, a, b) in enumerate(zip(row.tolist(), low.tolist(), high.tolist(), strict=True)):
        if r != last or a >= end:
            kept.append(at)
            last, end = r, b
    places = np.array(kept, np.int64)
    return row[places], low[places], high[places]


def _code_points(raw: memoryview, starts: Ints, row: Ints, offsets: Ints) -> Ints:
    """Offsets into the texts of rows, from bytes to code points."""
    data = np.frombuffer(raw, np.uint8)
    if not len(data) or int(data.max()) < _ASCII_END:
        return offsets
    try:
        bytes(raw).decode()
    except UnicodeDecodeError:
        places = zip(starts[row].tolist(), offsets.tolist(), strict=True)
        counts = [len(bytes(raw[start : start + offset]).decode("utf-8", "replace")) for start, offset in places]
        return np.array(counts, np.int64)
    later = np.flatnonzero((data & 0xC0) == 0x80)
    first = starts[row]
    points: Ints = offsets - (np.searchsorted(later, first + offsets) - np.searchsorted(later, first))
    return points


def _lists(counts: Ints, values: Ints) -> Column:
    offsets = np.zeros(len(counts) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(values.astype(np.int32)))


def _parents(history: History, commits: Ints) -> Column:
    found = history.commits
    low, counts = found.parent_starts[commits], found.parent_starts[commits + 1] - found.parent_starts[commits]
    place = np.arange(int(counts.sum())) + np.repeat(low - np.cumsum(counts) + counts, counts)
    parents = found.parents[place]
    known = parents >= 0
    if not known.all():
        row = np.repeat(np.arange(len(commits)), counts)[known]
        counts, parents = np.bincount(row, minlength=len(commits)), parents[known]
    offsets = np.zeros(len(commits) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), hex_texts(found.oid[parents]))


def _lines(history: History, name: str, commits: Ints) -> Column:
    """Sums over the changes of each commit; null where one is unknown."""

    def make() -> tuple[Ints, Ints]:
        values = getattr(history.changes, name).astype(np.int64)
        zero = np.zeros(1, np.int64)
        return np.concatenate((zero, np.cumsum(values))), np.concatenate((zero, np.cumsum(values < 0)))

    sums, unknown = history.memory(f"sums of {name}", make)
    low, high = history.commits.change_starts[commits], history.commits.change_starts[commits + 1]
    return pa.array(sums[high] - sums[low], mask=(unknown[high] > unknown[low]) | history.commits.unread[commits])


def co_author_texts(history: History, commits: Ints) -> Column:
    """Lists of the ``Co-authored-by`` trailers of commits, as ``Name <address>``."""

    def make() -> tuple[Ints, Column]:
        counts = np.zeros(len(history.commits), np.int64)
        texts: list[str] = []
        for commit in commits_with_co_authors(history):
            found = co_authors(history.message(commit))
            counts[commit] = len(found)
            texts += [f"{name} <{email}>" for name, email in found]
        return np.concatenate(([0], np.cumsum(counts))), pa.array(texts, pa.string())

    starts, texts = history.memory("co-author texts", make)
    low, counts = starts[commits], starts[commits + 1] - starts[commits]
    offsets = np.zeros(len(commits) + 1, np.int32)
    np.cumsum(counts, out=offsets[1:])
    place = np.arange(int(offsets[-1])) + np.repeat(low - offsets[:-1], counts)
    return pa.ListArray.from_arrays(pa.array(offsets), texts.take(pa.array(place)))


def commits_with_co_authors(history: History) -> list[int]:
    """Commits whose messages seem to have such trailers, ascending."""
    pattern = compile_pattern("co-authored-by", kind="literal", case_sensitive=False)
    return [
        base + local
        for base, segment in zip(history.bases.commits, history.segments, strict=False)
        for local in found_in(pattern, segment.bytes_of("messages"), segment["message_starts"].view(np.int64)).tolist()
    ]


def line_numbers(history: History, rows: Ints, removed: NDArray[np.bool_]) -> Ints:
    """1-based numbers of lines: of the new file, of removed lines in the old one."""
    blocks = history.blocks
    block = np.searchsorted(blocks.row, rows, side="right") - 1
    into = rows - blocks.row[block]
    return np.where(removed, blocks.old[block] + into, blocks.new[block] + into - blocks.removed[block])
