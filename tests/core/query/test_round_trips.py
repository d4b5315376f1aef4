"""Queries built in Python and trees of typed queries: what is printed is parsed as the same tree, or refused."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import product
from typing import Any

import pytest

from core.query.canonical_forms import without_quotes
from sourcelight.core.errors import QueryError
from sourcelight.core.query import PATTERN_TYPES, And, Filter, Node, Or, Pattern, Predicate, build, canonical, parse
from sourcelight.core.query.build import Expression
from sourcelight.core.query.parse import effective_pattern_type, effective_type, read_tree
from sourcelight.core.query.printer import to_text
from sourcelight.core.query.syntax.predicates import InvalidPredicate

SEED = 20_261_122
EXPRESSIONS = 2_000
TYPED = 3_000

# Pieces that a lexer of this language can trip over, alone and side by side.
PIECES = (
    *"ab (\"'/\\)-:@|[].*+^$?#{}",
    "and",
    " or ",
    " NOT ",
    "not ",
    "repo:",
    "-f:",
    "has.path(",
    "content:",
    "\n",
    "\t",
    "é",
    "\0",
    "\x85",
    "\u2028",
    "\\(",
    "\\)",
    "[)]",
    "[^)]",
    "[(]",
    '["]',
    "[/]",
    "\\/",
    "\\\\",
    "()",
    "(a|b)",
    "\\n",
    "(?:x y)",
    "patternType:literal",
    " patterntype:regexp ",
    "patternType:keyword",
    "\\Q(\\E",
    "\\x28",
    "count:1",
    "//",
    "/a/",
    '"a"',
)
REGEXPS = (
    "[)]",
    "[^)]",
    "[(]",
    "[()]",
    r"[\])]",
    r"\)",
    r"\(",
    "(a|b)",
    "(?:a b)",
    r"\Q)\E",
    "a/b",
    r"a\/b",
    r"\\",
    r"\\\\/",
    '"',
    "'",
    "a\nb",
    r"a\nb",
    r"\t",
    "and",
    "x or y",
    "not ",
    "repo:a",
    "patternType:literal x",
    " ",
    r"\ ",
    "[ )]",
    "//",
    "/",
    r"\x{29}",
    "(?i)a",
    "^$",
    "()",
    "a()",
    "[[:alpha:])]",
    r"[\"')]",
    "#",
    "é",
    "\u2028",
)
PREDICATES = (
    "repo:has.path(go.mod)",
    "repo:has.path((a|b))",
    r"-repo:has.content(\))",
    "repo:has.file(path:a content:b)",
    'repo:has.file(content:"a b")',
    "repo:has.meta(k)",
    "repo:has.meta(k:)",
    'repo:has.meta("a:b":c)',
    "repo:has.meta(/k\\/x/)",
    "repo:has.topic(t)",
    "repo:has.description(a b)",
    "repo:has.commit.after(yesterday)",
    "file:has.content(x y)",
    "-file:has.owner()",
    "file:has.owner(@a/b)",
    "file:has.contributor(ann)",
    "repo:has(a:b)",
    "repo:has.key(k)",
    "repo:has.tag(k)",
    "repo:contains(file:a content:b)",
    "repo:contains.file(a)",
)
FILTERS = (
    ("repo", ("a", "^a$", "a@v1", "a@v1:*refs/heads/*", "@v", "a b", "(a|b)", "[)]", "has.path(x)")),
    (
        "file",
        ("a", "[)]", "[^)]", "a b", "(", ")", '"', "'a", "\\", "has.owner(x)", "and", "a\nb", "(a or b)", "repo:x"),
    ),
    ("lang", ("go", "C++", "Jupyter Notebook")),
    ("author", ("ann", "a)b", "A <a@b.c>")),
    ("message", ("x", "(", "fix (#1")),
    ("type", ("file", "commit")),
    ("case", ("yes",)),
    ("count", ("5", "all")),
    ("timeout", ("5s",)),
    ("select", ("repo", "file.directory")),
    ("before", ("5 days ago",)),
    ("context", ("global", "@a/b", "a(")),
    ("rev", ("v1", "a:b", "at.time(yesterday)")),
    ("fork", ("yes",)),
)


def hostile(rng: random.Random) -> str:
    return "".join(rng.choices(PIECES, k=rng.randint(1, 7)))


def leaf(rng: random.Random) -> Expression:
    kind = rng.randrange(7)
    if kind < 3:
        return rng.choice((build.text, build.content, build.regexp))(hostile(rng))
    if kind == 3:
        return build.regexp(rng.choice(REGEXPS))
    if kind == 4:
        return build.field(rng.choice(("repo", "file", "author", "context", "rule")), hostile(rng))
    if kind == 5:
        name, values = rng.choice(FILTERS)
        return build.field(name, rng.choice(values))
    tree = read_tree(rng.choice(PREDICATES), "keyword")[1]
    assert tree is not None
    return Expression(tree)


def expression(rng: random.Random, depth: int) -> Expression:
    if depth == 0 or rng.random() < 0.3:
        return leaf(rng)
    left, right = expression(rng, depth - 1), expression(rng, depth - 1)
    sign = rng.choice("&&|~")
    if sign == "~":
        try:
            return ~left & right
        except ValueError:  # a filter that can't be negated
            return left & right
    return left & right if sign == "&" else left | right


def meaning(node: Node | None) -> Any:
    """A tree without quotes, without the order of operands, and without ``patternType:``, which printing adds."""
    if isinstance(node, And | Or):
        args = [part for arg in node.args if (part := meaning(arg)) is not None]
        if len(args) < 2:
            return args[0] if args else None
        return {"op": type(node).__name__, "args": sorted(args, key=repr)}
    if isinstance(node, Filter) and node.name == "patterntype":
        return None
    form = canonical(node)
    if form is not None:
        form.pop("quoted", None)
    return form


def test_every_built_expression_is_parsed_as_its_tree_under_every_requested_type() -> None:
    rng = random.Random(SEED)  # noqa: S311 - examples, no secrets
    refused = 0
    for _ in range(EXPRESSIONS):
        built = expression(rng, rng.randint(0, 3))
        try:
            text = str(built)
        except QueryError:
            refused += 1
            continue
        for requested in PATTERN_TYPES:
            effective, root = read_tree(text, requested)
            assert effective == "keyword", text
            assert meaning(root) == meaning(built.node), text
    assert refused == 0


@pytest.mark.parametrize("pattern_type", PATTERN_TYPES)
def test_a_typed_query_is_printed_as_a_query_with_its_tree(pattern_type: str) -> None:
    rng = random.Random(f"{SEED}-{pattern_type}")  # noqa: S311 - examples, no secrets
    slashed = [f"/{value}/" for value in REGEXPS]
    blocks = (*PIECES, *PREDICATES, *slashed, "(", ")", " OR ", " AND ", " NOT ", "x", "y z")
    printed = 0
    for _ in range(TYPED):
        typed = rng.choice(("", " ")).join(rng.choices(blocks, k=rng.randint(1, 8)))
        try:
            effective, root = read_tree(typed, pattern_type)
        except QueryError:
            continue
        if root is None or has_fault(root):
            continue
        # Code is printed as code: no other type has it.
        target = effective if effective in {"keyword", "regexp", "ast-grep"} else "keyword"
        try:
            text = to_text(root, target)
        except QueryError:
            # The one excuse: text between slashes chose the type, and the tree names another one.
            assert names_type(root) not in {None, effective}, typed
            continue
        read_type, read = read_tree(text, target)
        assert without_quotes(canonical(read)) == without_quotes(canonical(root)), (typed, text)
        assert read_type == (effective if names_type(root) else target), (typed, text)
        printed += 1
    assert printed > TYPED // 4


def names_type(node: Node) -> str | None:
    if isinstance(node, And | Or):
        return next((name for arg in node.args if (name := names_type(arg)) is not None), None)
    return effective_type(node.value) if isinstance(node, Filter) and node.name == "patterntype" else None


@pytest.mark.parametrize(
    ("typed", "pattern_type"),
    [
        # A parenthesis in a class closes the group for a lexer that looks for plain text with balanced parentheses.
        ("""repo:has.description(a b)repo:has.file(content:"a b")/[^)]/ OR /'/""", "regexp"),
        ("file:has.owner(@a/b) /[[:alpha:])]/  OR  ?", "regexp"),
        ("(file: /[)]/ OR /[^)]/) (file: /[)]/ OR x)", "regexp"),
        # An operator's word is text where a query begins, and NOT where it ends.
        ("and repo:has.key(k) $ patternType:literal", "standard"),
        (" or   NOT  $ patternType:literal count:1 /a/b/  NOT ", "regexp"),
        # Parentheses are all text, and there are no groups.
        ("repo:has.key(k)  OR  ? ( @ patternType:literal", "regexp"),
        # A backslash in front of a space makes patternType: text.
        (r"a\ patterntype:regexp b", "standard"),
    ],
)
def test_a_query_with_odd_parentheses_operators_and_escapes_is_printed(typed: str, pattern_type: str) -> None:
    effective, root = read_tree(typed, pattern_type)
    assert root is not None
    target = effective if effective in {"keyword", "regexp"} else "keyword"
    assert without_quotes(canonical(read_tree(to_text(root, target), target)[1])) == without_quotes(canonical(root))


