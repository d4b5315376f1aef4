"""Scans end soon after their caller wants them to, and a class of characters is found as RE2 finds it."""

from __future__ import annotations

import re
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.core.cancellation import ScanStopped
from sourcelight.core.patterns import compile_pattern

LONG = b"ab cd, " * 30_000 + "é ".encode() + b"xyz x" * 20_000
CLASSES = st.sampled_from([".", r"\w", r"\s", "[^a]", "a", "[ab]", "é", "[^b\\n]", "(?:a)", "(?s).", r"\W", "(?i)k"])
COUNTS = st.sampled_from(["", "*", "+", "?", "{2}", "{2,}", "{1,3}", "{0,2}", "*?", "+?", "??", "{1,3}?", "{3}?"])
TEXTS = st.lists(st.sampled_from(["a", "aaa", "b", " ", "\t", "k", "\u212a", "é", "\n", "\n", "ab"]), max_size=30)


def after(calls: int) -> Callable[[], bool]:
    remaining = [calls]

    def stopped() -> bool:
        remaining[0] -= 1
        return remaining[0] < 0

    return stopped


@pytest.mark.parametrize("source", [r"[ax] ?", r"a*b*", r"\b\w", "(a|x)+", r"(?s)[ab].?", "c[^z]"])
def test_a_long_line_is_left_half_way(source: str) -> None:
    pattern = compile_pattern(source, kind="regexp", case_sensitive=True)
    with pytest.raises(ScanStopped):
        pattern.spans(LONG, [0], [len(LONG)], after(5))
    with pytest.raises(ScanStopped):
        pattern.document_spans(LONG, after(5))
    spans = pattern.document_spans(LONG).tolist()
    assert spans == [list(span) for span in pattern.find(LONG)]


def test_a_scan_for_lines_is_left_half_way() -> None:
    text = b"some words, on a line\n" * 400_000
    for source in (r"w\w+s", r"(?i)LINE$", r"\b(on|off)\b"):
        pattern = compile_pattern(source, kind="regexp", case_sensitive=True)
        with pytest.raises(ScanStopped):
            pattern.lines(text, [[0, len(text)]], after(2))


@settings(max_examples=300, deadline=None)
@given(CLASSES, COUNTS, TEXTS, st.booleans(), st.integers(0, 3))
def test_runs_of_a_class_are_what_re2_finds(
    char_class: str,
    count: str,
    blocks: list[str],
    casefolded: bool,  # noqa: FBT001 - drawn
    gap: int,
) -> None:
    pattern = compile_pattern(char_class + count, kind="regexp", case_sensitive=not casefolded)
    text = "".join(blocks).encode()
    lines = re.split(rb"\n", text)
    buffer = (b"-" * gap).join(line + b"\n" for line in lines)
    starts = np.cumsum([0, *(len(line) + 1 + gap for line in lines[:-1])])
    rows, start, end = pattern.spans(buffer, starts, starts + [len(line) for line in lines])
    expected = [(row, *span) for row, line in enumerate(lines) for span in pattern.find(line)]
    assert list(zip(rows.tolist(), start.tolist(), end.tolist(), strict=True)) == expected
    assert pattern.document_spans(text).tolist() == [list(span) for span in pattern.find(text)]
    assert pattern.find_document(text) == pattern.find(text)
