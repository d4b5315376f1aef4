"""Number the distinct texts of a segment, so that each is stored once, and join texts into sections of its file.

The lines ``a b a c`` become the texts ``a b c`` and the numbers 0, 1, 0, 2. A *section* is an array in the file of a
segment. Texts take two: all bytes in a row (``abc``), and where each text starts (0, 1, 2 and the end, 3).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from sourcelight.core.arrays import AnyArray, Int64Array, UInt8Array

if TYPE_CHECKING:
    import pyarrow as pa

TextGroup: TypeAlias = tuple[UInt8Array, Int64Array]
"""Texts in a row, and where each starts, with the end of the last."""

MAX_PYTHON_TEXTS = 20_000
"""Texts that are numbered without Arrow: to import it takes longer than to number so few."""


@dataclass(frozen=True, slots=True)
class DistinctTexts:
    """The distinct texts of some groups, in order of first occurrence.

    Parameters
    ----------
    numbers
        For each group, the number of each of its texts.
    texts
        All distinct texts in a row.
    starts
        Where each of them starts, and the end of the last.
    """

    numbers: list[NDArray[np.int32]]
    texts: UInt8Array
    starts: Int64Array


def number_texts(groups: Sequence[TextGroup]) -> DistinctTexts:
    """Assign numbers to the distinct texts of groups of texts."""
    if sum(len(starts) - 1 for _, starts in groups) <= MAX_PYTHON_TEXTS:
        return _number_in_python(groups)
    return _number_in_arrow(groups)


def byte_section(name: str, texts: Sequence[bytes]) -> dict[str, AnyArray]:
    """Return the sections of texts: ``paths`` and ``path_starts`` for the name ``paths``."""
    starts = np.zeros(len(texts) + 1, np.uint32)
    np.cumsum([len(text) for text in texts], out=starts[1:])
    singular = name[:-1]
    return {name: np.frombuffer(b"".join(texts), np.uint8), f"{singular}_starts": starts}


def _number_in_python(groups: Sequence[TextGroup]) -> DistinctTexts:
    text_numbers: dict[bytes, int] = {}
    numbers = []
    for texts, starts in groups:
        raw = texts.tobytes()
        # A new text gets the next number, a known one keeps its own; the dictionary stays in the order of both.
        group_numbers = np.empty(len(starts) - 1, np.int32)
        for index, (start, end) in enumerate(pairwise(starts.tolist())):
            group_numbers[index] = text_numbers.setdefault(raw[start:end], len(text_numbers))
        numbers.append(group_numbers)

    distinct_starts = np.cumsum([0, *map(len, text_numbers)], dtype=np.int64)
    return DistinctTexts(numbers, np.frombuffer(b"".join(text_numbers), np.uint8), distinct_starts)


def _number_in_arrow(groups: Sequence[TextGroup]) -> DistinctTexts:
    import pyarrow as pa

    encoded = pa.chunked_array(map(_to_arrow, groups), pa.large_binary()).dictionary_encode()
    numbers = [_to_numpy(chunk.indices) for chunk in encoded.chunks]

    # Arrow may return other chunks than it was given; their concatenation is the same.
    if len(numbers) != len(groups):
        group_ends = np.cumsum([len(starts) - 1 for _, starts in groups])
        numbers = np.split(np.concatenate(numbers), group_ends[:-1])

    # dictionary_encode() gives all chunks one dictionary, in the order of first occurrence.
    dictionary = encoded.chunks[-1].dictionary
    _, starts_buffer, texts_buffer = dictionary.buffers()
    distinct_starts = np.frombuffer(starts_buffer, np.int64, len(dictionary) + 1, 8 * dictionary.offset)

    # Arrow has no buffer for texts that are all empty.
    if texts_buffer is None:
        return DistinctTexts(numbers, np.zeros(0, np.uint8), distinct_starts)
    return DistinctTexts(numbers, np.frombuffer(texts_buffer, np.uint8, int(distinct_starts[-1])), distinct_starts)


def _to_arrow(group: TextGroup) -> pa.LargeBinaryArray:
    import pyarrow as pa

    texts, starts = group
    # Offsets of 64 bits: the texts of all groups together may exceed the 2 GiB of Arrow's plain binary type.
    buffers = [None, pa.py_buffer(starts), pa.py_buffer(texts)]
    return pa.LargeBinaryArray.from_buffers(pa.large_binary(), len(starts) - 1, buffers)


def _to_numpy(indices: pa.Int32Array) -> NDArray[np.int32]:
    """Return Arrow's numbers as an array, without the conversion of Arrow that imports pandas."""
    return np.frombuffer(indices.buffers()[1], np.int32, len(indices), 4 * indices.offset)
