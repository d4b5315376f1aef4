"""An alternation of words made without a parser is the regular expression that it stands for."""

from __future__ import annotations

import random
from collections.abc import Sequence

import numpy as np
import pytest

from sourcelight.core.arrays import Int64Array
from sourcelight.core.patterns.alternative_texts import AlternativeTexts, alternative_texts
from sourcelight.core.patterns.compiled import CompiledPattern, compile_pattern
from sourcelight.core.patterns.ranges import BufferList

WORDS = ("lamp", "beam", "keep", "tower", "powers", "Lamp", "mpow")
OVERLAPPING = ("papa", "apart", "lapap", "seems", "emse", "lamp")
"""Words of which some can overlap themselves, and others cover a part of them."""


def patterns_of(words: Sequence[str]) -> tuple[AlternativeTexts, CompiledPattern]:
    """Return the pattern made without a parser, and the regular expression."""
    pattern = alternative_texts(tuple(words))
    assert isinstance(pattern, AlternativeTexts)
    return pattern, compile_pattern(f"({'|'.join(words)})", kind="regexp", case_sensitive=True)


def join_lines(lines: Sequence[str]) -> tuple[bytes, Int64Array, Int64Array]:
    """Return a text of these lines, and where each begins and ends in it."""
    text = "".join(f"{line}\n" for line in lines).encode()
    ends = np.cumsum([len(line) + 1 for line in lines]) - 1
    return text, np.concatenate(([0], ends[:-1] + 1)), ends


@pytest.mark.parametrize("seed", range(30))
def test_matches_are_those_of_the_regular_expression(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - to draw the same again
    words = chance.sample(WORDS, chance.choice((2, 3)))
    pattern, compiled = patterns_of(words)
    assert (pattern.text, pattern.kind, pattern.multi_line) == (compiled.text, compiled.kind, compiled.multi_line)
    lines = ["".join(chance.choices((*WORDS, " ", "x"), k=chance.randrange(8))) for _ in range(60)]
    text, starts, ends = join_lines(lines)
    for ours, theirs in zip(pattern.spans(text, starts, ends), compiled.spans(text, starts, ends), strict=True):
        assert ours.tolist() == theirs.tolist()
    ranges = np.array([[0, len(text)]])
    our_places, their_places = (p.text_spans(BufferList.of(text), ranges) for p in (pattern, compiled))
    assert our_places is not None
    assert their_places is not None
    assert [array.tolist() for array in our_places] == [array.tolist() for array in their_places]
    rows = {int(starts.searchsorted(offset, side="right")) for offset in pattern.lines(text, ranges).tolist()}
    assert rows == {row + 1 for row, line in enumerate(lines) if any(word in line for word in words)}


@pytest.mark.parametrize("seed", range(40))
def test_words_that_overlap_themselves_have_the_matches_of_the_regular_expression(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - to draw the same again
    words = chance.sample(OVERLAPPING, chance.choice((2, 3)))
    pattern, compiled = patterns_of(words)
    letters = ("pa", "pap", "seem", "s", "lapa", "rt", *OVERLAPPING)
    lines = ["".join(chance.choices(letters, k=chance.randrange(9))) for _ in range(60)]
    text, starts, ends = join_lines(lines)
    expected = [(row, *span) for row, line in enumerate(lines) for span in compiled.find(line.encode())]
    for checked in (pattern, compiled):
        rows = zip(*(column.tolist() for column in checked.spans(text, starts, ends)), strict=True)
        assert list(rows) == expected
    # Where no occurrence overlaps another, those of each text by itself are the matches.
    pairs = pattern.text_spans(BufferList.of(text), np.array([[0, len(text)]]))
    if pairs is not None and not (pairs[0][1:] < pairs[1][:-1]).any():
        assert pairs[0].tolist() == [int(starts[row]) + start for row, start, _ in expected]
    matched_rows = starts.searchsorted(pattern.lines(text, np.array([[0, len(text)]])), side="right") - 1
    assert set(matched_rows.tolist()) >= {row for row, _, _ in expected}


@pytest.mark.parametrize("words", [("lamp", "lamps"), ("ab", "lamp"), ("lamp", "lamp")])
def test_words_that_need_a_parser_are_left_to_it(words: tuple[str, ...]) -> None:
    assert alternative_texts(words) is None