def has_fault(node: Node) -> bool:
    if isinstance(node, And | Or):
        return any(has_fault(arg) for arg in node.args)
    return isinstance(node, InvalidPredicate)


@pytest.mark.parametrize("regexp", ["[)]", "[^)]", r"[(]\)", "(a|[)])"])
@pytest.mark.parametrize("requested", PATTERN_TYPES)
def test_a_parenthesis_in_a_class_keeps_its_pattern_type(regexp: str, requested: str) -> None:
    # 0 matches for 5,193, and complete: the whole filter was ignored, so that quotes became text to find.
    for query in (f'patternType:keyword /{regexp}/ "import httpx"', f'/{regexp}/ "import httpx" patternType:keyword'):
        read = parse(query, requested)
        assert read.pattern_type == "keyword"
        assert read.plan[0].pattern == And((Pattern(regexp, "regexp"), Pattern("import httpx", quoted=True)))
    built = build.regexp(regexp) & build.text("import httpx")
    assert meaning(parse(str(built), requested).root) == meaning(built.node)


def test_a_pattern_type_that_cannot_read_the_query_is_an_error_and_no_other_type() -> None:
    for query in ('patternType:standard "a)"', "patternType:literal /[)]/", 'x patternType:literal "a) b"'):
        with pytest.raises(QueryError, match="parentheses"):
            parse(query, "keyword")
    # Inside quotes of the requested type it is text.
    assert effective_pattern_type('"a) patternType:regexp b"', "keyword") == "keyword"
    assert effective_pattern_type('/[)]/ "a patternType:standard b"', "keyword") == "keyword"


