"""Print a tree as text that parses to the same tree."""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

from sourcelight.core.errors import QueryError
from sourcelight.core.query.lexer import RawFilter
from sourcelight.core.query.nodes import And, Filter, Node, Or, Pattern, Predicate
from sourcelight.core.query.normalize import escape_bare_parens
from sourcelight.core.query.parse import PATTERN_TYPES, check_text, effective_pattern_type, effective_type, read_tree
from sourcelight.core.query.parser import MAX_DEPTH
from sourcelight.core.query.predicates import predicate
from sourcelight.core.query.quoting import (
    _is_plain_value,
    _second,
    in_quotes,
    quote_pattern,
    quote_value,
    read_alone,
    slash_regexp,
)

_EMPTY_FILTER = "file:"
_META_PLAIN = re.compile(r"[\w.@+*-][\w.@+* -]*(?<! )")


def to_text(node: Node | None, pattern_type: str = "keyword") -> str:
    r"""Return a query that reads as `node` when it is parsed as `pattern_type`.

    The text is parsed before it is returned, and a tree without such a text is refused. One thing may be written
    differently from how it was typed: a literal that can only stand in quotes gets them (and is marked so when read
    again). A ``patternType:`` filter in the tree stays, and the text is in that type whatever `pattern_type` says.

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
    typed_in = _pattern_type_of(node)
    effective = typed_in or pattern_type
    # A patternType: must win whatever a search asks for. Text to find that holds another one may come before it.
    requested = PATTERN_TYPES if typed_in else (pattern_type,)
    expected = _comparable(node)
    tried: set[str] = set()
    for requested_type, style in product(dict.fromkeys((effective, pattern_type)), _STYLES):
        text = _Printer(requested_type, style).text(node, 0)
        if text in tried:
            continue
        tried.add(text)
        check_text(text)
        if _reads_as(text, requested, requested_type, expected):
            return text
    raise QueryError(
        f"no query of type {effective} reads as this expression",
        query=text[:200],
        hint="write the text with its special characters as a regular expression, or use fewer parentheses",
        stage="parse",
    )


def check_depth(node: Node) -> None:
    """Raise QueryError for a tree with more levels than a query may have."""
    level, depth = [node], 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            raise QueryError(
                f"groups are nested deeper than {MAX_DEPTH} levels",
                hint="join the alternatives of one field into one regular expression",
                stage="parse",
            )
        level = [arg for parent in level if isinstance(parent, And | Or) for arg in parent.args]


def _pattern_type_of(node: Node) -> str | None:
    if isinstance(node, And | Or):
        return next((pattern_type for arg in node.args if (pattern_type := _pattern_type_of(arg)) is not None), None)
    return effective_type(node.value) if isinstance(node, Filter) and node.name == "patterntype" else None


def _reads_as(text: str, requested: Sequence[str], effective: str, expected: Any) -> bool:
    """Tell whether `text` has the `effective` type and the `expected` tree under every requested type."""
    try:
        if any(effective_pattern_type(text, each) != effective for each in requested):
            return False
        root = read_tree(text, requested[0])[1]
    except QueryError:
        return False
    return root is not None and _comparable(root) == expected


def _comparable(node: Node) -> Any:
    """Return `node` without quotes and the order of operands, which change no meaning."""
    if isinstance(node, And | Or):
        return (type(node).__name__, sorted((_comparable(arg) for arg in node.args), key=repr))
    if isinstance(node, Predicate):
        return ("Predicate", node.on, node.name, sorted(node.args.items()), node.negated)
    if isinstance(node, Filter):
        return ("Filter", node.name, node.value, node.negated, node.revs)
    return ("Pattern", node.value, node.kind, node.negated, node.content)


@dataclass(frozen=True, slots=True)
class _Style:
    """One of the ways to write a tree, as where parentheses are text depends on what stands around them.

    Parameters
    ----------
    explicit
        Write every AND, every nested group and all slashes.
    groups
        ``needed``; ``none``: AND binds closer than OR, and filters at both ends hold for all; ``marked``: an empty
        filter, which is forgotten beside other terms, keeps the parenthesis in front of it from being text.
    in_front
        How many patterns stand in front of the filters beside them: an operator's word is text only where a query
        begins, and a NOT only where it ends.
    lean
        Write few backslashes inside quotes: one in front of a space keeps what follows from being read as a filter.
    within
        Write the filters behind the first word of a literal, whose words are joined across them and across groups
        where there are no quotes: an operator's word may both begin and end it.
    """

    explicit: bool
    groups: str
    in_front: int
    lean: bool
    within: bool = False


_GROUPS = ("needed", "none", "marked")
_STYLES = (
    *(
        _Style(explicit, groups, in_front, lean)
        for lean, in_front, groups, explicit in product((False, True), (0, sys.maxsize, 1), _GROUPS, (False, True))
    ),
    *(_Style(explicit, groups, 0, lean=False, within=True) for groups, explicit in product(_GROUPS, (False, True))),
)


class _Printer:
    """Writes nodes in one pattern type and style."""

    def __init__(self, pattern_type: str, style: _Style) -> None:
        self._type = pattern_type
        self._style = style
        self._and = " " if pattern_type == "keyword" and not style.explicit else " AND "

    def text(self, node: Node, depth: int) -> str:
        if isinstance(node, Filter):
            return _filter(node)
        if isinstance(node, Predicate):
            return _predicate(node)
        if isinstance(node, Pattern):
            return self._pattern(node)
        args: Sequence[Node] = node.args
        if isinstance(node, And) and self._style.in_front:
            filters = [arg for arg in args if isinstance(arg, Filter | Predicate)]
            patterns = [arg for arg in args if not isinstance(arg, Filter | Predicate)]
            args = [*patterns[: self._style.in_front], *filters, *patterns[self._style.in_front :]]
        if isinstance(node, And) and self._style.within and (text := self._around_filters(args)):
            return text
        parts = [self._operand(arg, node, depth) for arg in args]
        return (" OR " if isinstance(node, Or) else self._and).join(parts)

    def _around_filters(self, args: Sequence[Node]) -> str:
        """Filters between the words of the one literal beside them; empty where they can't be."""
        filters = [self.text(arg, 0) for arg in args if isinstance(arg, Filter | Predicate)]
        patterns = [arg for arg in args if not isinstance(arg, Filter | Predicate)]
        if self._type not in {"standard", "literal"} or len(patterns) != 1 or not filters:
            return ""
        literal = patterns[0]
        if not isinstance(literal, Pattern) or literal.kind != "literal" or literal.negated or literal.content:
            return ""
        first, space, remaining = literal.value.partition(" ")
        return f"{_apart(first)} {' '.join(filters)} {remaining}" if space else ""

    def _operand(self, arg: Node, parent: And | Or, depth: int) -> str:
        text = self.text(arg, depth + 1)
        groups = self._style.groups
        if groups == "none" or not isinstance(arg, And | Or):
            return text
        # Near the top an AND inside an OR needs its parentheses: they keep its filters from being moved out.
        is_group = isinstance(arg, Or) or isinstance(parent, And) or depth < 2 or self._style.explicit
        if not is_group or " " not in text:
            return text
        return f"({_EMPTY_FILTER} {text})" if groups == "marked" else f"({text})"

    def _pattern(self, node: Pattern) -> str:
        if node.content:
            return f"{'-' if node.negated else ''}content:{self._content(node)}"
        text = self._regexp(node.value) if node.kind == "regexp" else self._literal(node)
        return f"NOT {text}" if node.negated else text

    def _literal(self, node: Pattern) -> str:
        if self._type in {"standard", "literal"}:
            # There are no quotes; what can't stand bare is refused when the text is read again.
            first, space, remaining = node.value.partition(" ")
            return f"{_apart(first)}{space}{remaining}" if self._style.within else node.value
        if node.quoted or self._type == "regexp":
            return in_quotes(node.value, lean=self._style.lean)
        text = quote_pattern(node.value)
        return text if text == node.value else in_quotes(node.value, lean=self._style.lean)

    def _regexp(self, value: str) -> str:
        is_bare = self._type == "regexp" and not self._style.explicit and escape_bare_parens(value) == value
        if is_bare and read_alone(value, "regexp") == value:
            return value
        if not value:
            raise QueryError("an empty regular expression can't be written between slashes", stage="parse")
        return slash_regexp(value)

    def _content(self, node: Pattern) -> str:
        if node.kind == "regexp":
            if self._type != "regexp" or (node.value and not _is_plain_value("content", node.value)):
                message = f"content:{node.value} as a regular expression can't be written in {self._type} type"
                raise QueryError(message, hint="leave content: out and add type:file", stage="parse")
            return node.value
        return in_quotes(node.value) if node.quoted or self._type == "regexp" else _value("content", node.value)


