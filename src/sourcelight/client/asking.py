"""What callers ask with: text, or an expression put together in Python; and the same query within narrower bounds."""

from __future__ import annotations

from typing import TypeAlias

from sourcelight.core.errors import QueryError
from sourcelight.core.query import parse
from sourcelight.core.query.build import Expression
from sourcelight.core.query.narrowing import narrowed as narrowed  # noqa: PLC0414 - callers take it from here

QueryText: TypeAlias = str | Expression


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
