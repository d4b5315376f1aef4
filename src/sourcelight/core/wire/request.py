"""The request of a search stream: parameters, defaults and text form, and the ``skipped`` items of its own limits."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields
from operator import attrgetter
from typing import Any

from sourcelight.core.errors import BadParameter, UnsupportedQuery
from sourcelight.core.markup.counts import count_of
from sourcelight.core.wire.events import QuerySuggestion, Skipped

_TYPE_OF_VERSION = {"V1": "regexp", "V2": "literal", "V3": "standard"}
"""Pattern type of each version of the query language."""

_PATTERN_TYPES = {
    "standard": "standard",
    "literal": "literal",
    "regexp": "regexp",
    "keyword": "keyword",
    "ast-grep": "ast-grep",
    "lucky": "standard",
    "codycontext": "keyword",
    "nls": "nls",
}
"""The pattern type that each value of a request names."""

RANKED = "nls"
"""Pattern type of ranked search, which the service's stream adds to the query language's types."""

_TRUE = frozenset({"1", "t", "T", "TRUE", "true", "True"})
_FALSE = frozenset({"0", "f", "F", "FALSE", "false", "False"})
"""Spellings of true and false, those of strconv.ParseBool in Go."""

DEFAULT_COUNT = "default-count"
"""Parameter that this service adds to the wire reference: `SearchRequest.default_matches`."""

CELLS = "cells"
"""Another one: `SearchRequest.cells`."""

SYMBOL_LINES = "symbol-lines"
"""Another one: `SearchRequest.symbol_lines`."""

_MAX_CONTEXT_LINES = 2**32 - 1

_INTEGER = re.compile(r"[+-]?[0-9]+", re.ASCII)
_UNSIGNED = re.compile(r"[0-9]+", re.ASCII)

CLIENT_MATCHES = 1_000_000
"""Matches that a client of ours asks for where the query has no ``count:``: a sum over fewer would be of the
repositories that come first (`SearchRequest.default_matches`)."""


@dataclass(frozen=True, slots=True)
class SearchRequest:
    """A request of a search stream, over HTTP and in-process alike.

    Parameters
    ----------
    query
        The query text (``q``).
    pattern_type
        ``standard``, ``keyword``, ``regexp``, ``literal`` or ``ast-grep`` (``t``); used unless the query holds
        ``patternType:``.
        Empty: chosen by `version`.
    version
        Version of the query syntax (``v``): ``V1``, ``V2`` or ``V3``.
    display
        Most matches to return (``display``); beyond it searching and counting continue. -1: no limit.
    chunk_matches
        Whether matches carry their surroundings (``cm``).
    context_lines
        Lines of context on each side (``cl``), 0 or more; only with `chunk_matches`.
    max_line_len
        Longest line of a chunk, in bytes (``max-line-len``); 0 or less: no limit.
    timeout_s
        Longest time to search, in seconds; None: no limit of the caller's.
        It travels as a ``timeout:`` filter, see `sourcelight.core.query.narrowing.with_timeout`.
    trace
        Whether a trace of the request is asked for.
    default_matches
        Matches after which to stop where an alternative of the query has no ``count:`` (``default-count``); None: as
        the service does. It is sent beside the query, not in it, so that no text changes its meaning; services that do
        not know the parameter ignore it, as they do all unknown ones (wire reference 1.2), and keep their own number.
    cells
        Whether matched lines of notebooks say in which cell they are (``cells``), though the query has no ``cell:``. It
        is as `default_matches`: services that do not know it ignore it.
    symbol_lines
        Whether definitions carry their line and the place of their name in it (``symbol-lines``), as `cells`.
    diff_previews
        Whether diffs carry a preview as git writes them, cut to a few lines. It has no parameter: the service asks for
        it on behalf of clients that show the text of diffs.
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
    default_matches: int | None = None
    diff_previews: bool = False
    cells: bool = False
    symbol_lines: bool = False

    @property
    def effective_pattern_type(self) -> str:
        """The pattern type that counts when the query names none: `pattern_type`, else that of `version`."""
        return self.pattern_type or _TYPE_OF_VERSION.get(self.version, "standard")

    def with_query(self, query: str) -> SearchRequest:
        """Return the same request with another query."""
        # Each search of a service needs one, and `replace` reads the fields of the class again.
        return SearchRequest(query, *_OTHERS(self))

    def to_params(self) -> dict[str, str]:
        """Return the parameters of an address: always ``q``, ``v`` and ``t``, others unless they have their default.

        `timeout_s` has no parameter: the sender adds it to the query first, as a filter.

        Raises
        ------
        ValueError
            `timeout_s` is still set, and would be lost.
        """
        if self.timeout_s is not None:
            raise ValueError("timeout_s can't be sent: add it to the query as timeout: first")

        params = {
            "q": self.query,
            "v": self.version,
            "t": self.effective_pattern_type,
        }
        if self.display >= 0:
            params["display"] = str(self.display)

        if self.chunk_matches:
            params["cm"] = "true"
            params["cl"] = str(self.context_lines)

        if self.max_line_len > 0:
            params["max-line-len"] = str(self.max_line_len)

        if self.trace:
            params["trace"] = "true"

        if self.default_matches is not None:
            params[DEFAULT_COUNT] = str(self.default_matches)

        if self.cells:
            params[CELLS] = "true"

        if self.symbol_lines:
            params[SYMBOL_LINES] = "true"

        return params

    @classmethod
    def from_params(cls, params: Iterable[tuple[str, str]]) -> SearchRequest:
        """Read the (name, value) pairs of an address.

        An empty value is an absent one, the first of a repeated name counts, and unknown names are ignored.

        Raises
        ------
        BadParameter
            For a missing query or a value that can't be read; the message is the one for the caller of the service.
        UnsupportedQuery
            For a pattern type that exists and is not offered.
        """
        values: dict[str, str] = {}
        for name, value in params:
            values.setdefault(name, value)

        values = {name: value for name, value in values.items() if value}
        query = values.get("q", "")
        if not query:
            raise BadParameter("no query found", parameter="q")

        display = _integer(values, "display", -1)
        chunk_matches = _boolean(values, "cm")
        context_lines = _context_lines(values)
        max_line_len = _integer(values, "max-line-len", -1)
        _integer(values, "sm", 0)
        pattern_type, version = _pattern_type(values, query)
        default_matches = _integer(values, DEFAULT_COUNT, 0)
        return cls(
            query=query,
            pattern_type=pattern_type,
            version=version,
            display=max(display, -1),
            chunk_matches=chunk_matches,
            context_lines=context_lines,
            max_line_len=max_line_len if max_line_len > 0 else -1,
            trace=values.get("trace") in _TRUE,
            default_matches=default_matches if default_matches > 0 else None,
            cells=values.get(CELLS) in _TRUE,
            symbol_lines=values.get(SYMBOL_LINES) in _TRUE,
        )


