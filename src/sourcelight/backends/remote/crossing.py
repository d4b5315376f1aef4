"""Matches that go from one line to the next, which a service's list of lines does not tell.

A line of it has the places of matches within the line alone: one that begins at the newline has none there, and one
that goes on from the line before looks like another match. Chunks have where each match begins and ends.
"""

from __future__ import annotations

import re
from dataclasses import replace

from sourcelight.core.batches import Event, MatchBatch
from sourcelight.core.errors import QueryError
from sourcelight.core.query import parse
from sourcelight.core.query.alternatives import patterns_of
from sourcelight.core.query.narrowing import with_timeout
from sourcelight.core.query.parse import effective_pattern_type
from sourcelight.core.wire.request import SearchRequest

# What of a regular expression may match a newline; more than does is no harm.
_MAY = re.compile(r"\n|\\[nsWDpPxC0-7]|\[\^|\[:|\(\?[a-zA-Z]*s")
_CHUNK = ("chunk", "chunk_line_number", "truncated", "chunk_offset")


def may_cross_lines(request: SearchRequest) -> bool:
    """Whether a match in the contents of files may hold a newline."""
    if _MAY.search(request.query) is None:
        return False
    try:
        query = parse(request.query, request.pattern_type, version=request.version)
    except QueryError:
        return False
    patterns = [leaf for one in query.plan if one.pattern is not None for leaf in patterns_of(one.pattern)]
    return any("\n" in leaf.value or (leaf.kind == "regexp" and _MAY.search(leaf.value)) for leaf in patterns)


def portable(request: SearchRequest) -> SearchRequest:
    """The same request as any service reads it: its time limit a filter, its type the one that ``patternType:`` names.

    Not every service finds that filter: the reference ignores it where a ``)`` that only quotes or slashes explain
    keeps it from reading the query.

    Raises
    ------
    QueryError
        No text means the query with its time limit.
    """
    text = with_timeout(request.query, request.pattern_type, request.version, request.timeout_s)
    request = replace(request, query=text, timeout_s=None)
    if "patterntype:" not in request.query.lower():
        return request
    try:
        effective = effective_pattern_type(request.query, request.pattern_type, version=request.version)
    except QueryError:
        return request
    return replace(request, pattern_type=effective)


def in_chunks(request: SearchRequest) -> SearchRequest:
    """The same request, with the lines of each match as a chunk and none around them."""
    return replace(request, chunk_matches=True, context_lines=0, max_line_len=-1)


def without_chunks(event: Event) -> Event:
    """An event without the columns that nobody asked for."""
    if not isinstance(event, MatchBatch):
        return event
    held = [name for name in _CHUNK if name in event.batch.schema.names]
    return MatchBatch(event.batch.drop_columns(held), event.repositories) if held else event
