"""Printing and building: what is written reads back as the same tree."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.query.canonical_forms import without_quotes
from sourcelight.core.errors import QueryError
from sourcelight.core.query import PATTERN_TYPES, And, Filter, Node, Or, Pattern, Predicate, build, canonical, parse
from sourcelight.core.query.normalize import combine
from sourcelight.core.query.printer import to_text
from sourcelight.core.query.syntax.quoting import quote_pattern, quote_value, slash_regexp

HOSTILE = st.lists(
    st.sampled_from(
        [*"ab (\"'/\\)-:@|[].*+^$", "and", " or ", " not ", "repo:", "f:", "has.path(", "\n", "\t", "é", "\0"]
    ),
    max_size=12,
).map("".join)


def same(left: Node | None, right: Node | None) -> bool:
    return bool(without_quotes(canonical(left)) == without_quotes(canonical(right)))


def without_pattern_type(node: Node) -> Node | None:
    if isinstance(node, And | Or):
        retained = [remainder for arg in node.args if (remainder := without_pattern_type(arg)) is not None]
        return combine("and" if isinstance(node, And) else "or", retained) if retained else None
    return None if isinstance(node, Filter) and node.name == "patterntype" else node


@settings(deadline=None)
@given(st.lists(HOSTILE, max_size=6).map(" ".join), st.sampled_from(["keyword", "standard", "regexp", "literal"]))
def test_what_is_printed_reads_as_the_same_tree(text: str, pattern_type: str) -> None:
    try:
        query = parse(text, pattern_type)
    except QueryError:
        return
    if query.root is None:
        return
    target = "regexp" if query.pattern_type == "regexp" else "keyword"
    try:
        printed = to_text(query.root, target)
    except QueryError:  # a type without quotes can't express every tree that names it
        assert "patterntype:" in text.lower()
        return
    assert same(parse(printed, target).root, query.root), printed


@settings(deadline=None)
@given(HOSTILE, st.booleans())
def test_a_quoted_value_is_one_value(value: str, within: bool) -> None:  # noqa: FBT001 - hypothesis passes by position
    text = f"(x content:{quote_value(value)})" if within else f"x content:{quote_value(value)} y"
    result = parse(text, "keyword").root
    expected = [Pattern("x"), Pattern(value, content=True)]
    if not value:  # an empty filter beside another term is dropped
        expected.pop()
    expected += [] if within else [Pattern("y")]
    assert same(result, combine("and", [*expected]))


@settings(deadline=None)
@given(HOSTILE.filter(bool))
def test_a_quoted_pattern_is_one_literal(value: str) -> None:
    assert same(
        parse(f"x AND {quote_pattern(value)} AND y", "keyword").root, And((Pattern("x"), Pattern(value), Pattern("y")))
    )


@pytest.mark.parametrize("value", ["a/b", r"\d+\/x", r"\\", r"a\nb", "[/]", " a ", "a\nb", r"\t"])
def test_a_slashed_regexp_is_one_regexp(value: str) -> None:
    assert parse(f"x {slash_regexp(value)} y", "keyword").root == And(
        (Pattern("x"), Pattern(value, "regexp"), Pattern("y"))
    )


def test_common_values_stay_readable() -> None:
    assert quote_value(r"^github\.com/a/b$") == r"^github\.com/a/b$"
    assert quote_value("5 days ago") == '"5 days ago"'
    assert quote_value("has.path(x)") == '"has.path(x)"'
    assert quote_pattern("func()") == "func()"
    assert to_text(And((Filter("repo", "a", revs=("v1", "v2")), Pattern("or")))) == 'repo:a@v1:v2 "or"'


@pytest.mark.parametrize(
    "node",
    [
        Predicate("repo", "has.file", {"path": "a b", "content": r"\("}),
        Predicate("repo", "has.path", {"path": "(a|b)"}, negated=True),
        Predicate("repo", "has.meta", {"mode": "pair", "key": "a:b", "value": 'c"d'}),
        Predicate("repo", "has.meta", {"mode": "tag", "key": "k"}),
        Predicate("repo", "has.meta", {"mode": "key", "key": "k/", "keyRegexp": True}),
        Predicate("repo", "has.description", {"regexp": "(?:go).*?(?:package)"}),
        Predicate("file", "has.owner", {"owner": ""}),
    ],
    ids=str,
)
def test_predicates_are_printed(node: Predicate) -> None:
    assert parse(to_text(node), "keyword").root == node


def test_what_can_not_be_written_is_refused() -> None:
    with pytest.raises(ValueError, match="content:"):
        to_text(Pattern("a.b", "regexp", content=True))
    with pytest.raises(ValueError, match="parses to the same query"):
        to_text(Predicate("repo", "has.path", {"path": "a)b"}))
    with pytest.raises(QueryError, match="no query of type standard"):
        to_text(Pattern("a  b"), "standard")
    with pytest.raises(ValueError, match="pattern_type"):
        to_text(Pattern("a"), "structural")


def _combined(parts: tuple[build.Expression, build.Expression, str]) -> build.Expression:
    left, right, sign = parts
    return left & right if sign == "&" else left | right if sign == "|" else ~left & right


LEAVES = st.one_of(
    HOSTILE.filter(bool).map(build.text),
    HOSTILE.filter(bool).map(build.content),
    st.sampled_from([r"a.*b", r"\bfoo\(", "a/b"]).map(build.regexp),
    st.sampled_from(["redis", "a b", r"^x\.y$"]).map(build.file),
    st.sampled_from(["github.com/a/b", "a+b", "host/x y"]).map(build.exact_repo),
)


@settings(deadline=None)
@given(st.recursive(LEAVES, lambda inner: st.tuples(inner, inner, st.sampled_from("&|~")).map(_combined), max_leaves=6))
def test_an_expression_reads_back_under_every_requested_type(expression: build.Expression) -> None:
    text = str(expression)
    for requested in PATTERN_TYPES:
        query = parse(text, requested)
        assert query.pattern_type == "keyword"
        assert query.root is not None
        assert same(without_pattern_type(query.root), expression.node), text


def test_the_builder_writes_what_one_would_type() -> None:
    expression = build.repo("redis") & build.text("foo bar") & ~build.file("_test") & build.count(None)
    assert str(expression) == 'patternType:keyword repo:redis -file:_test count:99999999 "foo bar"'
    assert str(build.text("a") | build.text("b")) == 'patternType:keyword ("a" OR "b")'
    assert expression.parse().plan[0].count_limit() is None


def test_the_builder_refuses_what_has_no_meaning() -> None:
    with pytest.raises(ValueError, match="negated"):
        _ = ~build.count(3)
    with pytest.raises(ValueError, match="unknown field"):
        build.field("nonsense", "x")
    with pytest.raises(QueryError, match="unknown language"):
        build.lang("nonsense").parse()
