"""Arrays of tables, packed."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.engines.symbols.table_builder import pack, unpack

numbers = st.lists(st.integers(0, 255) | st.integers(0, (1 << 32) - 1), max_size=40)


@given(numbers, st.sampled_from([np.int64, np.uint32]))
def test_numbers_come_back(values: list[int], kind: type) -> None:
    """Whatever they are, and whether they ascend or are only said to."""
    for ascending in (False, True):
        data = pack(np.array(values, dtype=kind), ascending=ascending)
        assert unpack(memoryview(data.tobytes())).tolist() == values


def test_what_ascends_takes_little_room() -> None:
    """Offsets and lines are most of a table."""
    offsets = np.cumsum(np.full(10_000, 300))
    assert pack(offsets, ascending=True).nbytes < 200 < pack(offsets).nbytes


@pytest.mark.parametrize("data", [b"", b"\x01", b"\x03\x00abc", b"\x01\x00not deflated", bytes(9)])
def test_a_damaged_array_is_refused(data: bytes) -> None:
    """As a fault of values, which makes a table count as missing."""
    with pytest.raises(ValueError, match="damaged"):
        unpack(memoryview(data))
