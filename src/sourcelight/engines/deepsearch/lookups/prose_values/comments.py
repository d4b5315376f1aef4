"""Comments that tell what a value is: behind it, above it, and of the function or class around it."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcelight.engines.deepsearch.evidence.units import comment_start
from sourcelight.engines.deepsearch.facts.kinds import FUNCTION_KINDS
from sourcelight.engines.deepsearch.lookups.prose_values.bindings import Binding
from sourcelight.engines.deepsearch.source.line_kinds import ANY_COMMENT
from sourcelight.engines.symbols.definition_parser import Definition

_TRAILING = re.compile(r"(?://|/\*|\s#|\s--\s|\s;;?\s)(.*)")
_ABOUT_MEMBER = re.compile(
    r"[\s*/#!']{0,40}(?:(?:@param|@arg|@property|\\param|:param)\s+(?:\w+\s+(?=\w+:))?[\[`]?(?P<name>[\w.]+)"
    r"|[-*]?\s*[\[`](?P<item>\w+)[\]`]\s*:)"
)
"""A line of a comment that begins to describe a parameter or a member."""
_AROUND_LINES, _HEAD_LINES, _COMMENT_LINES = 12, 40, 200


def in_block_comment(lines: Sequence[str], number: int) -> bool:
    """Return whether a line is in a comment of C that began above it."""
    for text in reversed(lines[max(0, number - 1 - _COMMENT_LINES) : number - 1]):
        opening, closing = text.rfind("/*"), text.rfind("*/")
        if opening != closing:
            return opening > closing
    return False


def comments_about(
    lines: Sequence[str], binding: Binding, line: int, holders: Sequence[Definition], *, is_parameter: bool
) -> str:
    """Return the comments at a binding and above it, those of its function, and its line in their documentation."""
    parts = []
    trailing = _TRAILING.search(lines[line - 1][binding.column :])
    if trailing is not None:
        parts.append(trailing[1])

    name, number = binding.name.lstrip("@$"), line - 1
    while number > 0 and line - number <= _AROUND_LINES and ANY_COMMENT.match(lines[number - 1]):
        number -= 1

    parts += without_others(lines[number : line - 1], name)
    for holder in holders[:2]:
        start = comment_start(lines, holder.begin_line - 1)
        above = lines[max(start, holder.begin_line - 1 - _HEAD_LINES) : holder.begin_line - 1]
        parts += without_others(above, name)
        if holder.kind in FUNCTION_KINDS or is_parameter:
            body = lines[holder.line : min(holder.end_line, holder.line + 3 * _HEAD_LINES)]
            parts += _docstring(body)

    return "\n".join(parts)


def without_others(comment: Sequence[str], name: str) -> list[str]:
    """Return the lines of a comment without those about other parameters, marked as such: ``@param other``."""
    about = []
    is_of_other = False
    for line in comment:
        match = _ABOUT_MEMBER.match(line)
        if match is not None:
            is_of_other = (match["name"] or match["item"]).lstrip("$") != name
        elif not line.strip(" \t*/#!"):
            is_of_other = False
        if not is_of_other:
            about.append(line)

    return about


def _docstring(body: Sequence[str]) -> list[str]:
    """Return the lines of the first text in three quotation marks of a body."""
    mark, text = "", []
    for line in body:
        opening = re.search(r"\"\"\"|'''", line)
        if not mark and opening is not None:
            mark = opening[0]
            text.append(line)
            if line.count(mark) > 1:
                return text
        elif mark:
            text.append(line)
            if mark in line:
                return text

    return text if mark else []
