from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from sourcelight.core.boolean import ALWAYS, And, Or
from sourcelight.core.errors import PatternError
from sourcelight.core.patterns import RequiredText, RequiredTree, compile_pattern


def test_what_re2_refuses_is_a_pattern_error_with_its_reason() -> None:
    with pytest.raises(PatternError, match=r"error parsing regexp: missing \)"):
        compile_pattern("a(", kind="regexp", case_sensitive=True)


def test_spans_are_relative_to_their_line() -> None:
    buffer = b"\nxx foo foo\nfoo\n"
    pattern = compile_pattern("foo", kind="literal", case_sensitive=True)
    rows, starts, ends = pattern.spans(buffer, np.array([1, 12]), np.array([11, 15]))
    assert (rows.tolist(), starts.tolist(), ends.tolist()) == ([0, 0, 1], [3, 7, 0], [6, 10, 3])


def _full_range(buffer: bytes) -> list[tuple[int, int]]:
    return [(0, len(buffer))]


@pytest.mark.parametrize(
    ("pattern", "spans"),
    [
        (".", [(0, 1), (2, 3)]),
        (r"\W", []),
        ("[^a]", [(2, 3)]),
        (r"\x{fffd}", []),
        (r"\C", [(0, 1), (1, 2), (2, 3)]),
        ("a.*b", []),
    ],
)
def test_an_invalid_byte_matches_nothing_but_any_byte(pattern: str, spans: list[tuple[int, int]]) -> None:
    text = b"a\xffb"
    compiled = compile_pattern(pattern, kind="regexp", case_sensitive=True)
    assert compiled.find(text) == spans
    rows, lows, highs = compiled.spans(text * 100, np.arange(0, 300, 3), np.arange(3, 303, 3))
    assert list(zip(lows[rows == 99].tolist(), highs[rows == 99].tolist(), strict=True)) == spans


def test_the_carriage_return_belongs_to_the_line() -> None:
    assert compile_pattern("a$", kind="regexp", case_sensitive=True).find(b"a\r") == []
    assert compile_pattern("a.$", kind="regexp", case_sensitive=True).find(b"a\r") == [(0, 2)]


def test_k_and_s_match_their_twins_when_case_is_ignored() -> None:
    pattern = compile_pattern("tasks", kind="literal", case_sensitive=False)
    text = "x TA\u017f\u212aS\n".encode() * 3
    assert pattern.needs_fold_check
    assert pattern.required == RequiredText(b"tasks")
    assert len(pattern.lines(text, _full_range(text))) == 3
    assert pattern.find(text[:-1])[0] == (2, 10)
    assert not compile_pattern("tasks", kind="literal", case_sensitive=True).needs_fold_check


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        (r"func \w+Handler\(", And((RequiredText(b"func "), RequiredText(b"handler(")))),
        ("(TODO|FIXME|XXX)\\(", Or((RequiredText(b"fixme("), RequiredText(b"todo("), RequiredText(b"xxx(")))),
        ("abc|d.*", ALWAYS),
        ("(foo)+", RequiredText(b"foo")),
        ("x{3,}", RequiredText(b"xxx")),
        ("ab?cde", Or((RequiredText(b"abcde"), RequiredText(b"acde")))),
        ("[ab]cd[xyz]", Or(tuple(RequiredText(f"{a}cd{b}".encode()) for a in "ab" for b in "xyz"))),
        (r"\w*", ALWAYS),
    ],
)
def test_required_texts_are_as_long_as_they_can_be(pattern: str, required: object) -> None:
    assert compile_pattern(pattern, kind="regexp", case_sensitive=True).required == required


@pytest.mark.parametrize(
    "pattern", [r"a\sb", "[^x]", "(?s).", r"\W", r"\D", r"\n", r"\PL", r"[[:^alpha:]]", r"\Aa", r"a\z"]
)
def test_what_can_cross_lines_or_names_the_ends_of_the_text_is_multi_line(pattern: str) -> None:
    assert compile_pattern(pattern, kind="regexp", case_sensitive=True).multi_line


@pytest.mark.parametrize("pattern", ["a.b", r"\w+", "[a-z]", "^a$", r"\bfoo\b", r"[^\n]", r"[^\s]", r"\S"])
def test_what_stays_in_a_line_is_not_multi_line(pattern: str) -> None:
    assert not compile_pattern(pattern, kind="regexp", case_sensitive=True).multi_line


def test_a_regexp_that_is_a_plain_text_is_a_literal() -> None:
    pattern = compile_pattern(r"foo\.\Qba(r\E", kind="regexp", case_sensitive=True)
    assert (pattern.literal, pattern.exact) == (b"foo.ba(r", True)
    assert pattern.count(b"foo.ba(r foo.ba(r\n", [(0, 18)]) == 2


@pytest.mark.parametrize(
    "pattern", ["(?:[a-f]{500}[^x]{900}){1}q", "(a.{1,40}b){1,20}", "a^b|needle", "(((((((((((x)))))))))))"]
)
def test_patterns_with_large_automata_still_find_their_lines(pattern: str) -> None:
    text = b"needle\nx\n" + b"a" * 500 + b"z" * 900 + b"q\nayyb\n"
    compiled = compile_pattern(pattern, kind="regexp", case_sensitive=True)
    assert compiled.find_document(text)
    assert len(compiled.lines(text, _full_range(text)))


def test_where_everything_matches_every_line_is_reported_once() -> None:
    text = b"abcdefghijklmnop qrstuvwxyz\n" * 8000
    assert len(compile_pattern(r"\w+", kind="regexp", case_sensitive=True).lines(text, _full_range(text))) == 8000


def test_threads_can_scan_with_one_pattern() -> None:
    text = b"package main\nfunc fooHandler(x)\n" * 2000
    pattern = compile_pattern(r"func \w+Handler\(", kind="regexp", case_sensitive=True)
    with ThreadPoolExecutor(8) as pool:
        results = list(pool.map(lambda _: len(pattern.lines(text, _full_range(text))), range(64)))
    assert set(results) == {2000}


def test_a_document_match_crosses_lines_with_anchors_at_line_bounds() -> None:
    pattern = compile_pattern(r"^b\s+^c$", kind="regexp", case_sensitive=True)
    assert pattern.find_document(b"a\nb\n\nc\nd") == [(2, 6)]
    assert pattern.count(b"a\nb\n\nc\nd\n", [(0, 9)]) == 1


def test_three_thousand_words_are_one_pattern() -> None:
    pattern = compile_pattern("|".join(f"word{n}x" for n in range(3000)), kind="regexp", case_sensitive=True)
    text = b"a\nb word2999x\n" * 100
    assert len(pattern.lines(text, _full_range(text))) == 100


@pytest.mark.parametrize(
    ("pattern", "required"),
    [
        (r"func \w+Handler\(", And((RequiredText(b"func "), RequiredText(b"Handler(")))),
        ("(TODO|fixme)", Or((RequiredText(b"TODO"), RequiredText(b"fixme")))),
        # Of a set with both cases, the lower case says more.
        ("[Tt]odo", None),
        ("(?i)todo", None),
    ],
)
def test_required_texts_as_written(pattern: str, required: RequiredTree | None) -> None:
    assert compile_pattern(pattern, kind="regexp", case_sensitive=True).required_as_written == required
    assert compile_pattern(pattern, kind="regexp", case_sensitive=False).required_as_written is None
