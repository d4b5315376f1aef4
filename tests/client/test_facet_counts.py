"""Each number beside a suggested filter is what it says, such as the matches of the search with that filter."""

from __future__ import annotations

import pytest

import sourcelight as sl
from sourcelight.client.search.explanation import add_facets
from sourcelight.core.wire.events import SuggestedFilter, facet_title

QUERIES = (
    "session",  # in lines, in paths, in both
    "/test.*/ count:all",
    "parse or import",
    "type:symbol get",
    "fix type:commit",
    "error type:diff",
    "test type:path",
    "select:file test",
    "select:repo test",
    "select:file.directory test",
    "error fork:yes -file:md",
)


def suggestions(result: sl.SearchResult) -> list[SuggestedFilter]:
    """The rows of `filters` as events have them."""
    rows = result.filters.drop(columns="unit").to_dict("records")
    return [SuggestedFilter(**{str(name): value for name, value in row.items()}) for row in rows]


@pytest.mark.parametrize("query", QUERIES)
def test_the_search_with_a_facet_has_what_its_number_says(embedded: sl.Client, query: str) -> None:
    result = embedded.search(query, progress=False)
    assert len(result.filters)
    for item in suggestions(result)[:25]:
        assert item.exhaustive
        if item.kind == "utility":
            assert item.unit == "repositories left out"
            continue
        narrowed = embedded.search(add_facets(query, [item]), progress=False)
        counts = {
            "matches": narrowed.match_count,
            "matches left out": result.match_count - narrowed.match_count,
            "commits": len(narrowed.matches[["repository", "commit"]].drop_duplicates()),
        }
        assert counts[item.unit] == item.count, item


def test_titles_say_what_is_counted_unless_it_is_matches_of_one_kind_each(embedded: sl.Client) -> None:
    def titles(query: str) -> set[str]:
        filters = suggestions(embedded.search(query, progress=False))
        return {
            facet_title(kind, [item for item in filters if item.kind == kind])
            for kind in {item.kind for item in filters}
        }

    assert titles("test") >= {"lang", "repo", "type (matches; a file may be of both)"}
    assert titles("fix type:commit") >= {"author (commits)", "commit date (commits)"}
    assert not {title for title in titles("select:file test") if title.startswith("type")}


def test_a_filter_that_needs_the_types_of_the_query_can_be_added(embedded: sl.Client) -> None:
    """`author:` alone is no query, and the panel is of one that has `type:commit`."""
    result = embedded.search("fix type:commit", progress=False)
    panel = result.facets()
    (author, *_) = [item.value for item in suggestions(result) if item.kind == "author"]
    assert panel.choose(author) == f"{author} fix type:commit"
    assert panel.search().match_count
