"""Operations on arrays of numbers, compared with plain loops."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.arrays import distinct, runs, unique_sorted

numbers = st.lists(st.integers(-3, 3), max_size=20)
few = st.lists(st.tuples(st.integers(0, 1000), st.integers(0, 4)), max_size=20)


@given(few | few.map(lambda pairs: [(start, 1) for start, _ in pairs]))
def test_runs_are_the_numbers_of_each_range_one_after_another(ranges: list[tuple[int, int]]) -> None:
    starts = np.array([start for start, _ in ranges], np.int64)
    lengths = np.array([length for _, length in ranges], np.int64)
    expected = [number for start, length in ranges for number in range(start, start + length)]
    result = runs(starts, lengths)
    assert result.tolist() == expected
    assert result.dtype == np.int64


@given(numbers)
def test_each_number_is_kept_once(values: list[int]) -> None:
    expected = sorted(set(values))
    assert unique_sorted(np.array(sorted(values), np.int64)).tolist() == expected
    assert distinct(np.array(values, np.int64)).tolist() == expected
