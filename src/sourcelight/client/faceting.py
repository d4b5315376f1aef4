"""A query with suggested filters added: several of one kind are alternatives, those of different kinds all hold."""

from __future__ import annotations

from collections.abc import Sequence

from sourcelight.core.errors import QueryError
from sourcelight.core.query import parse
from sourcelight.core.query.narrowing import conjoined
from sourcelight.core.wire.events import Filter

_ALTERNATIVES = frozenset({"repo", "lang", "type", "symbol type", "author"})


def faceted(query: str, chosen: Sequence[Filter], pattern_type: str = "standard") -> str:
    """Text of `query` with some suggestions added.

    Parameters
    ----------
    query
        Text of the query.
    chosen
        Suggestions of its answer.
    pattern_type
        How its patterns are read.
    """
    kinds: dict[str, list[str]] = {}
    for one in chosen:
        kinds.setdefault(one.kind, []).append(one.value)
    parts = []
    for kind, values in kinds.items():
        if len(values) > 1 and kind in _ALTERNATIVES:
            parts.append(f"({' or '.join(values)})")
        else:
            parts += values
    if not parts:
        return query
    front = " ".join(parts)
    try:
        read = parse(query, pattern_type)
    except QueryError:
        return f"{front} {query}".strip()  # the one who searches is told
    return conjoined(read, front)
