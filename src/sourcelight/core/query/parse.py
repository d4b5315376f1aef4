"""Parse a query's text into a validated query, in the order of the reference.

`refuse_unsupported` names the parts of a valid query that a backend can't answer.
"""

from __future__ import annotations

import functools
import re
from datetime import datetime
from typing import NoReturn

from sourcelight.core.arguments import checks_arguments
from sourcelight.core.errors import QueryError, UnsupportedQuery
from sourcelight.core.query.alternatives import alternatives
from sourcelight.core.query.dates import current_time
from sourcelight.core.query.fields import DATED, NAMED_TYPES, PATTERN_TYPES, STRUCTURE
from sourcelight.core.query.normalize import Normalizer
from sourcelight.core.query.shapes import fill, is_replaceable, split_words
from sourcelight.core.query.syntax.lexer import RawFilter
from sourcelight.core.query.syntax.nodes import Alternative, Filter, Node, Predicate, Query
from sourcelight.core.query.syntax.parser import Group, Raw, parse_tree
from sourcelight.core.query.validation import Validator

MAX_QUERY_BYTES = 1_000_000
"""Bytes of a query that are parsed."""

_SHORT = 500
"""Maximum characters of a query whose tree is cached. Each part of a page parses the same query."""

_DATED = re.compile("|".join(map(re.escape, [*sorted(DATED), "at.time"])), re.IGNORECASE)
"""Texts of a query that may precede a relative date, which changes with time; ``has.commit.after`` has ``after``."""

_REQUESTED = {**{name: name for name in PATTERN_TYPES}, "lucky": "standard"}
"""Pattern types of requests."""

_BY_VERSION = {"V1": "regexp", "V2": "literal", "V3": "standard"}
"""Pattern type of each version of the query language."""

_HINTS = {"file:has.contributor": "it needs the history of files, which comes with type:commit and type:diff"}


@checks_arguments
def parse(
    text: str, pattern_type: str | None = "standard", *, version: str = "V3", now: datetime | None = None
) -> Query:
    """Parse a query.

    A ``patternType:`` filter in the text wins over `pattern_type`; `version` only chooses when `pattern_type` is
    None or empty.

    Parameters
    ----------
    text
        The query as typed; may be empty, which gives a query without root and alternatives.
    pattern_type
        ``keyword``, ``standard``, ``regexp``, ``literal``, ``ast-grep`` or the former ``lucky``; None for the
        version's own.
    version
        ``V1`` (regexp), ``V2`` (literal) or ``V3`` (standard).
    now
        Time that relative dates count from; None for the present.

    Returns
    -------
    Query
        The tree (`root`), and the alternatives to search (`plan`).

    Raises
    ------
    QueryError
        For an invalid query, with the message of the service, the byte position, a hint and the stage.

    Examples
    --------
    >>> [alternative.types for alternative in parse("repo:redis type:file TODO").plan]
    [('file',)]
    >>> parse("foo bar", "keyword").root == parse("foo and bar", "keyword").root
    True
    """
    return parse_text(text, pattern_type, version, now)


def parse_text(text: str, pattern_type: str | None, version: str, now: datetime | None = None) -> Query:
    """Parse a query as `parse` does, without its check of the arguments, which takes a third as long again."""
    if now is None and len(text) <= _SHORT and not _DATED.search(text):
        return _parse_cached(text, pattern_type, version)
    return _parse(text, pattern_type, version, now)


@functools.lru_cache(maxsize=256)
def _parse_cached(text: str, pattern_type: str | None, version: str) -> Query:
    parts = split_words(text)
    shape = None if parts is None else parse_shape(parts[0], len(parts[1]), pattern_type, version)
    # If the shape has an error, the text itself is parsed: its error must quote the words and not the stand-ins.
    if parts is None or shape is None:
        return _parse(text, pattern_type, version, None)
    return fill(shape, text, parts[1])


@functools.lru_cache(maxsize=64)
def parse_shape(text: str, words: int, pattern_type: str | None, version: str) -> Query | None:
    """Parse the shape of queries with so many words; return None if other words may change how the query is read."""
    try:
        shape = _parse(text, pattern_type, version, None)
    except QueryError:
        return None
    return shape if is_replaceable(shape, words) else None


def _parse(text: str, pattern_type: str | None, version: str, now: datetime | None) -> Query:
    effective = effective_pattern_type(text, pattern_type, version=version)
    root, normalizer = _normalize(text, effective)
    if root is None:
        return Query(text=text, pattern_type=effective, root=None, plan=())

    plan = alternatives(root, text, effective)
    validator = Validator(text, normalizer, now or current_time())
    for alternative in plan:
        validator.check(alternative)

    return Query(text, effective, root, plan)


def read_tree(text: str, pattern_type: str = "standard") -> tuple[str, Node | None]:
    """Return the effective pattern type and the tree of `text`, without a check of its values.

    Raises
    ------
    QueryError
        The text has no tree.
    """
    effective = effective_pattern_type(text, pattern_type)
    return effective, _normalize(text, effective)[0]


