"""Print a tree as text that parses to the same tree.

No rule predicts how a tree must be written: whether a parenthesis, a quote or an operator's word is syntax or text
depends on what surrounds it. So the printer writes the tree in one layout after another, the most readable first,
parses each text, and returns the first one that reads as the tree.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, product
from typing import Any

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import PATTERN_TYPES, label_of
from sourcelight.core.query.normalize import escape_bare_parens
from sourcelight.core.query.parse import check_text, effective_pattern_type, effective_type, read_tree
from sourcelight.core.query.syntax import quoting
from sourcelight.core.query.syntax.lexer import RawFilter
from sourcelight.core.query.syntax.nodes import And, Filter, Node, Or, Pattern, Predicate
from sourcelight.core.query.syntax.parser import MAX_DEPTH
from sourcelight.core.query.syntax.predicates import predicate

_EMPTY_FILTER = "file:"

_UNQUOTED_TYPES = frozenset({"standard", "literal"})
"""Pattern types in which quotes are text, so that a literal can only be written bare."""

_PLAIN_METADATA = re.compile(r"[\w.@+*-][\w.@+* -]*(?<! )")
"""A key or value that needs no quotes: ``team``, ``data platform``."""


def to_text(node: Node | None, pattern_type: str = "keyword") -> str:
    r"""Return a query that reads as `node` when it is parsed as `pattern_type`.

    The text is parsed before it is returned, and a tree without such a text is refused. One thing may be written
    differently from how it was typed: a literal that needs quotes gets them (and is marked so when read again). A
    ``patternType:`` filter in the tree stays, and wins over `pattern_type`.

    Parameters
    ----------
    node
        A canonical tree; None gives an empty text.
    pattern_type
        ``keyword``, ``standard``, ``regexp`` or ``literal``. Only ``keyword`` can express every literal, and only
        ``regexp`` a regular expression under ``content:``.

    Raises
    ------
    QueryError
        No text of `pattern_type` reads as `node`; also a ValueError.

    Examples
    --------
    >>> to_text(And((Filter("repo", "redis"), Pattern("foo bar"))))
    'repo:redis "foo bar"'
    """
    if pattern_type not in PATTERN_TYPES:
        raise ValueError(f"pattern_type must be one of {', '.join(PATTERN_TYPES)}, got {pattern_type!r}")
    if node is None:
        return ""

    check_depth(node)
    named_type = _named_pattern_type(node)
    effective = named_type or pattern_type

    # The type that the query names wins whatever a search requests. Text to find that names another may come before it.
    requested_types = PATTERN_TYPES if named_type else (pattern_type,)
    expected = _without_quotes(node)
    texts: set[str] = set()

    # From the plainest form to the safest. What a form means is checked by parsing it, not by rules about when to
    # quote: the parser is the only authority.
    for source_type, layout in product(dict.fromkeys((effective, pattern_type)), _layouts()):
        text = _TreeWriter(source_type, layout).write(node)
        if text in texts:
            continue
        texts.add(text)
        check_text(text)
        if _reads_as(text, requested_types, source_type, expected):
            return text

    raise QueryError(
        f"no query of type {effective} reads as this expression",
        query=text[:200],
        hint="write the text with its special characters as a regular expression, or use fewer parentheses",
        stage="parse",
    )


def check_depth(node: Node) -> None:
    """Raise QueryError for a tree with more levels than a query may have."""
    level = [node]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise QueryError(
                f"groups are nested deeper than {MAX_DEPTH} levels",
                hint="join the alternatives of one field into one regular expression",
                stage="parse",
            )
        # Level by level and not by recursion: a tree of 10,000 levels must give an error of its own.
        operators = [parent for parent in level if isinstance(parent, And | Or)]
        level = list(chain.from_iterable(operator.args for operator in operators))


def _named_pattern_type(node: Node) -> str | None:
    """Return the pattern type that a ``patternType:`` of the tree names, the first one if there are several."""
    if isinstance(node, And | Or):
        for arg in node.args:
            name = _named_pattern_type(arg)
            if name is not None:
                return name
        return None

    if isinstance(node, Filter) and node.name == "patterntype":
        return effective_type(node.value)
    return None


def _reads_as(text: str, requested_types: Sequence[str], effective: str, expected: Any) -> bool:
    """Return whether `text` has the `effective` type and the `expected` tree under every requested type."""
    try:
        for requested in requested_types:
            if effective_pattern_type(text, requested) != effective:
                return False
        _, root = read_tree(text, requested_types[0])
    except QueryError:
        return False
    return root is not None and _without_quotes(root) == expected


def _without_quotes(node: Node) -> Any:
    """Return `node` as plain values, without quotes and the order of operands, which change no meaning."""
    if isinstance(node, And | Or):
        operands = [_without_quotes(arg) for arg in node.args]
        return (type(node).__name__, sorted(operands, key=repr))
    if isinstance(node, Predicate):
        return ("Predicate", node.on, node.name, sorted(node.args.items()), node.negated)
    if isinstance(node, Filter):
        return ("Filter", node.name, node.value, node.negated, node.revs)
    return ("Pattern", node.value, node.kind, node.negated, node.content)


class _Groups(Enum):
    """Grouping of nested operators."""

    NEEDED = "parentheses where they are needed"
    NONE = "no parentheses: AND binds closer than OR, and filters at both ends hold for all alternatives"
    MARKED = "parentheses with an empty filter behind them, which keeps them from being read as text"


class _FilterPlace(Enum):
    """Position of the filters of an AND.

    An operator's word is text only at the start of a query, and NOT only at its end, so a pattern of such a word must
    be there.
    """

    UNCHANGED = "as the tree has them, which is in front"
    LAST = "behind all patterns"
    SECOND = "behind the first pattern"
    INSIDE = "behind the first word of the only literal, whose words are joined across filters without quotes"


@dataclass(frozen=True, slots=True)
class _Layout:
    """One way to write a tree: whether parentheses are text depends on their neighbors.

    Parameters
    ----------
    filters
        Position of the filters.
    groups
        How nested operators are kept together.
    explicit
        Whether every AND, the parentheses of every nested operator, and all slashes are written.
    few_escapes
        Whether quotes hold no more backslashes than they must: one in front of a space keeps what follows it from
        being read as a filter.
    """

    filters: _FilterPlace
    groups: _Groups
    explicit: bool
    few_escapes: bool


def _layouts() -> Iterator[_Layout]:
    """Yield the layouts in the order in which they are tried."""
    for few_escapes in (False, True):
        for filter_place in (_FilterPlace.UNCHANGED, _FilterPlace.LAST, _FilterPlace.SECOND):
            for groups, explicit in product(_Groups, (False, True)):
                yield _Layout(filter_place, groups, explicit, few_escapes)
    for groups, explicit in product(_Groups, (False, True)):
        yield _Layout(_FilterPlace.INSIDE, groups, explicit, few_escapes=False)


class _TreeWriter:
    """Writes trees in one pattern type and layout, whether or not the text reads back as the tree."""

    def __init__(self, pattern_type: str, layout: _Layout) -> None:
        self._type = pattern_type
        self._layout = layout
        self._and = " AND "
        # The other types read a blank as a part of the text to find.
        if pattern_type == "keyword" and not layout.explicit:
            self._and = " "

    def write(self, node: Node, depth: int = 0) -> str:
        """Return the text of `node` at a depth of `depth` operators."""
        if isinstance(node, Or):
            return " OR ".join(self._operand(arg, node, depth) for arg in node.args)

        if isinstance(node, And):
            text = ""
            if self._layout.filters is _FilterPlace.INSIDE:
                text = self._filters_inside(node.args)
            if text:
                return text
            return self._and.join(self._operand(arg, node, depth) for arg in self._arrange(node.args))

        if isinstance(node, Pattern):
            return self._pattern(node)
        if isinstance(node, Predicate):
            return _predicate(node)
        return _filter(node)

    # Operators

    def _arrange(self, args: Sequence[Node]) -> Sequence[Node]:
        """Return the operands of an AND in the order of the layout."""
        if self._layout.filters in {_FilterPlace.UNCHANGED, _FilterPlace.INSIDE}:
            return args
        filters, patterns = _split(args)
        position = len(patterns) if self._layout.filters is _FilterPlace.LAST else 1
        return [*patterns[:position], *filters, *patterns[position:]]

    def _filters_inside(self, args: Sequence[Node]) -> str:
        """Return an AND with its filters between the words of its only literal, empty if that can't be written."""
        filters, patterns = _split(args)
        if self._type not in _UNQUOTED_TYPES or len(patterns) != 1 or not filters:
            return ""

        literal = patterns[0]
        if not isinstance(literal, Pattern) or literal.kind != "literal" or literal.negated or literal.content:
            return ""

        first, blank, remaining = literal.value.partition(" ")
        if blank:
            return " ".join([_guard_not(first), *map(self.write, filters), remaining])
        return ""

    def _operand(self, node: Node, parent: And | Or, depth: int) -> str:
        """Return the text of an operand, in parentheses if it is a group of its own."""
        text = self.write(node, depth + 1)
        if not isinstance(node, And | Or) or self._layout.groups is _Groups.NONE or " " not in text:
            return text

        # AND binds closer than OR. But near the top its parentheses keep its filters from being moved out of the OR.
        binds_anyway = isinstance(node, And) and isinstance(parent, Or) and depth >= 2
        if binds_anyway and not self._layout.explicit:
            return text

        if self._layout.groups is _Groups.MARKED:
            return f"({_EMPTY_FILTER} {text})"
        return f"({text})"

    # Patterns

    def _pattern(self, node: Pattern) -> str:
        if node.content:
            return _negate(f"content:{self._content(node)}", negated=node.negated)

        text = self._regexp(node.value) if node.kind == "regexp" else self._literal(node)
        if node.negated:
            return f"NOT {text}"
        return text

    def _literal(self, node: Pattern) -> str:
        if self._type in _UNQUOTED_TYPES:
            first, blank, remaining = node.value.partition(" ")
            if self._layout.filters is _FilterPlace.INSIDE:
                return f"{_guard_not(first)}{blank}{remaining}"
            return node.value

        if self._type == "keyword" and not node.quoted and quoting.quote_pattern(node.value) == node.value:
            return node.value
        return quoting.in_quotes(node.value, few_escapes=self._layout.few_escapes)

    def _regexp(self, value: str) -> str:
        can_be_bare = self._type == "regexp" and not self._layout.explicit
        if can_be_bare and escape_bare_parens(value) == value and quoting.read_alone(value, "regexp") == value:
            return value

        if not value:
            raise QueryError("an empty regular expression can't be written between slashes", stage="parse")
        return quoting.slash_regexp(value)

    def _content(self, node: Pattern) -> str:
        if node.kind == "structure":
            return quoting.in_quotes(node.value)
        if node.kind == "literal":
            if node.quoted or self._type == "regexp":
                return quoting.in_quotes(node.value)
            return _value("content", node.value)

        if self._type != "regexp" or not _is_bare_value("content", node.value):
            message = f"content:{node.value} as a regular expression can't be written in {self._type} type"
            raise QueryError(message, hint="leave content: out and add type:file", stage="parse")

        return node.value


