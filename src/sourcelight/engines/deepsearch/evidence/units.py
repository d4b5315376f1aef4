"""Widen or narrow lines to whole syntactic units: no quote begins in a comment or ends in a signature.

Units are comments and texts over several lines, heads of definitions, and expressions whose brackets are open. A short
definition is quoted as a whole. Of a longer one, each border of a window is moved out of the unit that it cuts: to the
outer end of the unit if that is near, else to the inner end. Moving one border may cut another unit, so this is done
until nothing moves.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from sourcelight.core.markup.highlighting import Token, line_tokens
from sourcelight.engines.search.ranking.terms.chunker import lead_start
from sourcelight.engines.symbols.definition_parser import Definition

WHOLE_LINES = 24
"""Lines up to which a definition is shown whole."""

MAX_WIDENING = 8
"""Lines by which a border moves outwards to the border of a unit; beyond, it moves inwards."""

_MAX_ROUNDS = 3
"""Rounds in which borders are moved: units are seldom nested more deeply."""

_MARGIN = 200
"""Lines around a window that are read for comments: longer ones are rare, and files may have millions of lines."""

_MAX_COMMENT_LINES = 100
"""Lines above a definition in which the beginning of its comment is looked for."""

_MAX_BRACKET_LINES = 40
"""Lines after which an open bracket is ignored: what doesn't close it can't be read as code."""

DOCSTRING = re.compile(r"""^\s*[rRuUbB]?(\"\"\"|''')""")
"""The beginning of a docstring of Python, with its quotation marks."""

_END_OF_HEAD = re.compile(r"[:{;=]\s*(?:#.*|//.*)?$")
"""The end of the signature of a definition: `def lift(self):`, `int lift() {  // up`."""

_UNCODED = frozenset("cs")
"""The kinds of tokens that are no code: comments and texts."""


class QuotedLines(NamedTuple):
    """The first and the last of some lines, from 1."""

    first: int
    last: int


def fit_to_units(
    lines: Sequence[str], first: int, last: int, definitions: Sequence[Definition], language: str
) -> QuotedLines:
    """Return the lines nearest to those from `first` to `last` (from 1) that are whole units.

    Parameters
    ----------
    lines
        The whole file.
    definitions
        Of the file.
    language
        Name or extension by which comments and texts are known; empty for none.
    """
    definition = _innermost(definitions, first, last)
    if definition is not None and definition.end_line - definition.begin_line < WHOLE_LINES:
        return _whole_definition(lines, definition)

    units = list(_units_around(lines, first, last, definitions, language))
    max_line = len(lines) if definition is None else min(definition.end_line, len(lines))
    window = QuotedLines(first, last)
    for _ in range(_MAX_ROUNDS):
        moved = _move_out_of_units(window, units, max_line)
        if moved == window:
            break
        window = moved

    return _without_empty_ends(lines, window)


def _innermost(definitions: Sequence[Definition], first: int, last: int) -> Definition | None:
    """Return the smallest definition of several lines around some lines; else the only one in them."""
    multiline = [definition for definition in definitions if definition.end_line > definition.begin_line]
    enclosing = [item for item in multiline if item.begin_line <= first and last <= item.end_line]
    if enclosing:
        return min(enclosing, key=lambda item: (item.end_line - item.begin_line, -item.begin_line))

    middle = (first + last) // 2
    around_middle = [item for item in multiline if item.begin_line <= middle <= item.end_line]
    return min(around_middle, key=lambda item: item.end_line - item.begin_line, default=None)


def _whole_definition(lines: Sequence[str], definition: Definition) -> QuotedLines:
    """Return the lines of a short definition, with the comment above unless that is long."""
    end = min(definition.end_line, len(lines))
    start = comment_start(lines, definition.begin_line - 1) + 1
    if definition.end_line - start < WHOLE_LINES + MAX_WIDENING:
        return QuotedLines(start, end)
    return QuotedLines(definition.begin_line, end)


def _units_around(
    lines: Sequence[str], first: int, last: int, definitions: Sequence[Definition], language: str
) -> Iterator[QuotedLines]:
    """Yield the units of several lines around some lines."""
    block_start, block_end = max(1, first - _MARGIN), min(len(lines), last + _MARGIN)
    # A block that begins within a comment would read it as code: begin where a definition does.
    starts_above = [definition.begin_line for definition in definitions if definition.begin_line <= block_start]
    block_start = max(starts_above, default=block_start)

    block = lines[block_start - 1 : block_end]
    tokens = line_tokens(block, language)
    for unit in (*_comment_runs(block, tokens), *_bracket_runs(block, tokens)):
        if unit.last > unit.first:
            yield QuotedLines(unit.first + block_start - 1, unit.last + block_start - 1)

    for definition in definitions:
        is_near = block_start <= definition.begin_line <= block_end
        if is_near and definition.end_line > definition.begin_line:
            end = min(head_end(lines, definition), definition.end_line)
            if end > definition.begin_line:
                yield QuotedLines(definition.begin_line, end)


