"""A query of a known shape is read as if nothing were known."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest

from sourcelight.core.errors import QueryError
from sourcelight.core.query import PATTERN_TYPES, Query, parse

SEED = 20_261_128
QUERIES = 4_000
PIECES = (
    *("foo", "bar_2", "a", "And", "or", "NOT", "after", "x1 y1", "(", ")", "(foo or bar)", '"foo bar"', '"a'),
    *(
        "/foo bar/",
        "/a|b/",
        "content:foo",
        '-content:"a b"',
        "repo:foo",
        "repo:has.path(a b)",
        'file:"a b"',
        "lang:go",
        "case:yes",
    ),
    *("count:all", "type:file", "patternType:regexp", "patternType:keyword", "rev:x", "select:repo", "foo:bar", "é"),
    *("\\foo", "foo,", "\x85", "after:today", "type:diff", "WordOfAShape0z"),
)


def read(text: str, pattern_type: str, *, now: datetime | None = None) -> Query | tuple[str, int | None, str]:
    try:
        return parse(text, pattern_type, now=now)
    except QueryError as error:
        return error.message, error.position, error.query


def test_random_queries_are_read_as_those_without_a_shape() -> None:
    chance = random.Random(SEED)  # noqa: S311 - to draw the same again
    now = datetime.now(UTC)
    for _ in range(QUERIES):
        text = chance.choice((" ", " ", "  ", "\t")).join(chance.choices(PIECES, k=chance.randrange(1, 7)))
        pattern_type = chance.choice(list(PATTERN_TYPES))
        # With a time of its own, a query is read without any cache.
        assert read(text, pattern_type) == read(text, pattern_type, now=now), (text, pattern_type)


@pytest.mark.parametrize("pattern_type", ["standard", "keyword", "literal"])
def test_queries_that_differ_in_words_share_their_filters(pattern_type: str) -> None:
    first, second = (parse(f"{word} repo:a case:yes", pattern_type) for word in ("first", "second"))
    assert first.plan[0].filters is second.plan[0].filters
    assert [query.plan[0].pattern for query in (first, second)] == [
        parse(word, pattern_type).root for word in ("first", "second")
    ]