def _apart(word: str) -> str:
    """A word that begins a literal without quotes: NOT is text where a group ends behind it."""
    return f"( {word} )" if word.lower() == "not" else word


def _filter(node: Filter) -> str:
    value = node.value
    if node.name == "repo" and node.revs is not None:
        value = f"{value}@{':'.join(node.revs)}"
    name = "patternType" if node.name == "patterntype" else node.name
    return f"{'-' if node.negated else ''}{name}:{in_quotes(value) if node.quoted else _value(node.name, value)}"


def _value(field: str, value: str) -> str:
    return value if not value or _is_plain_value(field, value) else in_quotes(value)


def _predicate(node: Predicate) -> str:
    inner = _arguments(node)
    text = f"{'-' if node.negated else ''}{node.on}:{node.name}({inner})"
    read = _second(f"(x {text} x)", "keyword", terms=3)
    if isinstance(read, RawFilter) and read.predicate is not None:
        back = predicate(node.on, *read.predicate, negated=read.negated)
        if (back.name, dict(back.args), back.negated) == (node.name, dict(node.args), node.negated):
            return text
    raise QueryError(f"{text} can't be written so that it reads back alike", stage="parse")


def _arguments(node: Predicate) -> str:
    args = node.args
    if node.name == "has.file":
        return " ".join(f"{key}:{quote_value(str(args[key]))}" for key in ("path", "content") if key in args)
    if node.name == "at.time":
        return str(args["time"]) if args.get("rev") == "HEAD" else f"{args['time']}, {args['rev']}"
    if node.name == "has.meta":
        key = _meta(str(args["key"]), is_regexp=bool(args.get("keyRegexp")))
        if args["mode"] == "key":
            return key
        value = _meta(str(args["value"]), is_regexp=bool(args.get("valueRegexp"))) if args["mode"] == "pair" else ""
        return f"{key}:{value}"
    return str(next(iter(args.values()), ""))


def _meta(text: str, *, is_regexp: bool) -> str:
    if is_regexp:
        return "/" + text.replace("/", r"\/") + "/"
    if _META_PLAIN.fullmatch(text):
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'
