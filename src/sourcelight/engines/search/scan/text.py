"""Copy text from mapped shards into Arrow strings, and convert byte offsets to code points.

No Python object is made per line: two million lines as `str` objects take more time than the search that found them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import (
    AnyArray,
    Int64Array,
    UInt8Array,
    arrow_array,
    arrow_strings,
    distinct,
    unique_sorted,
)
from sourcelight.core.code_points import equal_groups, points_in_text

_ASCII_END = 0x80

_LONG_TEXT_BYTES = 256
"""Mean bytes of a text above which a numpy call per text is cheap."""

_CONTINUATION_MASK, _CONTINUATION = 0xC0, 0x80


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Texts, one a row.

    `strings` is an Arrow string array, invalid UTF-8 as U+FFFD. `raw` has the bytes of all texts as stored, `offsets`
    where each starts in them. `non_ascii_rows` lists the rows with a byte outside ASCII.
    """

    strings: Any
    raw: UInt8Array
    offsets: NDArray[np.int32]
    non_ascii_rows: Int64Array
    invalid_rows: frozenset[int]

    def bytes_of(self, row: int) -> bytes:
        """Return the bytes of a row as stored."""
        return self.raw[self.offsets[row] : self.offsets[row + 1]].tobytes()


def gather_texts(buffer: Any, starts: Int64Array, ends: Int64Array) -> TextColumn:
    """Copy the slices ``buffer[start:end]``, ascending and without overlaps, into an Arrow string array."""
    return text_column(take_slices(buffer, starts, ends))


def take_slices(buffer: Any, starts: Int64Array, ends: Int64Array) -> Any:
    """Copy slices as `gather_texts` does, into an Arrow binary array."""
    import pyarrow as pa

    count = len(starts)
    if not count:
        return pa.Array.from_buffers(pa.binary(), 0, [None, pa.py_buffer(bytes(4)), pa.py_buffer(b"")])

    # Slices and the gaps between them are one Arrow array over the mapped bytes; taking every other item copies in C.
    # Offsets of `binary` are int32, so a buffer must stay below 2 GB; a shard does.
    offsets = np.empty(2 * count, dtype=np.int32)
    offsets[0::2] = starts
    offsets[1::2] = ends
    alternating = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(offsets), buffer])
    return alternating.take(arrow_array(np.arange(0, 2 * count, 2, dtype=np.int32)))


def arrow_binary(sizes: AnyArray, data: Any) -> Any:
    """Make an Arrow binary array of texts that follow one another in `data`."""
    import pyarrow as pa

    offsets = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=offsets[1:])
    return pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(offsets), pa.py_buffer(data)])


def text_column(binary: Any) -> TextColumn:
    """Make strings of an Arrow binary array that has no nulls and no offset."""
    import pyarrow as pa

    _, offset_buffer, data = binary.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(binary) + 1)
    raw = np.frombuffer(data, np.uint8, int(offsets[-1])) if data is not None else np.zeros(0, np.uint8)

    # The same buffers with another type: nothing is copied, and nothing checked. Invalid text is repaired below.
    strings = pa.Array.from_buffers(pa.string(), len(binary), [None, offset_buffer, data])
    rows = _beyond_ascii(raw, offsets)
    if not len(rows):
        return TextColumn(strings, raw, offsets, _no_rows(), frozenset())

    invalid: dict[int, str] = {}
    # Few rows are decoded one by one; for many, one check in C finds whether any is invalid.
    is_little = 4 * int((offsets[rows + 1] - offsets[rows]).sum()) < len(raw)
    if is_little or not _is_valid(strings):
        for row in rows.tolist():
            text = raw[offsets[row] : offsets[row + 1]].tobytes()
            try:
                text.decode()
            except UnicodeDecodeError:
                invalid[row] = text.decode(errors="replace")

    if invalid:
        import pyarrow.compute as pc

        mask = np.zeros(len(binary), dtype=np.bool_)
        mask[list(invalid)] = True
        repaired = arrow_strings(list(invalid.values()))
        strings = pc.replace_with_mask(strings, arrow_array(mask), repaired)

    return TextColumn(strings, raw, offsets, rows, frozenset(invalid))


