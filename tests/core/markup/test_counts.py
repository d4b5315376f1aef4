"""Counts read like a sentence of a person, whatever the number and the noun."""

from __future__ import annotations

import pytest

from sourcelight.core.markup import count_of, join_words, plural, singular
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


NOUNS = [
    "alias", "analysis", "api", "axis", "batch", "block", "box", "branch", "breach", "bus", "cache", "canvas", "case",
    "class", "clause", "cookie", "cpu", "database", "day", "entry", "house", "index", "key", "lease", "license",
    "match", "path", "phase", "query", "release", "repository", "response", "schema", "size", "status", "switch", "uri",
]  # fmt: skip


@pytest.mark.parametrize("noun", [*NOUNS, "redis", "kubernetes", "process", "pandas", "macos", "corpus", "https", "is"])
def test_a_singular_stays(noun: str) -> None:
    assert singular(noun) == noun


@pytest.mark.parametrize("noun", NOUNS)
def test_a_plural_has_its_singular(noun: str) -> None:
    assert singular({"axis": "axes", "analysis": "analyses"}.get(noun, plural(noun))) == noun


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
