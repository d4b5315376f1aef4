"""The request of a search stream: its parameters, their defaults, and their text form."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """What a caller asks of a search stream, over HTTP and in-process alike.

    Parameters
    ----------
    query
        The query text (``q``).
    pattern_type
        ``standard``, ``keyword``, ``regexp`` or ``literal`` (``t``); used unless the query holds ``patternType:``.
        Empty: chosen by `version`.
    version
        Version of the query syntax (``v``): ``V1``, ``V2`` or ``V3``.
    display
        Most matches to return (``display``); beyond it searching and counting go on. -1: no limit.
    chunk_matches
        Whether matches carry their surroundings (``cm``).
    context_lines
        Lines of context on each side (``cl``), 0 or more; only with `chunk_matches`.
    max_line_len
        Longest line of a chunk, in bytes (``max-line-len``); 0 or less: no limit.
    timeout_s
        Longest time to search, in seconds; None: no limit of the caller's.
        It travels as a ``timeout:`` filter.
    trace
        Whether a trace of the request is asked for.
    """

    query: str
    pattern_type: str = "standard"
    version: str = "V3"
    display: int = -1
    chunk_matches: bool = False
    context_lines: int = 1
    max_line_len: int = -1
    timeout_s: float | None = None
    trace: bool = False
