"""The alternatives of a query, their result types, and the phrase that lifts a file's rank (rules 7, 14 and 16)."""

from __future__ import annotations

import re
from collections.abc import Iterator

from sourcelight.core.errors import QueryError
from sourcelight.core.query.fields import RESULT_TYPES
from sourcelight.core.query.lexer import WHITE
from sourcelight.core.query.nodes import Alternative, And, Filter, Node, Or, Pattern, Predicate

MAX_ALTERNATIVES = 10_000
_MAX_PARTS = 1_000_000  # terms of all alternatives together: bounds memory, whatever the shape of the query
DEFAULT_TYPES = ("file", "path", "repo")
_BOOSTED = frozenset({"file", "path"})
_SPACES = re.compile(f"[{WHITE}]+")


class _Draft:
    __slots__ = ("filters", "patterns")

    def __init__(self, filters: list[Filter | Predicate], patterns: list[Pattern | And | Or]) -> None:
        self.filters = filters
        self.patterns = patterns


def alternatives(root: Node, text: str, pattern_type: str) -> tuple[Alternative, ...]:
    """Return the alternatives of `root`, later ORs varying slowest; pure pattern expressions stay whole.

    Raises
    ------
    QueryError
        There would be more than `MAX_ALTERNATIVES`.
    """
    drafts = _expand(root, text) or [_whole(root)]
    phrase = _phrase(text) if pattern_type == "keyword" else ""
    return tuple(_finish(draft, phrase) for draft in drafts)


def _expand(node: Node, text: str) -> list[_Draft] | None:
    """Return the alternatives below `node`, None when it is a pure pattern expression."""
    if isinstance(node, Pattern):
        return None
    if isinstance(node, Filter | Predicate):
        return [_Draft([node], [])]
    parts = [_expand(arg, text) for arg in node.args]
    if all(part is None for part in parts):
        return None
    operands = [part or [_whole(arg)] for part, arg in zip(parts, node.args, strict=True)]
    if isinstance(node, Or):
        found = [draft for operand in operands for draft in operand]
        _check_size(found, [], text)
        return found
    found = [_Draft([], [])]
    for operand in operands:
        _check_size(found, operand, text)
        if len(operand) == 1:
            for draft in found:
                draft.filters.extend(operand[0].filters)
                draft.patterns.extend(operand[0].patterns)
            continue
        found = [
            _Draft(draft.filters + other.filters, draft.patterns + other.patterns)
            for other in operand
            for draft in found
        ]
    return found


def _whole(node: Node) -> _Draft:
    return _Draft([], [node] if isinstance(node, Pattern | And | Or) else [])


def _check_size(left: list[_Draft], right: list[_Draft], text: str) -> None:
    many = len(left) * max(len(right), 1)
    if many <= MAX_ALTERNATIVES and (many == 1 or _size(left) * len(right) + _size(right) * len(left) <= _MAX_PARTS):
        return
    raise QueryError(
        f"the query stands for too many alternatives of filters: {many:,} or more; {MAX_ALTERNATIVES:,} are allowed",
        query=text,
        hint="join the values of one field into one regular expression, such as file:(a|b|c)",
    )


def _size(drafts: list[_Draft]) -> int:
    return sum(len(draft.filters) + len(draft.patterns) for draft in drafts)


def _finish(draft: _Draft, phrase: str) -> Alternative:
    filters, patterns = tuple(draft.filters), draft.patterns
    pattern: Pattern | And | Or | None = patterns[0] if len(patterns) == 1 else None
    if len(patterns) > 1:
        flat: list[Node] = []
        for part in patterns:
            flat.extend(part.args if isinstance(part, And) else [part])
        pattern = And(tuple(flat))
    named = {node.value for node in filters if isinstance(node, Filter) and node.name == "type"}
    if named:
        types = tuple(name for name in RESULT_TYPES if name in named)
    elif pattern is not None and all(leaf.content for leaf in patterns_of(pattern)):
        types = ("file",)
    else:
        types = DEFAULT_TYPES
    boosted = phrase and named <= _BOOSTED and pattern is not None and _is_phrase(pattern)
    return Alternative(filters, pattern, types, phrase if boosted else None)


def patterns_of(node: Pattern | And | Or) -> Iterator[Pattern]:
    """Yield the patterns of an expression, left to right."""
    if isinstance(node, Pattern):
        yield node
        return
    for arg in node.args:
        if isinstance(arg, Pattern | And | Or):
            yield from patterns_of(arg)


def _is_phrase(pattern: Pattern | And | Or) -> bool:
    if isinstance(pattern, Pattern):
        return pattern.quoted and pattern.kind == "literal" and not pattern.negated
    return isinstance(pattern, And) and all(
        isinstance(arg, Pattern) and arg.kind == "literal" and not arg.negated for arg in pattern.args
    )


def _phrase(text: str) -> str:
    return " ".join(word for word in _SPACES.split(text) if word and ":" not in word)
