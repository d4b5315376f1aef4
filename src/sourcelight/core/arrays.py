"""Types of numpy arrays under one name each, for signatures of the engines."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Int64Array: TypeAlias = NDArray[np.int64]
"""Numbers, ids and offsets: int64 holds a byte offset into all shards of a search."""

BoolArray: TypeAlias = NDArray[np.bool_]
"""A mask over rows, files, documents or units."""

Float64Array: TypeAlias = NDArray[np.float64]
"""Scores and weights."""

UInt8Array: TypeAlias = NDArray[np.uint8]
"""Bytes of text, and small codes."""

AnyArray: TypeAlias = NDArray[Any]
"""An array whose dtype its file says: sections store the narrowest type that fits."""
