"""Heads of definitions: the comment above, a signature, and the docstring behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.search.ranking.tokenizer import lead_start
from sourcelight.engines.symbols.definition_parser import Definition

_MAX_COMMENT_LINES = 100
DOCSTRING = re.compile(r"""^\s*[rRuUbB]?(\"\"\"|''')""")


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
