"""Texts that stand everywhere are found in all places of a block at once: the same places as one after another."""

from __future__ import annotations

import random
import re
from itertools import pairwise

import numpy as np
import pytest

from sourcelight.core.patterns.ranges import BLOCK, find_texts, skip_empty


@pytest.mark.parametrize("text", [b"ab", b"abc", b"aa", b"aba", b"ca\n", b"bcab"])
def test_dense_texts_are_found_where_a_walk_from_the_left_finds_them(text: bytes) -> None:
    letters = random.Random(1)  # noqa: S311 - a seed for the test
    data = bytes(letters.choices(b"abc\n", k=3 * BLOCK + 17))
    ranges = np.array([[0, BLOCK + 1], [BLOCK + 2, BLOCK + 3], [BLOCK + 3, 2 * BLOCK], [2 * BLOCK + 5, len(data)]])
    pattern = re.compile(re.escape(text))
    expected = [match.start() for start, end in ranges.tolist() for match in pattern.finditer(data, start, end)]
    assert find_texts(memoryview(data), text, ranges).tolist() == expected


@pytest.mark.parametrize("bounds", [[0, 0, 3, 3, 5], [0, 2, 2, 2, 2], [0, 0], [0], [0, 1, 2, 3], [1, 1, 4]])
def test_ranges_that_are_not_empty_keep_their_numbers(bounds: list[int]) -> None:
    expected = [(number, start, end) for number, (start, end) in enumerate(pairwise(bounds)) if start < end]
    assert list(skip_empty(bounds)) == expected
