"""Split a query into alternatives: flat lists of filters, each with at most one expression of patterns.

``(repo:a file:x) or (repo:b TODO)`` has two. Patterns that share their filters stay one expression, whatever ANDs and
ORs it has, because the engine evaluates it for each file: ``repo:a (TODO or FIXME)`` is one alternative.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import CELL_FILTERS, RESULT_TYPES
from sourcelight.core.query.syntax.lexer import WHITE
from sourcelight.core.query.syntax.nodes import Alternative, And, Filter, Node, Or, Pattern, Predicate

MAX_ALTERNATIVES = 10_000
_MAX_ALTERNATIVE_PARTS = 1_000_000
"""Filters and patterns of all alternatives together: bounds memory, whatever the shape of the query."""

DEFAULT_TYPES = ("file", "path", "repo")
_BOOSTED = frozenset({"file", "path"})
_SPACES = re.compile(f"[{WHITE}]+")
"""Blanks between words."""

Expression: TypeAlias = Pattern | And | Or
"""A node that may be a part of an expression of patterns."""


@dataclass(slots=True)
class _Draft:
    """An alternative in the making: its filters, and the expressions that must all match."""

    filters: list[Filter | Predicate] = field(default_factory=list)
    patterns: list[Expression] = field(default_factory=list)

    @classmethod
    def of(cls, node: Node) -> _Draft:
        """Return the alternative of a node without alternatives below it."""
        if isinstance(node, Filter | Predicate):
            return cls(filters=[node])
        return cls(patterns=[node])

    @property
    def size(self) -> int:
        return len(self.filters) + len(self.patterns)

    def add(self, other: _Draft) -> None:
        self.filters += other.filters
        self.patterns += other.patterns

    def __and__(self, other: _Draft) -> _Draft:
        return _Draft(self.filters + other.filters, self.patterns + other.patterns)


def alternatives(root: Node, text: str, pattern_type: str) -> tuple[Alternative, ...]:
    """Return the alternatives of `root`, later ORs varying slowest; pure pattern expressions stay whole.

    Raises
    ------
    QueryError
        There would be more than `MAX_ALTERNATIVES`.
    """
    drafts = _expand(root, text) or [_Draft.of(root)]
    phrase = _phrase(text) if pattern_type == "keyword" else ""
    return tuple(_finish(draft, phrase) for draft in drafts)


def patterns_of(node: Expression) -> Iterator[Pattern]:
    """Yield the patterns of an expression, left to right."""
    if isinstance(node, Pattern):
        yield node
        return
    for arg in node.args:
        if isinstance(arg, Pattern | And | Or):
            yield from patterns_of(arg)


def cell_kinds_of(alternative: Alternative) -> frozenset[str]:
    """Return the kinds of texts in cells that an alternative looks at; empty for all of a file."""
    item = alternative.first("cell")
    return CELL_FILTERS[item.value] if item is not None and item.value else frozenset()


def _expand(node: Node, text: str) -> list[_Draft] | None:
    """Return the alternatives below `node`, None when it is a pure pattern expression."""
    if isinstance(node, Pattern):
        return None
    if isinstance(node, Filter | Predicate):
        return [_Draft.of(node)]

    expanded = [_expand(arg, text) for arg in node.args]
    # Pure patterns stay one expression: the engine evaluates their tree for each file and needs no alternatives.
    if all(drafts is None for drafts in expanded):
        return None

    operands = [drafts or [_Draft.of(arg)] for drafts, arg in zip(expanded, node.args, strict=True)]
    if isinstance(node, Or):
        return _union(operands, text)
    return _product(operands, text)


def _union(operands: list[list[_Draft]], text: str) -> list[_Draft]:
    """Return the alternatives of an OR: those of all operands."""
    drafts = []
    for operand in operands:
        drafts += operand
    _check_size(drafts, [], text)
    return drafts


def _product(operands: list[list[_Draft]], text: str) -> list[_Draft]:
    """Return the alternatives of an AND: each of one operand with each of the others."""
    drafts = [_Draft()]
    for operand in operands:
        # Check before the product is built: 20 filters with two values each would make a million alternatives.
        _check_size(drafts, operand, text)
        if len(operand) == 1:
            for draft in drafts:
                draft.add(operand[0])
            continue

        product = []
        for other in operand:
            product += [draft & other for draft in drafts]
        drafts = product

    return drafts


def _check_size(left: list[_Draft], right: list[_Draft], text: str) -> None:
    """Raise `QueryError` if a product, or with an empty right side a list, would be too large."""
    count = len(left) * max(len(right), 1)
    if count == 1:
        return

    left_size = sum(draft.size for draft in left)
    right_size = sum(draft.size for draft in right)
    size = left_size * len(right) + right_size * len(left)
    if count <= MAX_ALTERNATIVES and size <= _MAX_ALTERNATIVE_PARTS:
        return

    raise QueryError(
        f"the query has too many alternatives of filters: {count:,} or more; {MAX_ALTERNATIVES:,} are allowed",
        query=text,
        hint="join the values of one field into one regular expression, such as file:(a|b|c)",
    )


def _finish(draft: _Draft, phrase: str) -> Alternative:
    pattern = _conjunction(draft.patterns)
    type_values = {node.value for node in draft.filters if isinstance(node, Filter) and node.name == "type"}
    if type_values:
        types = tuple(name for name in RESULT_TYPES if name in type_values)
    # `content:` matches no paths, so such a query has no path results.
    elif pattern is not None and all(leaf.content for leaf in patterns_of(pattern)):
        types = ("file",)
    else:
        types = DEFAULT_TYPES

    boost = None
    if phrase and type_values <= _BOOSTED and pattern is not None and _is_phrase(pattern):
        boost = phrase
    return Alternative(tuple(draft.filters), pattern, types, boost)


def _conjunction(patterns: list[Expression]) -> Expression | None:
    """Return the expression that all of `patterns` match; an AND among them gives its operands."""
    if len(patterns) <= 1:
        return patterns[0] if patterns else None

    operands: list[Node] = []
    for pattern in patterns:
        operands.extend(pattern.args if isinstance(pattern, And) else [pattern])
    return And(tuple(operands))


def _is_phrase(pattern: Expression) -> bool:
    """Return whether a pattern is plain text: words, or one quoted text."""
    if isinstance(pattern, Pattern):
        return pattern.quoted and _is_plain(pattern)
    return isinstance(pattern, And) and all(map(_is_plain, pattern.args))


def _is_plain(node: Node) -> bool:
    return isinstance(node, Pattern) and node.kind == "literal" and not node.negated


def _phrase(text: str) -> str:
    return " ".join(word for word in _SPACES.split(text) if word and ":" not in word)
