"""Offsets in code points are those in the decoded text, whatever its bytes are, and many in a line take little time."""

from __future__ import annotations

import time

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.core.code_points import equal_groups, offsets_in_text, points_in_text, points_in_texts, spans_in_text

PARTS = [
    b"a",
    b" ",
    "é".encode(),
    "日".encode(),
    "\U0001f600".encode(),
    b"\xff",
    b"\xe2\x82",
    b"\xf0\x9f",
    b"\x80",
    b"",
]
texts = st.lists(st.sampled_from(PARTS), max_size=12).map(b"".join)


def decoded_size(text: bytes, offset: int) -> int:
    return len(text[:offset].decode("utf-8", "replace"))


@settings(deadline=None)
@given(texts, st.lists(st.integers(0, 50), max_size=8))
def test_an_offset_is_the_size_of_the_decoded_text_before_it(text: bytes, offsets: list[int]) -> None:
    assert points_in_text(text, offsets) == [decoded_size(text, offset) for offset in offsets]


@settings(deadline=None)
@given(texts, st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=8))
def test_a_span_has_the_points_of_its_start_and_its_end(text: bytes, spans: list[tuple[int, int]]) -> None:
    assert spans_in_text(text, spans) == [(decoded_size(text, start), decoded_size(text, end)) for start, end in spans]


@settings(deadline=None)
@given(st.text(st.sampled_from("aé日\U0001f600 "), max_size=12), st.lists(st.integers(0, 20), max_size=8))
def test_a_point_is_the_size_of_the_encoded_text_before_it(text: str, points: list[int]) -> None:
    assert offsets_in_text(text, points) == [len(text[:point].encode()) for point in points]


@settings(deadline=None)
@given(st.lists(texts, max_size=6), st.data())
def test_offsets_in_parts_of_a_buffer_are_those_in_each_text(lines: list[bytes], data: st.DataObject) -> None:
    buffer = b"".join(line + b"\n" for line in lines)
    sizes = [len(line) + 1 for line in lines]
    rows = data.draw(st.lists(st.integers(0, len(lines) - 1), max_size=10)) if lines else []
    try:
        buffer.decode()
        is_valid = True
    except UnicodeDecodeError:
        is_valid = False
    # Spans of valid text begin and end at code points.
    columns = [[data.draw(offsets_of(lines[row], is_valid=is_valid)) for row in rows] for _ in range(2)]
    starts = np.array([sum(sizes[:row]) for row in rows], np.int64)
    points = points_in_texts(
        np.frombuffer(buffer, np.uint8), starts, [np.array(column, np.int64) for column in columns], is_valid=is_valid
    )
    for column, result in zip(columns, points, strict=True):
        assert result.tolist() == [decoded_size(lines[row], offset) for row, offset in zip(rows, column, strict=True)]


def offsets_of(line: bytes, *, is_valid: bool) -> st.SearchStrategy[int]:
    if not is_valid:
        return st.integers(0, len(line))
    return st.integers(0, len(line.decode())).map(lambda count: len(line.decode()[:count].encode()))


def test_groups_have_the_indices_of_equal_values() -> None:
    groups = [group.tolist() for group in equal_groups(np.array([3, 1, 3, 2, 1]))]
    assert groups == [[1, 4], [3], [0, 2]]
    assert list(equal_groups(np.zeros(0, np.int64))) == []


@pytest.mark.parametrize("text", ["é lamp ".encode(), b"\xff lamp "])
def test_a_long_line_with_many_matches_is_read_once(text: bytes) -> None:
    count = 200_000
    line, offsets = text * count, [len(text) * number for number in range(count)]
    began = time.process_time()
    points = points_in_text(line, offsets)
    (in_rows,) = points_in_texts(
        np.frombuffer(line, np.uint8), np.zeros(count, np.int64), [np.array(offsets)], is_valid=False
    )
    # A decoder that begins at the start of the line for each match takes some minutes.
    assert time.process_time() - began < 20
    assert points == in_rows.tolist() == [7 * number for number in range(count)]
