"""Completion offers filters and values that mean what they say, and stays out of everything else."""

from __future__ import annotations

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcelight.core.query import parse
from sourcelight.lab.magics.suggestions import decode_literal, encode_literal, literal_at, suggest, term_of

NAMES = {
    "repository": ("github.com/redis/redis", "github.com/o/my.repo"),
    "language": ("Go", "Jupyter Notebook"),
    "author": ("Ann O'Brien", "Bob (bot)"),
    "path": ("src/a.py",),
}


def texts(query: str) -> list[str]:
    """What is offered at the end of a query."""
    return [item.text for item in suggest(query, lambda kind: NAMES[kind])[1]]


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("rep", "repo:"),
        ("-rep", "-repo:"),
        ("foo au", "author:"),
        ("foo or (lan", "lang:"),
        ("l", "lang:"),
        ("repo:redis", r"^github\.com/redis/redis$"),
        (r"repo:^github\.com/o", r"^github\.com/o/my\.repo$"),
        ("-r:my", r"^github\.com/o/my\.repo$"),
        ("lang:jup", '"jupyter notebook"'),
        ("lang:", "go"),
        ("author:ann", '''"Ann O'Brien"'''),
        ('author:"Bo', r'"Bob \\(bot\\)"'),
        ("file:a", r"^src/a\.py$"),
        ("type:di", "diff"),
        ("case:", "yes"),
        ("after:", "yesterday"),
        ("before:las", '"last week"'),
        ("count:", "all"),
        ("patterntype:s", "standard"),
    ],
)
def test_the_likeliest_comes_first(query: str, first: str) -> None:
    assert texts(query)[0] == first


@pytest.mark.parametrize(
    "query", ["foo", "foo:bar", "absent:x", "repo:nothing", "type:diff", "12", "-case", "/re", "{x"]
)
def test_nothing_is_offered_where_nothing_fits(query: str) -> None:
    assert texts(query) in ([], ["repo:"] if query == "/re" else [])


@pytest.mark.parametrize("query", ["", "x ", "x (", '"a b" ', "repo:has.file(path:x) "])
def test_behind_a_blank_every_filter_is_offered(query: str) -> None:
    assert {"repo:", "lang:", "author:", "type:"} <= set(texts(query))


def test_predicates_are_offered() -> None:
    assert "has.content(" in texts("repo:has")


def test_every_value_offered_is_a_query_that_can_be_read() -> None:
    for field in ("repo", "lang", "author", "committer", "file", "type", "case", "fork", "archived", "visibility",
                  "patterntype", "count", "timeout", "before", "after", "select"):  # fmt: skip
        for value in texts(f"{field}:"):
            kind = {"author": "type:commit ", "committer": "type:commit ", "before": "type:commit ",
                    "after": "type:commit "}.get(field, "")  # fmt: skip
            parse(f"{kind}{field}:{value} x")


@given(st.text(alphabet="ab :\"'\\/()-", max_size=20))
def test_the_term_is_the_end_of_the_query(query: str) -> None:
    assert query.endswith(term_of(query))


@pytest.mark.parametrize(
    ("code", "callee", "argument", "text"),
    [
        ('code.search("repo:re', "code.search", "0", "repo:re"),
        ("x = await code.search('a b", "code.search", "0", "a b"),
        ('code.search(\n  r"""a\nb', "code.search", "0", "a\nb"),
        ('code.export("q', "code.export", "0", "q"),
        ('code.export(path=f(1, 2), query="q', "code.export", "query", "q"),
        ('code.search_many({"a": "q', "code.search_many", "0", "q"),
        ('code.search_many(["a", "q', "code.search_many", "0", "q"),
        ("# it's\ncode.search('q", "code.search", "0", "q"),
        ('f(")")\ncode . search("q', "code.search", "0", "q"),
        ('code.search("a\\"b', "code.search", "0", 'a\\"b'),
    ],
)
def test_a_text_in_a_call_is_found(code: str, callee: str, argument: str, text: str) -> None:
    result = literal_at(code)
    assert result is not None
    assert (result.callee, result.argument, result.text) == (callee, argument, text)


@pytest.mark.parametrize(
    "code",
    ["", "code.search(", 'code.search("a"', 'code.search("a")', '# code.search("a', "x = 'a", '["a', "f(x)('a",
     'code.search_many({"a', 'code.search(b"a', 'code.search("a\nb', "it's = ("],
)  # fmt: skip
def test_elsewhere_there_is_none(code: str) -> None:
    assert literal_at(code) is None


@given(st.text(max_size=20), st.sampled_from(['"', "'", '"""', "'''"]), st.booleans())
def test_what_is_written_into_a_literal_stands_for_itself(text: str, quote: str, raw: bool) -> None:  # noqa: FBT001
    result = encode_literal(text, quote, raw=raw)
    if result is None or not text.isprintable() or text.endswith(quote[0]):
        return
    assert ast.literal_eval(f"{'r' if raw else ''}{quote}{result}{quote}") == text
    assert decode_literal(result, raw=raw) == text