def _comment_runs(lines: Sequence[str], tokens: Sequence[Sequence[Token]]) -> Iterator[QuotedLines]:
    """Yield the runs of lines that are comments or texts of several lines; empty lines may be within one."""
    start = 0
    for number, line in enumerate([*lines, ""], 1):
        is_comment = number <= len(lines) and _is_comment_or_text(line, tokens[number - 1])
        if is_comment:
            start = start or number
        elif start and (line.strip() or not _is_gap_in_text(lines, tokens, number)):
            yield QuotedLines(start, number - 1)
            start = 0


def _is_comment_or_text(line: str, tokens: Sequence[Token]) -> bool:
    """Return whether a line has nothing but comments and texts."""
    kinds = {kind for start, end, kind in tokens if line[start:end].strip()}
    covered = sum(end - start for start, end, _ in tokens)
    text = line.strip()
    return bool(text and kinds) and covered >= len(text) and kinds <= _UNCODED


def _is_gap_in_text(lines: Sequence[str], tokens: Sequence[Sequence[Token]], number: int) -> bool:
    """Return whether an empty line is between two lines of one comment or text."""
    if number >= len(lines):
        return False
    before, after = tokens[number - 2], tokens[number]
    if not before or not after:
        return False

    (_, end_before, kind), (start_after, _, kind_after) = before[-1], after[0]
    line_before = lines[number - 2]
    is_open = end_before >= len(line_before) and not line_before.rstrip().endswith(('"""', "'''", "*/"))
    return is_open and start_after == 0 and kind == kind_after and kind in _UNCODED


def _bracket_runs(lines: Sequence[str], tokens: Sequence[Sequence[Token]]) -> Iterator[QuotedLines]:
    """Yield the runs of lines in which round or square brackets are open, from the line that opens them."""
    depth = start = 0
    for number, line in enumerate(lines, 1):
        for letter in _code_of(line, tokens[number - 1]):
            if letter in "([":
                start = start if depth else number
                depth += 1
            elif letter in ")]" and depth:
                depth -= 1
                if depth == 0 and number > start:
                    yield QuotedLines(start, number)

        if depth and number - start > _MAX_BRACKET_LINES:
            depth = 0


def _code_of(line: str, tokens: Sequence[Token]) -> str:
    """Return a line without its comments and texts."""
    parts: list[str] = []
    position = 0
    for start, end, kind in tokens:
        if kind in _UNCODED:
            parts.append(line[position:start])
            position = end
    return "".join([*parts, line[position:]])


def _move_out_of_units(window: QuotedLines, units: Sequence[QuotedLines], max_line: int) -> QuotedLines:
    """Move both borders of a window out of the units that they cut."""
    first = _move_start(window, units)
    # Lines that are cut off above are added below, up to the end of the definition.
    added = max(0, first - window.first)
    last = max(window.last, min(window.last + added, max_line))
    return QuotedLines(first, _move_end(QuotedLines(first, last), units))


def _move_start(window: QuotedLines, units: Sequence[QuotedLines]) -> int:
    """Return the first line of a window: that of the outermost unit which it cuts, or the first one below that."""
    crossed = [unit for unit in units if unit.first < window.first <= unit.last]
    if not crossed:
        return window.first
    outermost = min(crossed)
    is_near = window.first - outermost.first <= MAX_WIDENING
    return outermost.first if is_near or outermost.last >= window.last else outermost.last + 1


def _move_end(window: QuotedLines, units: Sequence[QuotedLines]) -> int:
    """Return the last line of a window: that of the longest unit which it cuts, or the last one above that."""
    crossed = [unit for unit in units if unit.first <= window.last < unit.last]
    if not crossed:
        return window.last
    longest = max(crossed, key=lambda unit: unit.last)
    is_near = longest.last - window.last <= MAX_WIDENING
    return longest.last if is_near or longest.first <= window.first else longest.first - 1


def _without_empty_ends(lines: Sequence[str], window: QuotedLines) -> QuotedLines:
    first, last = window
    while first < last and not lines[first - 1].strip():
        first += 1
    while last > first and not lines[last - 1].strip():
        last -= 1
    return QuotedLines(first, last)


def head_end(lines: Sequence[str], definition: Definition) -> int:
    """Return the last line of a definition's head: its signature and docstring."""
    line = definition.line
    last = min(definition.end_line, len(lines))
    while line < last and _END_OF_HEAD.search(lines[line - 1]) is None:
        line += 1

    docstring = DOCSTRING.match(lines[line]) if line < last else None
    if docstring is None:
        return min(line, last)

    line += 1
    quotation_mark = docstring[1]
    if lines[line - 1].count(quotation_mark) < 2:
        while line < last and quotation_mark not in lines[line]:
            line += 1
        line += 1
    return min(line, last)


def comment_start(lines: Sequence[str], first_line: int) -> int:
    """Return the line at which the comment above a definition begins, a long one too; both count from 0."""
    start = lead_start(lines, first_line)
    if start >= first_line or not lines[start].lstrip().startswith("*"):
        return start

    # The beginning of a block comment is farther up than other comments are followed.
    for number in range(start - 1, max(-1, start - _MAX_COMMENT_LINES), -1):
        text = lines[number].strip()
        if text.startswith("/*"):
            return number
        if "*/" in text:
            break

    return start
