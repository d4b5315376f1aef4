"""Whatever is typed: an answer or a QueryError with a position, soon, and never a crash."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Or, Query, canonical, parse
from sourcelight.core.query.alternatives import MAX_ALTERNATIVES

TYPES = ("keyword", "standard", "regexp", "literal")
SIZE = 100_000
_BLOCKS = {
    "opening parens": "(",
    "closing parens": ")",
    "nested words": "a(",
    "words in groups": "x(a ",
    "chained groups": "(a)",
    "chained words": "(a)x",
    "double quotes": '"a ',
    "single quotes": "'a ",
    "escaped quotes": '\\"',
    "slashes": "/a ",
    "backslashes": "\\",
    "operators": "or ",
    "and or": "a and b or ",
    "negations": "not ",
    "negated words": "not a ",
    "filters": "f:a ",
    "empty filters": "f: ",
    "open values": "f:(a ",
    "open predicates": "r:has.path(( ",
    "predicates": "r:has.path(a) ",
    "filter alternatives": "f:a or ",
    "groups of filters": "(f:a or f:b) ",
    "words": "ab ",
    "colons": ":",
    "letters": "a",
    "spaces": " ",
    "no-break spaces": "a\xa0",
    "nul": "\0",
    "astral": "\U0001f600 ",
    "minus": "-",
    "pattern types": "patterntype:regexp ",
}


def read(text: str, pattern_type: str) -> Query | QueryError:
    try:
        return parse(text, pattern_type)
    except QueryError as error:
        return error


def read_within(text: str, pattern_type: str, seconds: float) -> None:
    start = time.process_time()
    result = read(text, pattern_type)
    assert time.process_time() - start < seconds
    assert isinstance(result, Query) or result.message


@pytest.mark.parametrize("pattern_type", ["keyword", "regexp"])
@pytest.mark.parametrize("block", _BLOCKS.values(), ids=list(_BLOCKS))
def test_a_hundred_kilobytes_of_anything_are_read_soon(block: str, pattern_type: str) -> None:
    read_within(block * (SIZE // len(block)) + "or f:b)", pattern_type, 5)


@pytest.mark.parametrize("pattern_type", TYPES)
@pytest.mark.parametrize("end", ["", "\\"], ids=["plain", "late backslash"])
def test_repetitions_of_anything_are_read_soon(pattern_type: str, end: str) -> None:
    for block in _BLOCKS.values():
        read_within(block * (SIZE // 20 // len(block)) + end, pattern_type, 1)


@pytest.mark.parametrize("pattern_type", TYPES)
def test_ten_thousand_alternatives_of_patterns_are_one_alternative(pattern_type: str) -> None:
    query = parse(" or ".join(f"term{number}" for number in range(10_000)), pattern_type)
    assert len(query.plan) == 1
    assert isinstance(query.root, Or)
    assert len(query.root.args) == 10_000
    assert len(canonical(query.root)["args"]) == 10_000


def test_filters_make_at_most_ten_thousand_alternatives() -> None:
    assert len(parse(" or ".join(f"f:{number}" for number in range(MAX_ALTERNATIVES))).plan) == MAX_ALTERNATIVES
    with pytest.raises(QueryError, match="too many alternatives") as caught:
        parse(" ".join(["(f:a or f:b)"] * 14))
    assert "file:(a|b|c)" in caught.value.hint


def test_deep_groups_are_refused_and_deep_text_is_not() -> None:
    deep = "(" * 10_000 + "a" + ")" * 10_000
    with pytest.raises(QueryError, match="deeper than 100") as caught:
        parse(deep, "keyword")
    assert caught.value.position == 100
    assert canonical(parse(deep, "literal").root) == {"pattern": deep, "kind": "literal"}
    assert parse("(" * 90 + "a or b" + ")" * 90, "keyword").root == parse("a or b", "keyword").root


def test_text_that_is_not_unicode_is_refused_with_its_place() -> None:
    with pytest.raises(QueryError, match="not valid Unicode") as caught:
        parse("é\udc80")
    assert caught.value.position == 2


def test_a_million_bytes_are_the_limit() -> None:
    with pytest.raises(QueryError, match="at most 1,000,000"):
        parse("a" * 1_000_001)


def test_positions_are_byte_offsets() -> None:
    for text, position in (
        ("é é )", 6),
        ("é or or b", 6),
        ("é lang:nope", 3),
        ("é case:yes  case:no", 3),
        ("é file:[", 8),
        ('é file:"a', 8),
    ):
        with pytest.raises(QueryError) as caught:
            parse(text, "keyword")
        assert caught.value.position == position, text


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("standard", "V3"), "standard"),
        (("lucky", "V3"), "standard"),
        ((None, "V1"), "regexp"),
        ((None, "V2"), "literal"),
        (("", "V3"), "standard"),
        (("keyword", "V1"), "keyword"),
    ],
)
def test_the_requested_type_wins_over_the_version(arguments: tuple[str | None, str], expected: str) -> None:
    assert parse("a b", arguments[0], version=arguments[1]).pattern_type == expected


def test_unknown_types_and_versions_are_refused() -> None:
    with pytest.raises(QueryError, match='unrecognized patternType "structural"'):
        parse("a", "structural")
    with pytest.raises(QueryError, match='unrecognized version "V9"'):
        parse("a", None, version="V9")


@pytest.mark.parametrize("text", ["", " ", "\n\t\xa0\u3000"])
def test_a_blank_query_has_no_root_and_no_alternatives(text: str) -> None:
    query = parse(text)
    assert (query.root, query.plan) == (None, ())


@settings(deadline=None)
@given(st.text(st.characters(codec="utf-8"), max_size=60), st.sampled_from(TYPES))
def test_any_text_is_read_or_refused(text: str, pattern_type: str) -> None:
    result = read(text, pattern_type)
    if isinstance(result, Query):
        assert (result.root is None) == (not result.plan)
        return
    assert result.stage in {"parse", "validate"}
    assert result.query == text
    assert result.position is None or 0 <= result.position <= len(text.encode())