def _beyond_ascii(raw: UInt8Array, offsets: NDArray[np.int32]) -> Int64Array:
    """Return the rows with a byte outside ASCII."""
    if not len(raw):
        return _no_rows()

    if len(raw) > _LONG_TEXT_BYTES * len(offsets):
        non_empty = np.flatnonzero(offsets[1:] > offsets[:-1])
        # `reduceat` gives an element and not the maximum of nothing for an empty text, so these are left out.
        rows: Int64Array = non_empty[np.maximum.reduceat(raw, offsets[non_empty]) >= _ASCII_END]
        return rows

    # Most batches are ASCII: `max` reads the bytes once, where a comparison would make a mask of them first.
    if int(raw.max()) < _ASCII_END:
        return _no_rows()

    positions = np.flatnonzero(raw >= _ASCII_END)
    return unique_sorted(np.searchsorted(offsets, positions, side="right") - 1)


def _is_valid(strings: Any) -> bool:
    import pyarrow as pa

    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def code_points(texts: TextColumn, row: Int64Array, offset: Int64Array) -> Int64Array:
    """Convert byte offsets within rows to code points; an offset just past the end stays just past the end."""
    code_point_offset = offset.copy()
    is_beyond_ascii = np.zeros(len(texts.offsets) - 1, dtype=np.bool_)
    is_beyond_ascii[texts.non_ascii_rows] = True
    selected = np.flatnonzero(is_beyond_ascii[row])
    if not len(selected):
        return code_point_offset

    rows, byte_offsets = row[selected], offset[selected]
    text_starts = texts.offsets[rows].astype(np.int64)
    lengths = texts.offsets[rows + 1] - text_starts

    # A span may include the newline, which is not part of the text: one byte and one code point past the end.
    past = np.maximum(byte_offsets - lengths, 0)
    continuing = _continuing(texts, distinct(rows))

    # Every byte other than a continuation byte (10xxxxxx) starts a code point.
    continuation_counts = np.searchsorted(continuing, text_starts + byte_offsets - past) - np.searchsorted(
        continuing, text_starts
    )
    code_point_offset[selected] = byte_offsets - continuation_counts
    if texts.invalid_rows:
        # Decoding may replace several invalid bytes by one U+FFFD, so these rows are decoded up to the offset.
        invalid = np.flatnonzero(np.isin(rows, np.fromiter(texts.invalid_rows, np.int64)))
        for group in equal_groups(rows[invalid]):
            members = invalid[group]
            points = points_in_text(texts.bytes_of(int(rows[members[0]])), byte_offsets[members].tolist())
            code_point_offset[selected[members]] = points + past[members]

    return code_point_offset


def _continuing(texts: TextColumn, rows: Int64Array) -> Int64Array:
    """Return the positions of UTF-8 continuation bytes, ascending: all of them, or only in the given rows."""
    starts, ends = texts.offsets[rows], texts.offsets[rows + 1]
    if 4 * int((ends - starts).sum()) < len(texts.raw) and len(texts.raw) > _LONG_TEXT_BYTES * len(texts.offsets):
        # A few short texts next to a long one: the long one is not read for them.
        positions = [_no_rows()]
        for start, end in zip(starts.tolist(), ends.tolist(), strict=True):
            positions.append(np.flatnonzero((texts.raw[start:end] & _CONTINUATION_MASK) == _CONTINUATION) + start)
        return np.concatenate(positions)

    high_bytes = np.flatnonzero(texts.raw >= _ASCII_END)
    return np.asarray(high_bytes[(texts.raw[high_bytes] & _CONTINUATION_MASK) == _CONTINUATION])


def _no_rows() -> Int64Array:
    return np.zeros(0, dtype=np.int64)
