"""Text out of mapped bytes into Arrow strings, and byte offsets into code points, without an object for each line."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.int64]
_ASCII_END = 0x80
_LONG = 256
"""Bytes of a text, on average, from which on looking at each text by itself is cheap."""
_CONTINUATION_MASK, _CONTINUATION = 0xC0, 0x80


@dataclass(frozen=True, slots=True)
class TextColumn:
    """Pieces of text.

    `strings` is an Arrow string array, invalid UTF-8 as U+FFFD. `raw` are the bytes of all pieces as stored and
    `offsets` where each begins in them. `beyond_ascii` lists the rows that hold a byte outside ASCII.
    """

    strings: Any
    raw: NDArray[np.uint8]
    offsets: NDArray[np.int32]
    beyond_ascii: Places
    invalid: frozenset[int]

    def bytes_of(self, row: int) -> bytes:
        """Give a piece as stored."""
        return self.raw[self.offsets[row] : self.offsets[row + 1]].tobytes()


def column(values: NDArray[Any], valid: NDArray[np.bool_] | None = None) -> Any:
    """Make an Arrow array of numbers without copying them; null where not `valid`.

    ``pyarrow.array`` would do the same, but loads pandas for it: a third of a second at the first search.
    """
    import pyarrow as pa

    kind = pa.from_numpy_dtype(values.dtype)
    data = np.packbits(values, bitorder="little") if values.dtype == np.bool_ else np.ascontiguousarray(values)
    bits = None if valid is None else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(kind, len(values), [bits, pa.py_buffer(data)])


def strings_of(values: Sequence[str]) -> Any:
    """Make an Arrow string array of a few texts, without pandas, like `column`."""
    import pyarrow as pa

    texts = [value.encode() for value in values]
    bounds = np.cumsum([0, *(len(text) for text in texts)]).astype(np.int32)
    return pa.Array.from_buffers(pa.string(), len(texts), [None, pa.py_buffer(bounds), pa.py_buffer(b"".join(texts))])


def gather(buffer: Any, starts: Places, ends: Places) -> TextColumn:
    """Copy the pieces ``buffer[start:end]``, ascending and apart from one another, into an Arrow string array."""
    return texts_of(taken(buffer, starts, ends))


def taken(buffer: Any, starts: Places, ends: Places) -> Any:
    """Copy pieces as `gather` does, into an Arrow binary array."""
    import pyarrow as pa

    count = len(starts)
    if not count:
        return pa.Array.from_buffers(pa.binary(), 0, [None, pa.py_buffer(bytes(4)), pa.py_buffer(b"")])
    # Pieces and the gaps between them are one Arrow array over the mapped bytes; taking every other item copies in C.
    bounds = np.empty(2 * count, dtype=np.int32)
    bounds[0::2] = starts
    bounds[1::2] = ends
    whole = pa.Array.from_buffers(pa.binary(), 2 * count - 1, [None, pa.py_buffer(bounds), buffer])
    return whole.take(column(np.arange(0, 2 * count, 2, dtype=np.int32)))


def binary_of(sizes: NDArray[Any], data: Any) -> Any:
    """Make an Arrow binary array of pieces that stand one after another in `data`."""
    import pyarrow as pa

    bounds = np.zeros(len(sizes) + 1, dtype=np.int32)
    np.cumsum(sizes, out=bounds[1:])
    return pa.Array.from_buffers(pa.binary(), len(sizes), [None, pa.py_buffer(bounds), pa.py_buffer(data)])


def texts_of(pieces: Any) -> TextColumn:
    """Look at an Arrow binary array (no nulls, no offset) and make strings of it."""
    import pyarrow as pa
    import pyarrow.compute as pc

    _, offset_buffer, data = pieces.buffers()
    offsets = np.frombuffer(offset_buffer, np.int32, len(pieces) + 1)
    raw = np.frombuffer(data, np.uint8, int(offsets[-1])) if data is not None else np.zeros(0, np.uint8)
    strings = pa.Array.from_buffers(pa.string(), len(pieces), [None, offset_buffer, data])
    rows = _beyond_ascii(raw, offsets)
    if not len(rows):
        return TextColumn(strings, raw, offsets, _none(), frozenset())
    invalid: dict[int, str] = {}
    few = 4 * int((offsets[rows + 1] - offsets[rows]).sum()) < len(raw)
    if few or not _is_valid(strings):
        for row in rows.tolist():
            piece = raw[offsets[row] : offsets[row + 1]].tobytes()
            try:
                piece.decode()
            except UnicodeDecodeError:
                invalid[row] = piece.decode(errors="replace")
    if invalid:
        mask = np.zeros(len(pieces), dtype=np.bool_)
        mask[list(invalid)] = True
        repaired = pa.array(list(invalid.values()), pa.string())
        strings = pc.replace_with_mask(strings, column(mask), repaired)
    return TextColumn(strings, raw, offsets, rows, frozenset(invalid))


def _beyond_ascii(raw: NDArray[np.uint8], offsets: NDArray[np.int32]) -> Places:
    """Which texts hold a byte outside ASCII."""
    if not len(raw):
        return _none()
    if len(raw) > _LONG * len(offsets):
        held = np.flatnonzero(offsets[1:] > offsets[:-1])
        beyond: Places = held[np.maximum.reduceat(raw, offsets[held]) >= _ASCII_END]
        return beyond
    if int(raw.max()) < _ASCII_END:
        return _none()
    places = np.flatnonzero(raw >= _ASCII_END)
    return np.unique(np.searchsorted(offsets, places, side="right") - 1)


def _is_valid(strings: Any) -> bool:
    import pyarrow as pa

    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return True


def code_points(texts: TextColumn, row: Places, offset: Places) -> Places:
    """Turn byte offsets into their rows to code points; an offset just past the end stays just past the end."""
    found = offset.copy()
    beyond = np.zeros(len(texts.offsets) - 1, dtype=np.bool_)
    beyond[texts.beyond_ascii] = True
    chosen = np.flatnonzero(beyond[row])
    if not len(chosen):
        return found
    rows, places = row[chosen], offset[chosen]
    begins = texts.offsets[rows].astype(np.int64)
    lengths = texts.offsets[rows + 1] - begins
    past = np.maximum(places - lengths, 0)
    continuing = _continuing(texts, np.unique(rows))
    before = np.searchsorted(continuing, begins + places - past) - np.searchsorted(continuing, begins)
    found[chosen] = places - before
    if texts.invalid:
        broken = np.isin(rows, np.fromiter(texts.invalid, np.int64))
        for at in np.flatnonzero(broken).tolist():
            piece = texts.bytes_of(int(rows[at]))[: int(places[at])]
            found[chosen[at]] = len(piece.decode(errors="replace")) + int(past[at])
    return found


def _continuing(texts: TextColumn, rows: Places) -> Places:
    """Where the bytes stand that go on with a character, in some texts at least."""
    low, high = texts.offsets[rows], texts.offsets[rows + 1]
    if 4 * int((high - low).sum()) < len(texts.raw) and len(texts.raw) > _LONG * len(texts.offsets):
        found = [_none()]
        for begin, end in zip(low.tolist(), high.tolist(), strict=True):
            found.append(np.flatnonzero((texts.raw[begin:end] & _CONTINUATION_MASK) == _CONTINUATION) + begin)
        return np.concatenate(found)
    places = np.flatnonzero(texts.raw >= _ASCII_END)
    return np.asarray(places[(texts.raw[places] & _CONTINUATION_MASK) == _CONTINUATION])


def _none() -> Places:
    return np.zeros(0, dtype=np.int64)