def test_trees_that_name_their_type_are_printed_in_it() -> None:
    for query, requested in (
        ("foo.*bar patternType:regexp", "keyword"),
        ('"foo" repo:a patterntype:standard', "keyword"),
        ("foo bar patterntype:literal", "keyword"),
        ("foo bar patterntype:lucky", "keyword"),
        ("(a or b) /x/ patternType:keyword", "regexp"),
        ("(patternType:regexp /[)]a/) or file:x", "standard"),
        ("a AND b not c patternType:standard", "regexp"),
    ):
        read = parse(query, requested)
        for target in PATTERN_TYPES:
            output = to_text(read.root, target)
            repeated = parse(output, requested)
            assert repeated.pattern_type == read.pattern_type, output
            assert without_quotes(repeated.canonical()) == without_quotes(read.canonical()), output


@pytest.mark.parametrize(
    "refused",
    [
        lambda: build.text(""),
        lambda: build.content(""),
        lambda: build.regexp(""),
        lambda: build.repo(""),
        lambda: build.repo("", rev="v1"),
        lambda: build.file(""),
        lambda: build.field("author", ""),
        lambda: build.exact_repo(""),
        lambda: build.exact_file(""),
    ],
)
def test_an_empty_value_is_refused_where_it_is_given(refused: Callable[[], Expression]) -> None:
    with pytest.raises(ValueError, match="empty"):
        refused()


def test_what_cannot_be_negated_is_refused_where_it_is_negated() -> None:
    for typed in ("repo:has.description(a b)", "file:has.content(x y)", "rev:at.time(yesterday)"):
        tree = read_tree(typed, "keyword")[1]
        assert isinstance(tree, Predicate)
        with pytest.raises(ValueError, match="negated"):
            _ = ~Expression(tree)


def test_a_repository_with_an_at_sign_in_its_name_is_no_revision() -> None:
    result = parse(str(build.exact_repo("a.b/team@home", rev="v1")), "keyword").plan[0].all("repo")
    assert [(item.value, item.revs) for item in result] == [(r"^a\.b/team\x40home$", ("v1",))]
    with pytest.raises(ValueError, match="rev is 'c'"):
        build.repo("a@b", rev="c")


def test_groups_that_are_too_deep_are_refused_and_never_overflow() -> None:
    built = build.text("a")
    for _ in range(3_000):
        built = Expression(And((Or((built.node, build.text("b").node)), build.text("c").node)))
    for use in (str, lambda deep: ~deep, Expression.parse):
        with pytest.raises(QueryError, match="deeper than 100 levels"):
            use(built)


def test_a_lone_surrogate_is_refused() -> None:
    with pytest.raises(QueryError, match="Unicode"):
        str(build.text("a\ud800"))


def test_a_content_expression_of_regexp_type_keeps_its_type() -> None:
    root = parse(r"content:a.b\d foo", "regexp").root
    assert root is not None
    text = str(Expression(root))
    assert text.startswith("patternType:regexp ")
    assert meaning(parse(text, "literal").root) == meaning(root)


@pytest.mark.parametrize("pattern_type", PATTERN_TYPES)
def test_every_query_of_three_words_is_printed(pattern_type: str) -> None:
    """Operators' words that are text begin and end a query, and filters between them keep them apart."""
    words = ("AND", "OR", "NOT", "x", "(", ")", "file:a", "patternType:literal", "patternType:standard")
    printed = 0
    for typed in product(words, repeat=3):
        try:
            effective, root = read_tree(" ".join(typed), pattern_type)
        except QueryError:
            continue
        if root is not None:
            text = to_text(root, pattern_type)
            assert effective_pattern_type(text, pattern_type) == effective, typed
            assert without_quotes(canonical(read_tree(text, pattern_type)[1])) == without_quotes(canonical(root)), typed
            printed += 1
    assert printed > 200