def _split(args: Sequence[Node]) -> tuple[list[Node], list[Node]]:
    """Return the filters among the operands of an AND, and the others."""
    filters: list[Node] = [arg for arg in args if isinstance(arg, Filter | Predicate)]
    return filters, [arg for arg in args if not isinstance(arg, Filter | Predicate)]


def _guard_not(word: str) -> str:
    """Return the first word of a literal without quotes; NOT is text if its group ends behind it."""
    if word.lower() == "not":
        return f"( {word} )"
    return word


# Filters


def _filter(node: Filter) -> str:
    value = node.value
    if node.name == "repo" and node.revs is not None:
        value = f"{value}@{':'.join(node.revs)}"
    text = quoting.in_quotes(value) if node.quoted else _value(node.name, value)
    return _negate(f"{label_of(node.name)}:{text}", negated=node.negated)


def _negate(text: str, *, negated: bool) -> str:
    if negated:
        return f"-{text}"
    return text


def _value(field: str, value: str) -> str:
    if _is_bare_value(field, value):
        return value
    return quoting.in_quotes(value)


def _is_bare_value(field: str, value: str) -> bool:
    return not value or quoting.is_plain_value(field, value)


def _predicate(node: Predicate) -> str:
    text = _negate(f"{node.on}:{node.name}({_arguments(node)})", negated=node.negated)
    read = quoting.second_term(f"(x {text} x)", "keyword", terms=3)
    if isinstance(read, RawFilter) and read.predicate is not None:
        same = predicate(node.on, *read.predicate, negated=read.negated)
        if (same.name, dict(same.args), same.negated) == (node.name, dict(node.args), node.negated):
            return text
    raise QueryError(f"{text} has no text form that parses to the same query", stage="parse")


def _arguments(node: Predicate) -> str:
    args = node.args
    if node.name == "has.file":
        arguments = [f"{key}:{quoting.quote_value(str(args[key]))}" for key in ("path", "content") if key in args]
        return " ".join(arguments)
    if node.name == "at.time":
        if args.get("rev") == "HEAD":
            return str(args["time"])
        return f"{args['time']}, {args['rev']}"
    if node.name == "has.meta":
        return _metadata(args)

    return str(next(iter(args.values()), ""))


def _metadata(args: Mapping[str, Any]) -> str:
    """Return the arguments of ``has.meta``: ``key``, ``key:`` for a tag, or ``key:value``."""
    key = _metadata_text(str(args["key"]), is_regexp=bool(args.get("keyRegexp")))
    if args["mode"] == "key":
        return key
    if args["mode"] == "tag":
        return f"{key}:"
    return f"{key}:{_metadata_text(str(args['value']), is_regexp=bool(args.get('valueRegexp')))}"


def _metadata_text(text: str, *, is_regexp: bool) -> str:
    if is_regexp:
        return "/" + text.replace("/", r"\/") + "/"
    if _PLAIN_METADATA.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
