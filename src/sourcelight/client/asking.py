"""What callers ask with: text, or an expression put together in Python; and the same query within narrower bounds."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

from sourcelight.core.errors import QueryError
from sourcelight.core.query import Alternative, And, Filter, Node, Predicate, Query, parse, quote_value
from sourcelight.core.query.build import Expression

QueryText: TypeAlias = str | Expression


def narrowed(query: Query, filters: Sequence[tuple[str, str]]) -> str:
    """Text of `query` with filters added to every one of its alternatives.

    The text stays as it was typed where that is possible; where filters in front of it would not reach every
    alternative, or would change what it says, it is written anew from its tree, which means the same.

    Parameters
    ----------
    query
        The query.
    filters
        Pairs of a field, with a dash in front when negated, and its value.
    """
    if not filters:
        return query.text
    written = " ".join(f"{name}:{quote_value(value)}" for name, value in filters)
    added = parse(written, "keyword").plan[0].filters
    for text in (f"{written} {query.text}".strip(), f"{written} ({query.text})"):
        if _is_narrowed(query, text, added):
            return text
    root: list[Node] = [] if query.root is None else [query.root]
    args: list[Node] = [*added, *root]
    return str(Expression(args[0] if len(args) == 1 else And(tuple(args))))


def _is_narrowed(query: Query, text: str, added: Sequence[Filter | Predicate]) -> bool:
    """Whether `text` reads as `query` with `added` in every alternative, and nothing else changed."""
    try:
        read = parse(text, query.pattern_type)
    except QueryError:
        return False
    if len(read.plan) != len(query.plan):
        return False
    return all(_without(new, added) == _without(old, ()) for new, old in zip(read.plan, query.plan, strict=True))


def _without(alternative: Alternative, added: Sequence[Filter | Predicate]) -> tuple[object, ...] | None:
    left = [_bare(item) for item in alternative.filters]
    for item in added:
        if _bare(item) not in left:
            return None
        left.remove(_bare(item))
    return (sorted(left), repr(alternative.pattern))


def _bare(item: Filter | Predicate) -> str:
    return repr(item).replace("quoted=True", "quoted=False")


def everything(text: str, pattern_type: str, version: str = "V3") -> str:
    """Text of a query without a limit on the number of matches, unless it sets one itself.

    A query that can't be read is left to the backend, which says why.
    """
    try:
        query = parse(text, pattern_type, version=version)
    except QueryError:
        return f"count:all {text}"
    if query.root is None or any(alternative.first("count") for alternative in query.plan):
        return text
    return narrowed(query, [("count", "all")])


def bounded(text: str, pattern_type: str, version: str = "V3") -> bool:
    """Whether a query asks to stop after some matches or some time; False for one that can't be read."""
    try:
        query = parse(text, pattern_type, version=version)
    except QueryError:
        return False
    return any(
        alternative.first("timeout") or alternative.count_limit(default=None) is not None for alternative in query.plan
    )
