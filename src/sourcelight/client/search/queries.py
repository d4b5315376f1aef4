"""Queries of a client: text or expressions, and the request of a search."""

from __future__ import annotations

from typing import TypeAlias

from sourcelight.core.errors import QueryError
from sourcelight.core.query import parse
from sourcelight.core.query.build import Expression
from sourcelight.core.query.narrowing import narrow
from sourcelight.core.wire.request import CLIENT_MATCHES, SearchRequest

QueryText: TypeAlias = str | Expression
"""A query as callers pass it."""


def query_text(query: object) -> str:
    """Return the text of a query.

    Raises
    ------
    QueryError
        For anything else, such as a list: its Python form would be searched, and found nowhere.
    """
    if isinstance(query, (str, Expression)):
        return str(query)

    message = f"a query must be text or an expression of sourcelight.q, got {type(query).__name__}"
    if isinstance(query, (list, tuple, dict)):
        message += "; search_many() takes several queries"
    raise QueryError(message)


def everything(text: str, pattern_type: str, version: str = "V3") -> str:
    """Return text of a query without a limit on the number of matches, unless it sets one itself.

    An invalid query is left to the backend, which reports the error.
    """
    try:
        query = parse(text, pattern_type, version=version)
    except QueryError:
        return f"count:all {text}"
    if query.root is None or any(alternative.first("count") for alternative in query.plan):
        return text
    return narrow(query, [("count", "all")])


def is_bounded(text: str, pattern_type: str, version: str = "V3") -> bool:
    """Return whether a query limits its matches or its time, or False if it can't be parsed."""
    try:
        query = parse(text, pattern_type, version=version)
    except QueryError:
        return False

    return any(alternative.first("timeout") or alternative.count_limit() is not None for alternative in query.plan)


def search_request(
    query: QueryText,
    *,
    pattern_type: str = "standard",
    limit: int | None = None,
    context_lines: int | None = None,
    max_line_bytes: int | None = None,
    timeout_s: float | None = None,
) -> SearchRequest:
    """Return the request of a search, with the parameters of `AsyncClient.search`."""
    for name, value in (("limit", limit), ("context_lines", context_lines)):
        if value is not None and (not isinstance(value, int) or value < 0):
            raise ValueError(f"{name} must be a whole number of 0 or more, got {value!r}")

    if max_line_bytes is not None and max_line_bytes < 1:
        raise ValueError(f"max_line_bytes must be 1 or more, got {max_line_bytes}")
    if timeout_s is not None and not timeout_s >= 0:
        raise ValueError(f"timeout_s must be 0 seconds or more, got {timeout_s!r}")

    return SearchRequest(
        query_text(query),
        pattern_type=pattern_type,
        display=-1 if limit is None else limit,
        chunk_matches=context_lines is not None,
        context_lines=1 if context_lines is None else context_lines,
        max_line_len=-1 if max_line_bytes is None else max_line_bytes,
        timeout_s=timeout_s,
        default_matches=CLIENT_MATCHES,
        cells=True,
        symbol_lines=True,
    )
