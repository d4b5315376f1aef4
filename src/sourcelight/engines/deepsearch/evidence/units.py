"""Widen or narrow lines to whole syntactic units: no quote begins in a comment or ends in a signature.

Units are comments and texts over several lines, heads of definitions, and expressions whose brackets are open.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.core.markup.highlighting import line_tokens
from sourcelight.engines.search.ranking.terms.chunker import lead_start
from sourcelight.engines.symbols.definition_parser import Definition

WHOLE_LINES = 24
"""Lines up to which a definition is shown whole."""

MAX_WIDENING = 8
"""Lines by which a border moves outwards to the border of a unit; beyond, it moves inwards."""

_MARGIN = 200
"""Lines around a window that are read for comments: longer ones are rare, and files may have millions of lines."""

_MAX_COMMENT_LINES = 100
DOCSTRING = re.compile(r"""^\s*[rRuUbB]?(\"\"\"|''')""")


def fit_to_units(
    lines: Sequence[str], first: int, last: int, definitions: Sequence[Definition], language: str
) -> tuple[int, int]:
    """Return the lines (from 1, inclusive) nearest to `first` and `last` that are whole units.

    Parameters
    ----------
    lines
        The whole file.
    definitions
        Of the file.
    language
        Name or extension by which comments and texts are known; empty for none.
    """
    inner = _innermost(definitions, first, last)
    if inner is not None and inner.end_line - inner.begin_line < WHOLE_LINES:
        start = comment_start(lines, inner.begin_line - 1) + 1
        if inner.end_line - start < WHOLE_LINES + MAX_WIDENING:
            return start, min(inner.end_line, len(lines))
        return inner.begin_line, min(inner.end_line, len(lines))

    units = _units(lines, first, last, definitions, language)
    for _ in range(3):  # one border may lead into the next unit
        before = first, last
        start = _snap_start(first, last, units)
        # Lines that are cut off above are added below, up to the end of the definition.
        bound = inner.end_line if inner is not None else len(lines)
        last = max(last, min(last + max(0, start - first), bound, len(lines)))
        first, last = start, _snap_end(start, last, units)
        if (first, last) == before:
            break

    while first < last and not lines[first - 1].strip():
        first += 1

    while last > first and not lines[last - 1].strip():
        last -= 1

    return first, last


def _innermost(definitions: Sequence[Definition], first: int, last: int) -> Definition | None:
    """Return the smallest definition of several lines around some lines; else the only one in them."""
    enclosing = [
        definition for definition in definitions if definition.begin_line <= first and last <= definition.end_line
    ]
    multiline = [definition for definition in enclosing if definition.end_line > definition.begin_line]
    if multiline:
        return min(
            multiline, key=lambda definition: (definition.end_line - definition.begin_line, -definition.begin_line)
        )

    middle = (first + last) // 2
    holding = [
        definition
        for definition in definitions
        if definition.begin_line <= middle <= definition.end_line > definition.begin_line
    ]
    return min(holding, key=lambda definition: definition.end_line - definition.begin_line, default=None)


def _units(
    lines: Sequence[str], first: int, last: int, definitions: Sequence[Definition], language: str
) -> list[tuple[int, int]]:
    start_line, end_line = max(1, first - _MARGIN), min(len(lines), last + _MARGIN)
    # A window that begins within a comment reads it as code: begin where a definition does.
    start_line = max(
        (definition.begin_line for definition in definitions if definition.begin_line <= start_line), default=start_line
    )
    block = list(lines[start_line - 1 : end_line])
    tokens = line_tokens(block, language)
    units = [
        (start_line + start, start_line + end) for start, end in (*_comments(block, tokens), *_brackets(block, tokens))
    ]
    units += [
        (definition.begin_line, min(head_end(lines, definition), definition.end_line))
        for definition in definitions
        if start_line <= definition.begin_line <= end_line and definition.end_line > definition.begin_line
    ]
    return [unit for unit in units if unit[1] > unit[0]]


def _comments(lines: Sequence[str], tokens: Sequence[Sequence[tuple[int, int, str]]]) -> list[tuple[int, int]]:
    """Return the runs of lines that are comments, or continue in a text of several lines."""
    runs: list[tuple[int, int]] = []
    start = -1
    for number, line in enumerate([*lines, ""]):
        kinds = (
            {kind for token_start, end, kind in tokens[number] if line[token_start:end].strip()}
            if number < len(lines)
            else set()
        )
        covered = sum(end - token_start for token_start, end, _ in tokens[number]) if number < len(lines) else 0
        is_covered = bool(line.strip()) and covered >= len(line.strip()) and kinds <= {"c", "s"} and bool(kinds)
        if is_covered and start < 0:
            start = number
        elif start >= 0 and not is_covered and (line.strip() or not _goes_on(lines, tokens, number)):
            runs.append((start, number - 1))
            start = -1

    return runs


def _goes_on(lines: Sequence[str], tokens: Sequence[Sequence[tuple[int, int, str]]], number: int) -> bool:
    """Return whether a text has an empty line between others."""
    if number + 1 >= len(lines) or not tokens[number - 1] or not tokens[number + 1]:
        return False
    before, after = tokens[number - 1], tokens[number + 1]
    ends_open = before[-1][1] >= len(lines[number - 1]) and not lines[number - 1].rstrip().endswith(
        ('"""', "'''", "*/")
    )
    return ends_open and before[-1][2] == after[0][2] and after[0][0] == 0 and before[-1][2] in {"c", "s"}


def _brackets(lines: Sequence[str], tokens: Sequence[Sequence[tuple[int, int, str]]]) -> list[tuple[int, int]]:
    """Return the runs of lines in which round or square brackets are open, from the line that opens them."""
    runs: list[tuple[int, int]] = []
    depth, start = 0, -1
    for number, line in enumerate(lines):
        position = 0
        brackets: list[str] = []
        for token_start, end, kind in tokens[number]:
            if kind in {"c", "s"}:
                brackets.append(line[position:token_start])
                position = end

        code_text = "".join([*brackets, line[position:]])
        for letter in code_text:
            if letter in "([":
                if depth == 0:
                    start = number
                depth += 1
            elif letter in ")]" and depth:
                depth -= 1
                if depth == 0 and number > start:
                    runs.append((start, number))

        if depth and number - start > 40:  # brackets never close, so this isn't readable as code
            depth = 0

    return runs


def _snap_start(first: int, last: int, units: Sequence[tuple[int, int]]) -> int:
    inside = [unit for unit in units if unit[0] < first <= unit[1]]
    if not inside:
        return first
    start, end = min(inside)
    return start if first - start <= MAX_WIDENING or end >= last else end + 1


def _snap_end(first: int, last: int, units: Sequence[tuple[int, int]]) -> int:
    inside = [unit for unit in units if unit[0] <= last < unit[1]]
    if not inside:
        return last
    start, end = max(inside, key=lambda unit: unit[1])
    return end if end - last <= MAX_WIDENING or start <= first else start - 1


def head_end(lines: Sequence[str], definition: Definition) -> int:
    """Return the last line of a definition's head: its signature and docstring."""
    line = definition.line
    last = min(definition.end_line, len(lines))
    while line < last and not re.search(r"[:{;=]\s*(?:#.*|//.*)?$", lines[line - 1]):
        line += 1

    if line < last and (docstring := DOCSTRING.match(lines[line])):
        line += 1
        quotation = docstring[1]
        if lines[line - 1].count(quotation) < 2:
            while line < last and quotation not in lines[line]:
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
