"""Counts read like a sentence of a person, whatever the number and the noun."""

from __future__ import annotations

import pytest

from sourcelight.core.markup import count_of, join_words, plural
from sourcelight.core.markup.counts import format_wait


@pytest.mark.parametrize(
    ("noun", "nouns"),
    [
        ("file", "files"), ("repository", "repositories"), ("match", "matches"), ("branch", "branches"),
        ("class", "classes"), ("index", "indexes"), ("key", "keys"), ("day", "days"), ("person", "people"),
        ("changed directory", "changed directories"),
    ],
)  # fmt: skip
def test_a_noun_has_its_plural(noun: str, nouns: str) -> None:
    assert plural(noun) == nouns
    counts = [count_of(n, noun) for n in (0, 1, 2, 12_345)]
    assert counts == [f"0 {nouns}", f"1 {noun}", f"2 {nouns}", f"12,345 {nouns}"]


def test_words_are_joined_as_a_sentence_has_them() -> None:
    assert [join_words(list("abc")[:n]) for n in range(4)] == ["", "a", "a and b", "a, b and c"]
    assert join_words(["day", "week", "year"], "or") == "day, week or year"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "1 second"), (1.2, "2 seconds"), (119.0, "119 seconds"), (121.0, "3 minutes"), (7_199.0, "120 minutes"),
        (86_400.0, "24 hours"), (172_800.0, "2 days"), (float("inf"), "11,575 days"),
    ],
)  # fmt: skip
def test_a_wait_is_in_its_largest_unit(seconds: float, text: str) -> None:
    assert format_wait(seconds) == text
