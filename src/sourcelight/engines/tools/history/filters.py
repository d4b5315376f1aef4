"""Convert arguments of tools (texts, files, dates) to filters of histories."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from sourcelight.core.errors import PatternError, ToolError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.patterns.engines import PatternKind
from sourcelight.core.query.dates import parse_date
from sourcelight.core.query.regexps import file_pattern
from sourcelight.engines.history.search.query import AnyPattern, ChangedFileFilter, fits_a_line

Dates = tuple[int | None, int | None]
"""Bounds of committer times in seconds, both exclusive."""


def pattern_of(
    tool: str, argument: str, text: str, *, regexp: bool, whole_text: bool = False, one_line: bool = False
) -> CompiledPattern:
    """Compile a text of the caller: literal without regard to case, or RE2.

    `one_line`: the searched texts have no newlines. Raises `ToolError` for what RE2 refuses, for an empty text, and for
    what could only be found across lines where they are looked at one by one.
    """
    if not text:
        raise ToolError(f"{tool}: {argument} contains an empty string", tool=tool, argument=argument)

    try:
        kind: PatternKind = "regexp" if regexp else "literal"
        pattern = compile_pattern(text, kind=kind, case_sensitive=regexp, whole_text=whole_text)
    except PatternError as error:
        raise ToolError(f"{tool}: {argument}: {error}", tool=tool, argument=argument) from error

    if one_line and not fits_a_line(pattern):
        raise ToolError(
            f"{tool}: {argument} {text!r} can't match without a newline, but lines are searched one by one; "
            "search for one of the lines",
            tool=tool,
            argument=argument,
        )

    return pattern


def any_of(
    tool: str, argument: str, texts: Sequence[str] | None, *, regexp: bool, one_line: bool = False
) -> tuple[AnyPattern, ...]:
    """Return a pattern for any of some texts; none for no texts. `one_line` is as for `pattern_of`."""
    if not texts:
        return ()
    patterns = [pattern_of(tool, argument, text, regexp=regexp, one_line=one_line) for text in texts]
    return (AnyPattern(tuple(patterns)),)


def files_of(tool: str, files: Sequence[str] | None, *, regexp: bool) -> ChangedFileFilter:
    """Return a pattern for any of some globs or path prefixes; with `regexp`, for RE2 found anywhere in the path."""
    if not files:
        return ChangedFileFilter()

    expressions = files
    if not regexp:
        expressions = [file_pattern(text) for text in files]

    patterns = [pattern_of(tool, "files", text, regexp=True, whole_text=True) for text in expressions]
    return ChangedFileFilter((AnyPattern(tuple(patterns)),))


class DateBounds(NamedTuple):
    """Bounds of committer times in seconds, both exclusive, and the instants as they were understood, by argument."""

    after: int | None
    before: int | None
    echoed: dict[str, str]


def dates_of(tool: str, after: str | None, before: str | None) -> DateBounds:
    """Return the bounds of committer times of a call; raises `ToolError` for an invalid date."""
    echoed: dict[str, str] = {}
    start: int | None = None
    if after:
        instant = _instant(tool, "after", after)
        echoed["after"] = _format(instant)
        start = math.floor(instant.timestamp())

    end: int | None = None
    if before:
        instant = _instant(tool, "before", before)
        echoed["before"] = _format(instant)
        end = math.ceil(instant.timestamp())

    if start is not None and end is not None and start + 1 >= end:
        raise ToolError(
            f"{tool}: no time is after {echoed['after']} and before {echoed['before']}", tool=tool, argument="after"
        )

    return DateBounds(start, end, echoed)


def _instant(tool: str, argument: str, text: str) -> datetime:
    try:
        return parse_date(text, datetime.now(UTC))
    except ValueError as error:
        raise ToolError(f"{tool}: {argument}: {error}", tool=tool, argument=argument) from error


def _format(instant: datetime) -> str:
    return instant.isoformat().replace("+00:00", "Z")
