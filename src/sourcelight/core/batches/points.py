"""Code points and bytes of many texts at once, which lie one after the other in one buffer."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.int64]


def text_of(column: Any) -> tuple[Numbers, NDArray[np.uint8]]:
    """Where each text of a column without nulls starts (and the last one ends), and the UTF-8 of all."""
    bounds = np.frombuffer(column.buffers()[1], np.int32)[: len(column) + 1].astype(np.int64)
    data = column.buffers()[2]
    return bounds, np.frombuffer(data, np.uint8)[: bounds[-1]] if data is not None else np.zeros(0, np.uint8)


class Points:
    """Conversion between places in UTF-8 counted in bytes and in code points, both from the start of the buffer.

    It costs little where text is mostly ASCII: only the bytes that go on a code point are held.
    """

    def __init__(self, text: NDArray[np.uint8]) -> None:
        self._inner = np.flatnonzero(text.view(np.int8) < -64)
        self._reached = self._inner - np.arange(len(self._inner))

    @property
    def ascii(self) -> bool:
        """Whether bytes and code points are the same."""
        return not len(self._inner)

    def before(self, byte: Numbers) -> Numbers:
        """How many code points start before each of the places `byte`."""
        return byte if self.ascii else byte - np.searchsorted(self._inner, byte)

    def byte(self, point: Numbers) -> Numbers:
        """The byte at which each of the code points `point` starts; the inverse of `before`."""
        return point if self.ascii else point + np.searchsorted(self._reached, point, side="right")
