"""The text of a query with further filters, checked to mean the query and the filters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from sourcelight.core.errors import QueryError
from sourcelight.core.query.build import Expression
from sourcelight.core.query.nodes import Alternative, Query
from sourcelight.core.query.parse import parse
from sourcelight.core.query.plan import alternatives
from sourcelight.core.query.printer import quote_value
from sourcelight.core.query.rewrite import combine


def narrowed(query: Query, filters: Sequence[tuple[str, str]]) -> str:
    """Text of `query` with filters added to every one of its alternatives.

    Parameters
    ----------
    query
        The query.
    filters
        Pairs of a field, with a dash in front when negated, and its value.

    Raises
    ------
    QueryError
        No text means the query with these filters.
    """
    if not filters:
        return query.text
    return conjoined(query, " ".join(f"{name}:{quote_value(value)}" for name, value in filters))


def conjoined(query: Query, written: str) -> str:
    """Text of `query` and of the filters `written` in front of it, which hold for every alternative.

    The text stays as it was typed where that is possible; where filters in front of it would not reach every
    alternative, or would change what it says, it is written from its tree, which means the same.

    Raises
    ------
    QueryError
        `written` can't be parsed, or no text means both.
    """
    front = parse(written, "keyword").root
    nodes = [node for node in (front, query.root) if node is not None]
    if not nodes:
        return query.text
    both = combine("and", nodes)
    expected = _meaning(alternatives(both, query.text, query.pattern_type))
    for text in (f"{written} {query.text}".strip(), f"{written} ({query.text})"):
        try:
            read = parse(text, query.pattern_type)
        except QueryError:
            continue
        if read.pattern_type == query.pattern_type and _meaning(read.plan) == expected:
            return text
    return str(Expression(both))


def _meaning(plan: Iterable[Alternative]) -> list[tuple[list[str], str]]:
    return sorted((sorted(map(_bare, item.filters)), _bare(item.pattern)) for item in plan)


def _bare(node: object) -> str:
    return repr(node).replace("quoted=True", "quoted=False")
