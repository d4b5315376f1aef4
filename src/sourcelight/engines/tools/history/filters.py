"""From arguments of calls to filters of the history engine (architecture.md 15b)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

from sourcelight.core.errors import CallError, PatternError
from sourcelight.core.patterns import CompiledPattern, compile_pattern
from sourcelight.core.patterns.compiled import PatternKind
from sourcelight.core.query.dates import parse_date
from sourcelight.core.query.regexps import file_pattern
from sourcelight.engines.history.search.query import Files, OneOf, fits_a_line
from sourcelight.engines.tools.model import Arguments

Dates = tuple[int | None, int | None]
"""Bounds of committer times in seconds, both exclusive."""


def pattern_of(
    call: str, argument: str, text: str, *, regexp: bool, whole_text: bool = False, one_line: bool = False
) -> CompiledPattern:
    """Compile a text of the caller: literal without regard to case, or RE2.

    `one_line` says that it is looked for in texts without newlines. Raises `CallError` for what RE2 refuses, for an
    empty text, and for what could only be found across lines where they are looked at one by one.
    """
    if not text:
        raise CallError(f"{call}: {argument} holds an empty text", call=call, argument=argument)
    try:
        kind: PatternKind = "regexp" if regexp else "literal"
        pattern = compile_pattern(text, kind=kind, case_sensitive=regexp, whole_text=whole_text)
    except PatternError as error:
        raise CallError(f"{call}: {argument}: {error}", call=call, argument=argument) from error
    if one_line and not fits_a_line(pattern):
        raise CallError(
            f"{call}: {argument} {text!r} can't match without a newline, and lines are looked at one by one; "
            "ask for one of the lines",
            call=call,
            argument=argument,
        )
    return pattern


def one_of(
    call: str, argument: str, texts: Sequence[str] | None, *, regexp: bool, one_line: bool = False
) -> tuple[OneOf, ...]:
    """Any of some texts; nothing for no texts. `one_line` as for `pattern_of`."""
    if not texts:
        return ()
    return (OneOf(tuple(pattern_of(call, argument, text, regexp=regexp, one_line=one_line) for text in texts)),)


def files_of(call: str, files: Sequence[str] | None, *, regexp: bool) -> Files:
    """Any of some globs or path prefixes; with `regexp`, RE2 found anywhere in the path."""
    if not files:
        return Files()
    if regexp:
        patterns = [pattern_of(call, "files", text, regexp=True, whole_text=True) for text in files]
    else:
        patterns = [pattern_of(call, "files", file_pattern(text), regexp=True, whole_text=True) for text in files]
    return Files((OneOf(tuple(patterns)),))


def dates_of(call: str, arguments: Arguments) -> tuple[int | None, int | None, dict[str, str]]:
    """The bounds of committer times in seconds, both exclusive, and the instants as they were understood.

    Raises `CallError` for what is no date.
    """
    bounds: list[int | None] = []
    echoed: dict[str, str] = {}
    for name in ("after", "before"):
        text = arguments.get(name)
        if not text:
            bounds.append(None)
            continue
        try:
            instant = parse_date(text, datetime.now(UTC))
        except ValueError as error:
            raise CallError(f"{call}: {name}: {error}", call=call, argument=name) from error
        echoed[name] = instant.isoformat().replace("+00:00", "Z")
        seconds = instant.timestamp()
        bounds.append(math.floor(seconds) if name == "after" else math.ceil(seconds))
    after, before = bounds
    if after is not None and before is not None and after + 1 >= before:
        raise CallError(
            f"{call}: nothing is after {echoed['after']} and before {echoed['before']}", call=call, argument="after"
        )
    return after, before, echoed
