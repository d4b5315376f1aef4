"""Read the query of a request: parse it within its time limit, check it, and resolve its contexts."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, TypeAlias

from sourcelight.core.caching import IdentityCache
from sourcelight.core.cancellation import Cancellation, DeadlineExceeded, run_with_deadline
from sourcelight.core.errors import QueryError
from sourcelight.core.query import Filter, Predicate, Query
from sourcelight.core.query.dates import duration_s
from sourcelight.core.query.parse import parse_text, refuse_unsupported
from sourcelight.core.wire.request import SearchRequest
from sourcelight.engines.execution.plan import SUPPORTED, commit_plan_of
from sourcelight.engines.execution.protocol import Limits
from sourcelight.engines.execution.scope.contexts import ScopedAlternative, resolve_context
from sourcelight.engines.execution.scope.selection import check_dates
from sourcelight.engines.execution.structures import check_structures

ReadQuery: TypeAlias = tuple[Query, tuple[ScopedAlternative, ...]]
"""A query, and its alternatives with their contexts resolved."""

_SHORT, _FEW_OR = 300, 6
"""Characters and alternatives of a query that is read in a moment."""

_MAX_CACHED_QUERIES = 64
"""Queries that are cached, as in `plan_cache`."""

_COMMITS = frozenset({"commit", "diff"})
"""Types of patterns that may be too large."""

_TIMEOUT = re.compile(r"(?i)(?<![^\s(])timeout:([^\s()]+)")
"""``timeout:30s``, also in a query that can't be parsed."""


class QueryReader:
    """Reads queries, and keeps the short ones. Safe to share between threads.

    Parameters
    ----------
    limits
        How long reading may take at most.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._read: IdentityCache[Query, ReadQuery] = IdentityCache(_MAX_CACHED_QUERIES)
        self._checked: IdentityCache[tuple[Filter | Predicate, ...], bool] = IdentityCache(_MAX_CACHED_QUERIES)

    def read(self, request: SearchRequest, contexts: Mapping[str, Any]) -> ReadQuery | float:
        """Read a query; return the seconds that were allowed when even that took too long.

        Raises `QueryError` for a query that can't be parsed or has unsupported parts.
        """
        text = request.query
        if len(text) <= _SHORT and text.lower().count(" or ") <= _FEW_OR:
            return self.parse(request, contexts)

        # Its own `timeout:` is known only when it is read: seen here so, it may be in a quoted text as well.
        timeouts_s = [
            timeout_s
            for timeout_s in (request.timeout_s, *map(duration_s, _TIMEOUT.findall(text)))
            if timeout_s is not None
        ]
        allowed_s = self._limits.timeout_s(max(timeouts_s[-1], 0.0) if timeouts_s else None, has_count=True)
        try:
            return run_with_deadline(lambda: self.parse(request, contexts), Cancellation(allowed_s))
        except DeadlineExceeded:
            return allowed_s or 0.0

    def parse(self, request: SearchRequest, contexts: Mapping[str, Any]) -> ReadQuery:
        """Read a query, however long that takes; raises `QueryError` as `read`."""
        query = parse_text(request.query, request.pattern_type, request.version)
        # The parser keeps short queries, so the same text is the same object.
        cached = self._read.get(query)
        if cached is not None:
            return cached

        # Queries of one shape share their filters (`core.query.shapes`), on which all checks of literals depend.
        filters = query.plan[0].filters if len(query.plan) == 1 else ()
        if filters and self._checked.get(filters):
            return query, (ScopedAlternative(query.plan[0]),)

        result = check_query(query, request), resolve_contexts(query, contexts)
        # Not cached if the meaning of a context may change.
        if len(request.query) <= _SHORT and [id(item.alternative) for item in result[1]] == [*map(id, query.plan)]:
            self._read.put(query, result)
            if filters and not _COMMITS.intersection(query.plan[0].types):
                self._checked.put(filters, value=True)

        return result

    def clear(self) -> None:
        """Forget every query."""
        self._read.clear()
        self._checked.clear()


def check_query(query: Query, request: SearchRequest) -> Query:
    """Return a query that the engines can answer; raises `QueryError` for another."""
    if query.root is None:
        raise QueryError("no query found", query=request.query, position=0, hint="enter text or a filter")
    for alternative in query.plan:
        refuse_unsupported(alternative, SUPPORTED)
        check_structures(alternative)
        commit_plan_of(alternative)  # raises for a pattern that is too large
    return query


def resolve_contexts(query: Query, contexts: Mapping[str, Any]) -> tuple[ScopedAlternative, ...]:
    """Return the alternatives of a query with their contexts resolved; raises `QueryError`, also for a bad date."""
    alternatives = tuple(
        item for alternative in query.plan for item in resolve_context(alternative, contexts, query.text)
    )
    for item in alternatives:
        check_dates(item.alternative, query.text)
    return alternatives
