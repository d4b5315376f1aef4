"""Build queries in Python: ``q.repo("redis") & q.text("foo bar") & ~q.file("_test")``.

Each value is quoted as it needs, so that a caller never thinks about spaces, quotes, slashes or operator words.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import QueryError, ToolError
from sourcelight.core.former_names import former_attribute
from sourcelight.core.query.fields import ALIASES, COUNT_ALL, COUNT_RANKED, FIELDS, STRUCTURE
from sourcelight.core.query.normalize import combine
from sourcelight.core.query.parse import parse
from sourcelight.core.query.printer import check_depth, to_text
from sourcelight.core.query.regexps import escape_regexp, exact_name
from sourcelight.core.query.syntax.nodes import And, Filter, Node, Or, Pattern, Predicate, Query
from sourcelight.core.query.syntax.predicates import NOT_NEGATABLE

__all__ = [
    "Expression",
    "case_sensitive",
    "content",
    "count",
    "exact_file",
    "exact_repo",
    "field",
    "file",
    "lang",
    "regexp",
    "repo",
    "result_type",
    "text",
]


@dataclass(frozen=True, slots=True)
class Expression:
    """A part of a query. ``&``, ``|`` and ``~`` combine parts, and ``str()`` returns the text.

    The functions of this module make expressions, so `node` is of interest only to them.
    """

    node: Node

    def __and__(self, other: Expression) -> Expression:
        return Expression(combine("and", [self.node, _node_of(other)]))

    def __or__(self, other: Expression) -> Expression:
        return Expression(combine("or", [self.node, _node_of(other)]))

    def __invert__(self) -> Expression:
        check_depth(self.node)
        return Expression(_negate(self.node))

    def __bool__(self) -> bool:
        # Without this, Python reads `a and b` as b, and the search would drop a part of the query without a word.
        raise TypeError("an expression is neither true nor false: write &, | and ~ instead of and, or, not")

    def __str__(self) -> str:
        """Return text that reads as this expression whatever pattern type the search asks for.

        Raises
        ------
        QueryError
            No text reads as this expression, such as one with groups more than 100 levels deep.
        """
        check_depth(self.node)
        node = _without_pattern_type(self.node)
        if node is None:
            return to_text(self.node)

        # Only the regexp type has a regular expression under content:, only keyword puts words side by side, and only
        # one type has code.
        failure: QueryError | None = None
        for pattern_type in ("keyword", "regexp", STRUCTURE):
            try:
                return to_text(combine("and", [Filter("patterntype", pattern_type), node]))
            except QueryError as error:
                failure = failure or error

        raise failure or QueryError("the expression is empty", stage="parse")

    def parse(self) -> Query:
        """Return the query, validated.

        Raises
        ------
        QueryError
            A value is wrong, such as an unknown language.
        """
        return parse(str(self), "keyword")


def _node_of(value: object) -> Node:
    if isinstance(value, Expression):
        return value.node
    raise TypeError(
        f"& and | combine expressions, got {type(value).__name__} ({str(value)[:60]!r}): q.text finds a text, and "
        "str(expression) is a query to add text to"
    )


@checks_arguments
def text(value: str) -> Expression:
    """Return an exact phrase; spaces and all other characters are literal.

    Parameters
    ----------
    value
        The phrase.

    Raises
    ------
    ValueError
        When `value` is empty.
    """
    _refuse_empty("text", value)
    return Expression(Pattern(value, quoted=True))


@checks_arguments
def regexp(value: str) -> Expression:
    """Return a regular expression to find.

    Parameters
    ----------
    value
        The expression in RE2 syntax, without slashes.

    Raises
    ------
    ValueError
        When `value` is empty.
    """
    _refuse_empty("regexp", value)
    return Expression(Pattern(value, "regexp"))


@checks_arguments
def content(value: str) -> Expression:
    """Return an exact phrase to find in the contents of files, but not in paths or names.

    Parameters
    ----------
    value
        The phrase.

    Raises
    ------
    ValueError
        When `value` is empty.
    """
    _refuse_empty("content", value)
    return Expression(Pattern(value, quoted=True, content=True))


@checks_arguments
def field(name: str, value: str) -> Expression:
    """Return the filter ``name:value``, with the value quoted if it needs quotes.

    Parameters
    ----------
    name
        Name of a filter, or an alias such as ``r``.
    value
        Its value.

    Raises
    ------
    ValueError
        When the filter is unknown, when it has a function of its own in this module, or when `value` is empty.
    """
    canonical = ALIASES.get(name.lower())
    if canonical is None or canonical in {"content", "patterntype"}:
        raise ValueError(f"unknown field {name!r}; available: {', '.join(sorted(FIELDS))}")

    _refuse_empty(canonical, value)
    revs: tuple[str, ...] | None = None
    if canonical == "count" and value.lower() == "all":
        value = str(COUNT_ALL)

    if canonical == "repo" and "@" in value:
        value, _, revisions = value.partition("@")
        revs = tuple(revisions.split(":"))
    elif canonical == "rev":
        revs = tuple(value.split(":"))

    return Expression(Filter(canonical, value, revs=revs))


@checks_arguments
def repo(value: str, *, rev: str = "") -> Expression:
    r"""Return a filter on repository names.

    Parameters
    ----------
    value
        Regular expression for the name. Text after the first ``@`` is a revision, as in a typed query; ``\x40`` is an
        at sign in a name.
    rev
        Branch, tag or commit; empty: the default branch.

    Raises
    ------
    ValueError
        When `value` is empty, or when both `value` and `rev` have a revision.
    """
    _refuse_empty("repo", value)
    if rev and "@" in value:
        raise ValueError(f"repo: {value!r} names a revision after its @, and rev is {rev!r}; give one of them")
    return field("repo", f"{value}@{rev}" if rev else value)


@checks_arguments
def exact_repo(name: str, *, rev: str = "") -> Expression:
    """Return a filter for exactly one repository.

    Parameters
    ----------
    name
        Full name of the repository.
    rev
        Branch, tag or commit; empty: the default branch.
    """
    _refuse_empty("exact_repo", name)
    return repo(exact_name(name), rev=rev)


@checks_arguments
def file(value: str) -> Expression:
    """Return a filter on paths.

    Parameters
    ----------
    value
        Regular expression for the path.
    """
    return field("file", value)


@checks_arguments
def exact_file(path: str) -> Expression:
    """Return a filter for exactly one path.

    Parameters
    ----------
    path
        The whole path.
    """
    _refuse_empty("exact_file", path)
    return field("file", f"^{escape_regexp(path)}$")


@checks_arguments
def lang(name: str) -> Expression:
    """Return a filter on the language.

    Parameters
    ----------
    name
        Name or alias of the language.
    """
    return field("lang", name)


def case_sensitive() -> Expression:
    """Return ``case:yes``."""
    return field("case", "yes")


@checks_arguments
def result_type(*names: str) -> Expression:
    """Return a choice of result types.

    Parameters
    ----------
    names
        One or more of ``file``, ``path``, ``repo``, ``symbol``, ``commit`` and ``diff``.
    """
    if not names:
        raise ValueError("name at least one result type")
    return Expression(combine("and", [Filter("type", name) for name in names]))


@checks_arguments
def count(limit: int | None) -> Expression:
    """Return a limit on the number of matches.

    Parameters
    ----------
    limit
        Maximum number of matches; None: all.
    """
    return field("count", "all" if limit is None else str(limit))


def _refuse_empty(label: str, value: str) -> None:
    if not value:
        raise ValueError(f"{label}: the value is empty, which matches everything; leave it out, or pass what to match")


def _without_pattern_type(node: Node) -> Node | None:
    if isinstance(node, And | Or):
        args = [filtered for arg in node.args if (filtered := _without_pattern_type(arg)) is not None]
        if isinstance(node, And):  # an empty filter holds everywhere, and is forgotten beside another term
            args = [arg for arg in args if not (isinstance(arg, Filter) and not arg.value and not arg.revs)] or args[:1]
        return combine("and" if isinstance(node, And) else "or", args) if args else None
    return None if isinstance(node, Filter) and node.name == "patterntype" else node


def _negate(node: Node) -> Node:
    if isinstance(node, And | Or):
        # De Morgan: the query language negates filters and patterns, not groups.
        return combine("or" if isinstance(node, And) else "and", [_negate(arg) for arg in node.args])
    if isinstance(node, Pattern):
        return Pattern(node.value, node.kind, negated=not node.negated, quoted=node.quoted, content=node.content)

    if isinstance(node, Predicate):
        if (node.on, node.name) in NOT_NEGATABLE or node.on == "rev":
            raise ValueError(f"{node.on}:{node.name}: can't be negated")
        return Predicate(node.on, node.name, node.args, negated=not node.negated)

    if not FIELDS[node.name].negatable:
        raise ValueError(f"{node.name}: can't be negated")
    if node.revs is not None:
        raise ValueError("a repo filter with revisions can't be negated")

    return Filter(node.name, node.value, negated=not node.negated, quoted=node.quoted)


def __getattr__(name: str) -> Any:
    raise former_attribute("q", name) or AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [name for name in __all__ if name != "Expression"]  # what completion offers: the builders


def files_query(text: str) -> str:
    """Return the query with files and paths as the only results, best first; all of them, unless it says how many."""
    query: Query = parse(text, "keyword")
    if query.root is None:
        raise ToolError("keyword_search: the query is empty; enter text or a filter", tool="keyword_search")

    for alternative in query.plan:
        for name in ("type", "select"):
            used_filter = alternative.first(name)
            if used_filter is not None and (name == "select" or used_filter.value not in {"file", "path"}):
                raise ToolError(
                    f"keyword_search finds text in files and can't take {name}:{used_filter.value}; commit_search and "
                    "diff_search find commits, list_repos finds repositories",
                    tool="keyword_search",
                    argument="query",
                )

    filters = []
    if not any(alternative.first("type") for alternative in query.plan):
        filters += [Filter("type", "file"), Filter("type", "path")]

    if not any(alternative.first("count") for alternative in query.plan):
        filters.append(Filter("count", str(COUNT_RANKED)))

    return str(Expression(combine("and", [query.root, *filters])))
