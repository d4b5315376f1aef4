"""Signatures and documentation of definitions, read from the lines of their files.

Both are read without a grammar, so they exist for every language whose definitions the index knows: a signature ends
where parentheses are closed and a body begins; documentation is a docstring, or the comment right above.
"""

from __future__ import annotations

import re

from sourcelight.engines.navigation.locations import MAX_LINE_BYTES
from sourcelight.engines.symbols import Definition

MAX_DEFINITION_LINES = 50
"""Maximum lines of a definition in an answer."""

_MAX_SIGNATURE_LINES = 40
"""Lines in which a signature ends; generated code may have parameters without end."""

_COMMENT = re.compile(rb"^\s*(///?|//!|#(?!!|include|define|if|e|pragma)|\*|/\*\*?|--)")
"""A line of a comment. ``#`` begins none in ``#!/bin/sh``, nor in directives of C such as ``#endif``."""

_COMMENT_MARKS = re.compile(r"^\s*(///?!?|/\*\*?|\*/?|#|--)\s?|\s*\*/\s*$")
"""Signs that begin or end a line of a comment, with the blank behind them."""

# Without braces: outside of parentheses and brackets, a brace begins the body.
_OPENERS = {"(": ")", "[": "]"}

_KINDS_WITH_COLON = frozenset({"function", "method", "class", "constructor"})
"""Kinds whose body may begin behind a colon, as in Python."""

_DOCSTRING = re.compile(r':\s*(?:#[^\n]*)?\n\s*[rRuU]?("""|\'\'\'|"|\')(.*?)(?:\1|\Z)', re.DOTALL)
"""The colon that ends the head of a Python definition, perhaps a comment, and a string on the next line."""


class LineTable:
    """The lines of a text, by their 1-based numbers."""

    def __init__(self, text: bytes) -> None:
        self._text = text
        self._starts = [0]
        self._starts += [newline.end() for newline in re.finditer(b"\n", text)]

    def between(self, first: int, last: int) -> list[str]:
        """Return lines `first` to `last`, at most `MAX_DEFINITION_LINES`, each truncated to `MAX_LINE_BYTES`."""
        starts = self._starts
        line_count = len(starts)
        if starts[-1] == len(self._text):
            # There is a start after the final newline, but no line begins there.
            line_count -= 1

        lines = []
        for number in range(first, min(last, first + MAX_DEFINITION_LINES - 1, line_count) + 1):
            start = starts[number - 1]
            end = starts[number] - 1 if number < len(starts) else len(self._text)
            line = self._text[start : min(end, start + MAX_LINE_BYTES)]
            lines.append(line.decode(errors="replace").removesuffix("\r"))

        return lines


def signature_of(lines: list[str], kind: str) -> str:
    """Return the head of a definition, up to where its body begins, as one line.

    Parameters
    ----------
    lines
        The lines of the definition from that of its name on: decorators and attributes come before it.
    kind
        The kind of the definition.
    """
    text = ""
    depth = 0
    for line in lines[:_MAX_SIGNATURE_LINES]:
        for index, sign in enumerate(line):
            if sign in _OPENERS:
                depth += 1
            elif sign in _OPENERS.values():
                depth -= 1
            elif depth <= 0 and _begins_body(line, index, kind):
                return _fold_blanks(f"{text} {line[:index]}")

        text += " " + line
        # A backslash or comma continues the head on the next line.
        if depth <= 0 and not line.rstrip().endswith(("\\", ",")):
            break

    return _fold_blanks(text)


def _begins_body(line: str, index: int, kind: str) -> bool:
    """Return whether a body begins at a sign: at a brace, or at a colon with nothing but a comment behind it."""
    if line[index] == "{":
        return True
    if line[index] != ":" or kind not in _KINDS_WITH_COLON:
        return False

    code_behind = line[index + 1 :].partition("#")[0]
    return not code_behind.strip()


def _fold_blanks(text: str) -> str:
    """Write a head on one line, without the blanks and commas that only belong to several lines."""
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

        comment_lines.append(_COMMENT_MARKS.sub("", line))
        number -= 1

    return "\n".join(reversed(comment_lines)).strip()


def _docstring(text: str) -> str:
    """Return the docstring of a Python definition, without indentation; empty for none."""
    head_end = _end_of_head(text)
    match = _DOCSTRING.match(text, head_end) if head_end >= 0 else None
    if match is None:
        return ""

    lines = match[2].strip().splitlines()
    return "\n".join(line.strip() for line in lines)


def _end_of_head(text: str) -> int:
    """Return the offset of the colon that ends the head of a Python definition, -1 for none."""
    depth = 0
    for index, sign in enumerate(text):
        if sign in "([{":
            depth += 1
        elif sign in ")]}":
            depth -= 1
        elif sign == ":" and depth <= 0:
            return index

    return -1