def effective_pattern_type(text: str, pattern_type: str | None = "standard", *, version: str = "V3") -> str:
    """Return the pattern type in which `text` is read: that of its first ``patternType:``, else the requested one.

    The reference reads the text once as ``literal`` to find the filter. Where that fails, as for every query with a
    ``)`` that only quotes or slashes explain (``/[)]/``), it ignores the filter. Here a filter always has an effect:
    where ``literal`` finds none, the requested type decides, and where that can't read the text, the next one that can.

    Raises
    ------
    QueryError
        `pattern_type` or `version` is unknown, or the text is too long or not Unicode.
    """
    requested = _requested_type(text, pattern_type, version)
    check_text(text)
    if "patterntype:" not in text.lower():
        return requested

    for trial in dict.fromkeys(("literal", requested, "keyword", "regexp", "standard", STRUCTURE)):
        try:
            in_query = _first_pattern_type(parse_tree(text, trial))
        except QueryError:
            continue
        if in_query is not None:
            return in_query
        if trial == requested:  # the filter is inside quotes or slashes
            break

    return requested


def _normalize(text: str, effective: str) -> tuple[Node | None, Normalizer]:
    normalizer = Normalizer(text, effective)
    raw = parse_tree(text, effective)
    return (None if raw is None else normalizer.rewrite(raw)), normalizer


def _requested_type(text: str, pattern_type: str | None, version: str) -> str:
    if pattern_type:
        if pattern_type not in _REQUESTED:
            hint = f"use one of {', '.join(PATTERN_TYPES)}"
            raise QueryError(f'unrecognized patternType "{pattern_type}"', query=text, hint=hint, stage="parse")
        return _REQUESTED[pattern_type]

    if version not in _BY_VERSION:
        raise QueryError(f'unrecognized version "{version}"', query=text, hint="use V1, V2 or V3", stage="parse")

    return _BY_VERSION[version]


def check_text(text: str) -> None:
    """Raise QueryError for a query that is too long, or not Unicode."""
    try:
        size = len(text.encode())
    except UnicodeEncodeError as error:
        offset = len(text[: error.start].encode())
        raise QueryError("the query is not valid Unicode", query=text, position=offset, stage="parse") from None

    if size > MAX_QUERY_BYTES:
        message = f"the query has {size:,} bytes; at most {MAX_QUERY_BYTES:,} are read"
        raise QueryError(message, query=text[:100], hint="use several queries", stage="parse")


def effective_type(value: str) -> str | None:
    """Return the pattern type of ``patternType:value``, or None for an unknown value."""
    return NAMED_TYPES.get(value)


def _first_pattern_type(tree: Raw | None) -> str | None:
    pending: list[Raw] = [] if tree is None else [tree]
    while pending:
        node = pending.pop()
        if isinstance(node, Group):
            # Reversed, because `pop` takes the last one, and the first filter of the text decides.
            pending.extend(reversed(node.args))
        elif isinstance(node, RawFilter) and node.field.lower() == "patterntype" and node.value in NAMED_TYPES:
            return NAMED_TYPES[node.value]

    return None


def refuse_unsupported(alternative: Alternative, supported: frozenset[str]) -> None:
    """Raise for the first part of `alternative` that `supported` does not name.

    Parameters
    ----------
    alternative
        One alternative of a query's plan.
    supported
        Names of fields (``repo``, ``count``, ``select`` …), predicates (``repo:has.path``), result types
        (``type:file``), ``context:global`` or ``context`` for every context, ``repo@`` for revisions other than HEAD.
        A value of ``type:`` that is no result type at all is never refused: it selects nothing.

    Raises
    ------
    UnsupportedQuery
        Quotes the part as typed, and suggests a replacement.
    """
    for node in alternative.filters:
        if isinstance(node, Predicate):
            if f"{node.on}:{node.name}" not in supported:
                hint = _HINTS.get(f"{node.on}:{node.name}", "leave it out and filter the answer instead")
                _refuse(f"the predicate {node.on}:{node.name}(…)", hint)
            continue
        _refuse_filter(node, supported)

    for kind in alternative.types:
        if f"type:{kind}" not in supported:
            supported_types = " or ".join(sorted(name for name in supported if name.startswith("type:")))
            _refuse(f"type:{kind}", f"use {supported_types}" if supported_types else "leave it out")


def _refuse_filter(node: Filter, supported: frozenset[str]) -> None:
    if node.name == "context":
        if "context" not in supported and not (node.value in {"", "global"} and "context:global" in supported):
            _refuse(f"context:{node.value}", "use context:global, or name the repositories with repo:")
        return

    if node.name == "rev" and "repo@" in supported:
        return

    if node.name not in supported and node.name != "type":
        _refuse(f"the filter {node.name}:", f"leave {node.name}: out of the query")

    if node.name == "repo" and "repo@" not in supported and any(rev not in {"", "HEAD"} for rev in node.revs or ()):
        _refuse(f"the revision in repo:{node.value}@{':'.join(node.revs or ())}", "leave out @…: HEAD is searched")


def _refuse(part: str, hint: str) -> NoReturn:
    raise UnsupportedQuery(f"{part} is not supported here yet: {hint}", hint=hint)
