"""Offsets in bytes as offsets in code points, as texts decoded with replacement characters have them, and the reverse.

Engines match bytes, and tables count code points. The work grows with the text and not with the number of offsets in
it: a line of a megabyte, such as the source of a notebook or a minified script, may have a hundred thousand matches.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np

from sourcelight.core.arrays import Int64Array, UInt8Array

_CONTINUATION_MASK, _CONTINUATION, _WIDE = 0xC0, 0x80, 0x80
"""In UTF-8, a byte continues a character if its first two bits are 10; the bytes of ASCII are below 0x80."""

_decoder = codecs.getincrementaldecoder("utf-8")


def points_in_text(text: bytes, offsets: Sequence[int]) -> list[int]:
    """Return offsets in a text, in any order; those behind it are moved to its end.

    Parameters
    ----------
    text
        Any bytes. Invalid ones are decoded as ``bytes.decode("utf-8", "replace")`` decodes them.
    offsets
        Offsets in bytes. One within a code point counts this code point, as a decoder of the bytes before it does.
    """
    if text.isascii():
        return [min(offset, len(text)) for offset in offsets]

    decoder = _decoder("replace")
    points: dict[int, int] = {}
    start = count = 0
    for offset in sorted(set(offsets)):
        count += len(decoder.decode(text[start:offset]))
        # The bytes of a code point that has only begun would be one replacement character.
        points[offset] = count + bool(decoder.getstate()[0])
        start = offset

    return [points[offset] for offset in offsets]


def spans_in_text(text: bytes, spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return spans in a text as `points_in_text` returns their starts and ends."""
    points = iter(points_in_text(text, [offset for span in spans for offset in span]))
    return list(zip(points, points, strict=True))


def offsets_in_text(text: str, points: Sequence[int]) -> list[int]:
    """Return offsets in code points as offsets in the bytes of UTF-8; those behind the text are moved to its end.

    Parameters
    ----------
    text
        A text that can be encoded.
    points
        Offsets in code points, in any order.
    """
    if text.isascii():
        return [min(point, len(text)) for point in points]

    offsets: dict[int, int] = {}
    start = size = 0
    for point in sorted(set(points)):
        size += len(text[start:point].encode())
        offsets[point] = size
        start = point

    return [offsets[point] for point in points]


def points_in_texts(
    data: UInt8Array, starts: Int64Array, columns: Sequence[Int64Array], *, is_valid: bool
) -> list[Int64Array]:
    """Return columns of offsets in texts that are parts of one buffer.

    Parameters
    ----------
    data
        All texts.
    starts
        Where the text of each row begins in it.
    columns
        Offsets from these starts, in bytes; each column has one for each row.
    is_valid
        Whether `data` is valid UTF-8.
    """
    if not len(data) or int(data.max()) < _WIDE:
        return list(columns)

    # In valid UTF-8, every byte but a continuation byte begins a code point, so an offset is less by the continuation
    # bytes before it: one binary search for each offset.
    continuations = np.flatnonzero((data & _CONTINUATION_MASK) == _CONTINUATION)
    before = np.searchsorted(continuations, starts)
    points: list[Int64Array] = [
        offsets - (np.searchsorted(continuations, starts + offsets) - before) for offsets in columns
    ]
    if is_valid:
        return points

    # Invalid bytes become replacement characters, which no count of bytes tells, so these texts are decoded.
    wide = np.flatnonzero(data & _WIDE)
    first_wide = np.searchsorted(wide, starts)
    for offsets, result in zip(columns, points, strict=True):
        rows = np.flatnonzero(first_wide < np.searchsorted(wide, starts + offsets))
        for group in equal_groups(starts[rows]):
            members = rows[group]
            start, text_offsets = int(starts[members[0]]), offsets[members]
            text = data[start : start + int(text_offsets.max())].tobytes()
            result[members] = points_in_text(text, text_offsets.tolist())

    return points


def equal_groups(values: Int64Array) -> Iterator[Int64Array]:
    """Yield the indices of each distinct value."""
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    bounds = [0, *(np.flatnonzero(ordered[1:] != ordered[:-1]) + 1).tolist(), len(values)]
    for start, end in pairwise(bounds):
        if start < end:
            yield order[start:end]
