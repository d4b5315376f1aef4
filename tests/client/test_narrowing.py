"""Filters added to a query hold for every one of its alternatives, however it is written."""

from __future__ import annotations

import pytest

from sourcelight.backends.remote.crossing import portable
from sourcelight.client.faceting import faceted
from sourcelight.core.errors import QueryError
from sourcelight.core.query import PATTERN_TYPES, parse
from sourcelight.core.query.build import regexp, text
from sourcelight.core.query.narrowing import narrowed
from sourcelight.core.wire.events import Filter
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
    chosen = [Filter("lang:go", "Go", 1, True, "lang"), Filter("lang:c", "C", 1, True, "lang")]
    for written in (narrowed(read, [("lang", "go")]), faceted(query, chosen[:1], pattern_type)):
        plan = parse(written, pattern_type).plan
        assert len(plan) == len(read.plan)
        for new, old in zip(plan, read.plan, strict=True):
            assert [item.value for item in new.all("lang")] == ["go"]
            assert str(new.pattern).replace("quoted=True", "") == str(old.pattern).replace("quoted=True", "") or (
                "quoted=True" in str(new.pattern)
            )
    both = parse(faceted(query, chosen, pattern_type), pattern_type).plan
    assert sorted(item.value for part in both for item in part.all("lang")) == sorted(["c", "go"] * len(read.plan))


def test_a_service_is_asked_for_the_type_that_the_query_names() -> None:
    built = str(regexp("[)]") & text("import httpx"))
    assert portable(SearchRequest(built)).to_params()["t"] == "keyword"
    assert portable(SearchRequest("a patternType:regexp b", pattern_type="literal")).to_params()["t"] == "regexp"
    assert portable(SearchRequest("a b")).to_params()["t"] == "standard"
