"""Arrays of a table, made small: differences where numbers ascend, bytes of equal weight together, then deflated.

Tables are read as a whole once and kept open, so they need not be mapped.
"""

from __future__ import annotations

import zlib
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

_LEVEL = 6


def packed(values: NDArray[Any], *, ascending: bool = False) -> NDArray[np.uint8]:
    """Pack unsigned numbers.

    Parameters
    ----------
    values
        One dimension, at most four bytes each.
    ascending
        Whether each is mostly close to the one before it.
    """
    if ascending:
        values = np.diff(values.astype(np.uint32), prepend=np.uint32(0))
    kind = np.min_scalar_type(int(values.max())) if len(values) else np.dtype(np.uint8)
    weights = values.astype(kind).view(np.uint8).reshape(-1, kind.itemsize).T
    body = zlib.compress(weights.tobytes(), _LEVEL)
    return np.frombuffer(bytes([kind.itemsize, ascending]) + body, np.uint8)


def unpacked(data: memoryview) -> Array:
    """Give the numbers back, in the narrowest type that held them; what ascends as uint32.

    Raises ValueError for what `packed` did not make.
    """
    size, ascending = data[:2] if len(data) > 1 else (0, 0)
    if size not in {1, 2, 4}:
        raise ValueError(f"a damaged array: numbers of {size} bytes")
    try:
        body = np.frombuffer(zlib.decompress(data[2:]), np.uint8)
    except zlib.error as fault:
        raise ValueError(f"a damaged array: {fault}") from fault
    values: Array = np.ascontiguousarray(body.reshape(size, -1).T).view(f"u{size}").reshape(-1)
    return np.cumsum(values, dtype=np.uint32) if ascending else values
