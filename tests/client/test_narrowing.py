"""Filters added to a query hold for every one of its alternatives, however it is written."""

from __future__ import annotations

import pytest

from sourcelight.backends.remote.backend import portable
from sourcelight.client.search.explanation import add_facets
from sourcelight.core.errors import QueryError
from sourcelight.core.query import PATTERN_TYPES, Pattern, parse
from sourcelight.core.query.build import regexp, text
from sourcelight.core.query.narrowing import in_pattern_type, narrow, replace_filter, with_timeout, without_filters
from sourcelight.core.wire.events import SuggestedFilter
from sourcelight.core.wire.request import SearchRequest

QUERIES = (
    "a or b",
    "(a or b) or c",
    "a (b) or c",
    "/[)]/ or x",
    'patternType:keyword /[)]/ "import httpx"',
    "repo:x (a or repo:y b)",
    "file:a or file:b c",
    "content:a.b or d",
    "func(a, b) or c",
)


@pytest.mark.parametrize("pattern_type", PATTERN_TYPES)
@pytest.mark.parametrize("query", QUERIES)
def test_added_filters_reach_every_alternative(query: str, pattern_type: str) -> None:
    try:
        read = parse(query, pattern_type)
    except QueryError:
        return  # not a query of this type
    selected = [SuggestedFilter("lang:go", "Go", 1, True, "lang"), SuggestedFilter("lang:c", "C", 1, True, "lang")]
    for query_text in (narrow(read, [("lang", "go")]), add_facets(query, selected[:1], pattern_type)):
        plan = parse(query_text, pattern_type).plan
        assert len(plan) == len(read.plan)
        for new, old in zip(plan, read.plan, strict=True):
            assert [item.value for item in new.all("lang")] == ["go"]
            assert str(new.pattern).replace("quoted=True", "") == str(old.pattern).replace("quoted=True", "") or (
                "quoted=True" in str(new.pattern)
            )
    both = parse(add_facets(query, selected, pattern_type), pattern_type).plan
    assert sorted(item.value for part in both for item in part.all("lang")) == sorted(["c", "go"] * len(read.plan))


def test_a_service_is_asked_for_the_type_that_the_query_names() -> None:
    built = str(regexp("[)]") & text("import httpx"))
    assert portable(SearchRequest(built)).to_params()["t"] == "keyword"
    assert portable(SearchRequest("a patternType:regexp b", pattern_type="literal")).to_params()["t"] == "regexp"
    assert portable(SearchRequest("a b")).to_params()["t"] == "standard"


@pytest.mark.parametrize(
    ("query", "sent"),
    [
        ("foo", "foo timeout:1500ms"),
        ("foo timeout:5s", "foo timeout:5s"),
        ("TIMEOUT:5s foo", "TIMEOUT:5s foo"),
        ("(a timeout:5s) b", "(a timeout:5s) b"),
        ('"timeout:5s"', '"timeout:5s" timeout:1500ms'),
        ('content:"x timeout:5s"', 'content:"x timeout:5s" timeout:1500ms'),
        ("notimeout:5s", "notimeout:5s timeout:1500ms"),
        ("don't timeout:5s", "don't timeout:5s"),
        ("a or b", "(a or b) timeout:1500ms"),
        ("(a) OR (b)", "((a) OR (b)) timeout:1500ms"),
        ('"a or b"', '"a or b" timeout:1500ms'),
        ('say "hello', 'say "hello timeout:1500ms'),
        ("C:\\", "timeout:1500ms C:\\"),
        ('\\"a', '\\"a timeout:1500ms'),
        ('"a', '"a timeout:1500ms'),
        ("", "timeout:1500ms"),
        ("lang:nonsense", "lang:nonsense"),  # no query here: the service says what it makes of it
    ],
)
def test_the_time_limit_travels_as_a_filter_unless_the_query_has_one(query: str, sent: str) -> None:
    assert with_timeout(query, "keyword", "V3", 1.5) == sent
    assert with_timeout(query, "keyword", "V3", None) == query


@pytest.mark.parametrize("pattern_type", PATTERN_TYPES)
@pytest.mark.parametrize("query", [*QUERIES, "/[)]/ or x", "(/[)]/ x) or timeout:5s y", "(a timeout:1s) or b"])
def test_the_time_limit_reaches_every_alternative_and_changes_nothing_else(query: str, pattern_type: str) -> None:
    try:
        read = parse(query, pattern_type)
    except QueryError:
        return
    params = portable(SearchRequest(query, pattern_type=pattern_type, timeout_s=1.5)).to_params()
    plan = parse(params["q"], params["t"]).plan
    assert [item.timeout_s() for item in plan] == [
        old if (old := item.timeout_s()) is not None else 1.5 for item in read.plan
    ]
    assert [item.types for item in plan] == [item.types for item in read.plan]


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("a timeout:5s", "timeout:1m a"),
        ("a", "a timeout:1m"),
        ("a or b timeout:5s", "timeout:1m a or b"),
        ('"see timeout:5s" timeout:5s', 'patternType:keyword timeout:1m "see timeout:5s"'),
        ("timeout:5s", "timeout:1m"),
    ],
)
def test_a_filter_is_replaced_and_never_text(query: str, expected: str) -> None:
    assert replace_filter(parse(query, "keyword"), "timeout", "1m") == expected


def test_filters_are_left_out_and_never_text() -> None:
    assert without_filters(parse("Foo case:yes lang:go", "keyword"), {"case"}) == "Foo lang:go"
    assert without_filters(parse('f:"a b" Foo -l:go', "keyword"), {"file", "lang"}) == "Foo"
    assert without_filters(parse("case:yes", "keyword"), {"case"}) == ""
    text = without_filters(parse('case:yes "the case:yes filter"', "keyword"), {"case"})
    assert [leaf.value for leaf in (parse(text, "keyword").plan[0].pattern,) if isinstance(leaf, Pattern)] == [
        "the case:yes filter"
    ]


@pytest.mark.parametrize("query", ["a b", "a or b", '"a) b" c', "a (b or /[)]/)", "it's"])
def test_a_query_in_another_type_is_read_in_it_whatever_is_asked_for(query: str) -> None:
    text = in_pattern_type(query, "keyword")
    for requested in PATTERN_TYPES:
        read = parse(text, requested)
        assert read.pattern_type == "keyword"
        assert [item.pattern for item in read.plan] == [item.pattern for item in parse(query, "keyword").plan]
