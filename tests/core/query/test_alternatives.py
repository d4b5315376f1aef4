"""What an engine asks an alternative, and what it refuses by name."""

import pytest

from sourcelight.core.errors import UnsupportedQuery
from sourcelight.core.query import Alternative, parse
from sourcelight.core.query.parse import refuse_unsupported


def only(text: str) -> Alternative:
    (alternative,) = parse(text, "keyword").plan
    return alternative


def test_values_are_read_by_type() -> None:
    alternative = only(
        "repo:a repo:b@v1:v2 -repo:c file:d count:7 timeout:1m30s case:T fork:ONLY archived:1 visibility:Private "
        "select:symbol.class file:has.owner(x) z"
    )
    assert [node.value for node in alternative.all("repo")] == ["a", "b", "c"]
    first = alternative.first("repo")
    assert first is not None
    assert first.value == "a"
    assert alternative.revisions(first) == ()
    assert alternative.revisions(alternative.all("repo")[1]) == ("v1", "v2")
    assert (alternative.count_limit(), alternative.timeout_s(), alternative.case_sensitive()) == (7, 90.0, True)
    assert (alternative.yes_no_only("fork"), alternative.yes_no_only("archived"), alternative.yes_no_only("index")) == (
        "only",
        "yes",
        None,
    )
    assert (alternative.visibility(), alternative.select()) == ("private", ("symbol", "class"))
    assert [node.name for node in alternative.predicates("file")] == ["has.owner"]
    assert alternative.predicates("repo") == ()


def test_what_is_not_given_has_its_default() -> None:
    alternative = only("z")
    assert alternative.first("repo") is None
    assert (
        alternative.count_limit(),
        alternative.count_limit(30),
        alternative.timeout_s(),
        alternative.case_sensitive(),
    ) == (None, 30, None, False)
    assert (alternative.yes_no_only("fork"), alternative.visibility(), alternative.select()) == (None, "any", ())
    assert only("count:all z").count_limit(30) is None


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("300ms", 0.3), ("1h2m3s", 3723), ("1.5s", 1.5), (".5s", 0.5), ("0", 0), ("-2s", 0), ("+2s", 2), ("10us", 1e-5)],
)
def test_durations_are_seconds(text: str, seconds: float) -> None:
    assert only(f"timeout:{text} z").timeout_s() == pytest.approx(seconds)


def test_rev_counts_for_every_repository() -> None:
    alternative = only("repo:a rev:v1:*refs/tags/*")
    assert alternative.revisions(alternative.all("repo")[0]) == ("v1", "*refs/tags/*")


TEXT_SEARCH = frozenset({
    "repo", "file", "lang", "case", "count", "timeout", "fork", "archived", "visibility", "patterntype",
    "type:file", "type:path", "type:repo", "context:global",
})  # fmt: skip
"""What an engine says that searches the text of HEAD alone."""


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("repo:a@v1 x", "repo:a@v1"),
        ("repo:a rev:v1 x", "rev:"),
        ("author:a type:commit x", "author:"),
        ("type:symbol x", "type:symbol"),
        ("type:diff x", "type:diff"),
        ("select:repo x", "select:"),
        ("repo:has.path(a) x", "repo:has.path"),
        ("file:has.owner(a) x", "file:has.owner"),
        ("context:mine x", "context:mine"),
        ("index:no x", "index:"),
        ("repohasfile:a x", "repohasfile:"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(text: str, name: str) -> None:
    with pytest.raises(UnsupportedQuery, match="not supported here yet") as caught:
        refuse_unsupported(only(text), TEXT_SEARCH)
    assert name in caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "a and (b or not /c/) content:d",
        "repo:a@HEAD -repo:b file:c -file:d lang:go case:yes count:all timeout:5s x",
        "repo:a@ fork:yes archived:no visibility:public context:global patterntype:keyword x",
        "type:file type:path type:repo x",
        "type:nonsense x",
        "repo:a",
    ],
)
def test_what_text_search_answers_is_let_through(text: str) -> None:
    refuse_unsupported(only(text), TEXT_SEARCH)


def test_an_engine_that_can_more_says_so() -> None:
    extra = TEXT_SEARCH | {"repo@", "context", "type:symbol", "repo:has.path", "select", "rev"}
    refuse_unsupported(only("repo:a@v1 context:mine type:symbol repo:has.path(x) select:repo y"), extra)
    refuse_unsupported(only("repo:a rev:v1 y"), extra)
