"""Words and identifiers of parsed files, in every language that has rules."""

from __future__ import annotations

import pytest

from sourcelight.engines.navigation.languages import LANGUAGES, resolver_of

TEXTS = {
    "Python": "def area(x):\n    return area2(x) + area(1)  # area\n",
    "Go": 'package p\nfunc area(x int) int { return area2(x) + area(1) } // area "area"\n',
    "TypeScript": 'function area(x) { return area2(x) + $area + area$ + area(1) } // area "area"\n',
    "TSX": "const area = (x) => <b>{area(x)} area</b>\n",
    "JavaScript": "function area(x) { return area2(x) + area(1) } // area\n",
    "Java": "class A { int area(int x) { return area2(x) + area(1); } } // area\n",
    "C": "int area(int x) { return area2(x) + area(1); } // area\n",
    "C++": "int area(int x) { return area2(x) + area(1); } // area\n",
    "Rust": "fn area(x: i32) -> i32 { area2(x) + area(1) } // area\n",
    "C#": "class A { int area(int x) { return area2(x) + area(1); } } // area\n",
}


@pytest.mark.parametrize("language", sorted(TEXTS))
def test_identifiers_are_whole_words_outside_of_comments_and_strings(language: str) -> None:
    resolver = resolver_of(language)
    assert resolver is not None
    text = TEXTS[language].encode()
    parsed = resolver.parse(language, text)
    assert parsed is not None
    result = resolver.occurrences(parsed, b"area")
    assert [text[item.start : item.end] for item in result] == [b"area"] * 2
    assert [item.is_called for item in result] == [False, True]
    assert resolver.occurrence_at(parsed, result[1].end) == resolver.occurrence_at(parsed, result[1].start) == result[1]


@pytest.mark.parametrize("language", ["Python", "Go", "TypeScript", "Java", "C", "Rust", "C#"])
def test_every_place_of_a_name_counts_however_many_there_are(language: str) -> None:
    resolver = resolver_of(language)
    assert resolver is not None
    line = {"Python": "n = 1\n", "Go": "var n = 1\n", "TypeScript": "n = 1\n", "Java": "class n {}\n", "C": "int n;\n",
            "Rust": "struct n;\n", "C#": "class n {}\n"}[language]  # fmt: skip
    head = "package p\n" if language == "Go" else ""
    parsed = resolver.parse(language, (head + line * 6_000).encode())
    assert parsed is not None
    assert len(resolver.occurrences(parsed, b"n")) == 6_000


def test_the_table_has_every_name_of_a_language() -> None:
    names: set[str] = set()
    for name in LANGUAGES:
        resolver = resolver_of(name)
        assert resolver is not None
        assert name in resolver.language.names
        names |= set(resolver.language.names)
    assert names == set(LANGUAGES)
