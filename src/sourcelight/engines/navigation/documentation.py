"""Signatures and documentation of definitions, read from their lines."""

from __future__ import annotations

import re

from sourcelight.engines.navigation.locations import MAX_LINE_BYTES
from sourcelight.engines.symbols import Definition

MAX_DEFINITION_LINES = 50
"""Maximum lines of a definition in an answer."""

_MAX_SIGNATURE = 40
_COMMENT = re.compile(rb"^\s*(///?|//!|#(?!!|include|define|if|e|pragma)|\*|/\*\*?|--)")
_MARKS = re.compile(r"^\s*(///?!?|/\*\*?|\*/?|#|--)\s?|\s*\*/\s*$")
# Without braces: outside of parentheses and brackets, a brace begins the body.
_OPENERS = {"(": ")", "[": "]"}

_DOCSTRING = re.compile(r':\s*(?:#[^\n]*)?\n\s*[rRuU]?("""|\'\'\'|"|\')(.*?)(?:\1|\Z)', re.DOTALL)


class LineTable:
    """The lines of a text, by their 1-based numbers."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._starts = [0, *(match.end() for match in re.finditer(b"\n", text))]

    def between(self, first: int, last: int, limit: int = MAX_DEFINITION_LINES) -> list[str]:
        """Return lines `first` to `last`, at most `limit`, each truncated to 2,000 bytes."""
        starts = self._starts
        # `_starts` has an entry after the final newline, but no line begins there.
        last_number = min(last, first + limit - 1, len(starts) - (starts[-1] == len(self._text)))
        lines = []
        for number in range(first, last_number + 1):
            end = starts[number] - 1 if number < len(starts) else len(self._text)
            part = self._text[starts[number - 1] : min(end, starts[number - 1] + MAX_LINE_BYTES)]
            lines.append(part.decode(errors="replace").removesuffix("\r"))

        return lines


def signature_of(lines: list[str], kind: str) -> str:
    """Return the head of a definition from its first lines, blanks folded: up to where its body begins.

    Decorators and attributes are left out. `lines` start with the line of the name.
    """
    text = ""
    depth = 0
    for line in lines[:_MAX_SIGNATURE]:
        for index, sign in enumerate(line):
            if sign in _OPENERS:
                depth += 1
            elif sign in _OPENERS.values():
                depth -= 1
            elif depth <= 0 and (sign == "{" or (sign == ":" and _ends_head(line, index, kind))):
                return _fold_blanks(text + " " + line[:index])

        text += " " + line
        # A backslash or comma continues the head on the next line.
        if depth <= 0 and not line.rstrip().endswith(("\\", ",")):
            break

    return _fold_blanks(text)


def _ends_head(line: str, column: int, kind: str) -> bool:
    """Return whether a colon begins a body, as in Python."""
    return (
        kind in {"function", "method", "class", "constructor"}
        and not line[column + 1 :].split("#", maxsplit=1)[0].strip()
    )


def _fold_blanks(text: str) -> str:
    text = " ".join(text.split()).removesuffix("=").rstrip(" ;")
    return text.replace("( ", "(").replace(",)", ")").replace(", )", ")").replace(" )", ")")


def documentation_of(language: str, lines: LineTable, definition: Definition) -> str:
    """Return the documentation of a definition: a docstring in Python, else the comment above it; cut at 50 lines."""
    if language == "Python":
        return _docstring("\n".join(lines.between(definition.line, definition.end_line)))

    comment_lines: list[str] = []
    number = definition.begin_line - 1
    while number > 0 and len(comment_lines) < MAX_DEFINITION_LINES:
        line = "".join(lines.between(number, number))
        if not _COMMENT.match(line.encode()):
            break
        comment_lines.append(_MARKS.sub("", line))
        number -= 1

    return "\n".join(reversed(comment_lines)).strip()


def _docstring(text: str) -> str:
    head = signature_end(text)
    match = _DOCSTRING.match(text, head) if head >= 0 else None
    if match is None:
        return ""
    lines = match[2].strip().splitlines()
    if lines:
        return "\n".join([lines[0].strip(), *(line.strip() for line in lines[1:])])
    return ""


def signature_end(text: str) -> int:
    """Return the place of the colon that ends the head of a Python definition, -1 for none."""
    depth = 0
    for index, sign in enumerate(text):
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == ":" and depth <= 0:
            return index

    return -1
