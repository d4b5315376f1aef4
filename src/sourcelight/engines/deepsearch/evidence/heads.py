"""Heads of definitions: a signature and the docstring behind it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.symbols.definition_parser import Definition

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