_OTHERS: Callable[[SearchRequest], tuple[Any, ...]] = attrgetter(*(field.name for field in fields(SearchRequest)[1:]))


def _pattern_type(values: dict[str, str], query: str) -> tuple[str, str]:
    version = values.get("v", "V3")
    requested = values.get("t")
    if requested is None:
        if version not in _TYPE_OF_VERSION:
            raise BadParameter(f"unrecognized version {_quote(version)}: V1, V2 and V3 exist", parameter="v")
        return _TYPE_OF_VERSION[version], version

    if requested == "structural":
        raise UnsupportedQuery(
            "structural search isn't supported in this form; use patternType:ast-grep",
            query=query,
            hint="write patterns as code with $NAME for any node and $$$ for any number of them, as in foo($A, $$$)",
        )

    if requested not in _PATTERN_TYPES:
        raise BadParameter(f"unrecognized patternType {_quote(requested)}", parameter="t")

    # A pattern type overrides the version, so a wrong version is not an error then.
    return _PATTERN_TYPES[requested], version if version in _TYPE_OF_VERSION else "V3"


def _quote(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


def _integer(values: dict[str, str], name: str, default: int) -> int:
    raw = values.get(name)
    if raw is None:
        return default
    if _INTEGER.fullmatch(raw) is None:
        raise _bad_parameter(name, "an integer", raw, "invalid syntax")
    if len(raw) > 20 or not -(2**63) <= int(raw) < 2**63:
        raise _bad_parameter(name, "an integer", raw, "value out of range")

    return int(raw)


def _bad_parameter(name: str, accepted: str, raw: str, reason: str) -> BadParameter:
    return BadParameter(f"{name} must be {accepted}, got {_quote(raw)}: {reason}", parameter=name)


def _context_lines(values: dict[str, str]) -> int:
    """Read ``cl``, which the specification calls a number of lines and a boolean."""
    raw = values.get("cl")
    if raw in _TRUE or raw in _FALSE:
        return int(raw in _TRUE)
    return _read_unsigned(values, "cl", 1)


def _read_unsigned(values: dict[str, str], name: str, default: int) -> int:
    raw = values.get(name)
    if raw is None:
        return default

    accepted = f"a number of lines from 0 to {_MAX_CONTEXT_LINES}"
    if _UNSIGNED.fullmatch(raw) is None:
        raise _bad_parameter(name, accepted, raw, "invalid syntax")
    if len(raw) > 20 or int(raw) > _MAX_CONTEXT_LINES:
        raise _bad_parameter(name, accepted, raw, "value out of range")

    return int(raw)


def _boolean(values: dict[str, str], name: str) -> bool:
    raw = values.get(name)
    if raw is None or raw in _FALSE:
        return False
    if raw not in _TRUE:
        raise _bad_parameter(name, "a boolean (true or false)", raw, "invalid syntax")
    return True


def match_limit(limit: int, stopped: str = "The search stopped") -> Skipped:
    """Return the item for a search that stopped after `limit` matches; more may exist."""
    return Skipped(
        reason="shard-match-limit",
        title="result limit hit",
        message=f"{stopped} after {count_of(limit, 'match')}; there may be more. Add `count:all` for all of them.",
        suggested=QuerySuggestion(title="increase limit", query_expression="count:all"),
    )


def display_limit(display: int, total: int) -> Skipped:
    """Report that `total` matches were counted, but only `display` returned, as requested."""
    verb = "is" if display == 1 else "are"
    return Skipped(
        reason="display",
        title="display limit hit",
        message=f"{count_of(total, 'match')}, of which {display:,} {verb} shown, as `display` requested.",
    )
