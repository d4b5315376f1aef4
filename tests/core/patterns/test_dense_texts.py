"""Texts that stand everywhere are found in all places of a block at once: the same places as one after another."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from sourcelight.core.patterns.ranges import BLOCK, find_texts


@pytest.mark.parametrize("text", [b"ab", b"abc", b"aa", b"aba", b"ca\n", b"bcab"])
def test_dense_texts_are_found_where_a_walk_from_the_left_finds_them(text: bytes) -> None:
    letters = random.Random(1)  # noqa: S311 - a seed for the test
    data = bytes(letters.choices(b"abc\n", k=3 * BLOCK + 17))
    ranges = np.array([[0, BLOCK + 1], [BLOCK + 2, BLOCK + 3], [BLOCK + 3, 2 * BLOCK], [2 * BLOCK + 5, len(data)]])
    pattern = re.compile(re.escape(text))
    expected = [match.start() for start, end in ranges.tolist() for match in pattern.finditer(data, start, end)]
    assert find_texts(memoryview(data), text, ranges).tolist() == expected
