"""Read the value behind the key ``default`` in the brackets around a place.

A description may go over many lines and have texts, comments and other brackets in it, so it is read sign by sign. A
bracket, a key, and the beginning of a text over several lines are signs. All between them is skipped, within limits,
since the text of a repository is hostile.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from sourcelight.engines.deepsearch.source.comment_marks import comment_end_at, comment_mark_of
from sourcelight.engines.deepsearch.source.literals import quoted_at
from sourcelight.engines.deepsearch.source.values import in_one_line, read_expression

_MAX_LINES, _MAX_CHARACTERS = 60, 4_000
"""Lines and characters of a description in which its key is looked for."""

MAX_LINE = 600
"""Characters of a line beyond which it isn't read."""

_KEY = re.compile(r"[\"':]?default(?:_?[vV]alue)?(?:_t)?[\"']?\s*(?:=>|:(?!:)|=(?![=>~]))\s*(?=\S)")
"""The key of a default: `default=`, `"default": `, `:default => `, `defaultValue: `."""

_ANY_SIGN = re.compile(r"[()\[\]{}\"'`:d/#-]")
"""A bracket, or the beginning of such a key, of a text or of a comment."""

_KEY_BELOW = ("default", '"default', "'default", ":default", ")", "]", "}")
"""Starts of a line that continues a call without brackets."""


class DescribedValue(NamedTuple):
    """A default as written, and its line, from 1."""

    value: str
    line: int


def default_within(  # noqa: PLR0911 - a scanner: one for each end of a description
    lines: Sequence[str], line: int, column: int, path: str, *, max_depth: int
) -> DescribedValue | None:
    """Return the value behind ``default`` in the brackets around a place (from 0).

    With a `max_depth` of 0, the place is behind the bracket of a description; with 1, it is behind the name of an
    option, whose call may have no brackets.
    """
    comment_mark = comment_mark_of(path)
    depth, steps, end_of_text = 0, 0, ""
    for number in range(line, min(line + _MAX_LINES, len(lines))):
        text = lines[number]
        if len(text) > MAX_LINE:
            return None

        position = column if number == line else 0
        if end_of_text:
            if end_of_text not in text:
                continue
            position, end_of_text = text.index(end_of_text) + len(end_of_text), ""

        signs, steps_of_line = _read_signs(text, position, comment_mark)
        for sign in signs:
            if steps + sign.step > _MAX_CHARACTERS:
                return None
            if sign.key_end and depth <= max_depth:
                return _value_at(lines, number, sign.key_end, path)

            end_of_text = sign.end_of_text
            depth += sign.depth_change
            if depth < 0:
                return None

        steps += steps_of_line
        if steps > _MAX_CHARACTERS:
            return None

        is_bare_call = max_depth > 0 and depth == 0 and not end_of_text
        if is_bare_call and _ends_bare_call(lines, number):
            return None

    return None


def _ends_bare_call(lines: Sequence[str], number: int) -> bool:
    """Return whether a call without brackets ends with a line (from 0): unless a comma is last, or a key is below."""
    if lines[number].rstrip().endswith((",", "(", "{", "\\")):
        return False
    line_below = lines[number + 1].lstrip() if number + 1 < len(lines) else ""
    return not line_below.startswith(_KEY_BELOW)


class _Sign(NamedTuple):
    """A bracket, a key or a text of several lines, in a line.

    Attributes
    ----------
    step
        Its number among the letters, texts and comments that are read, from 1.
    key_end
        Where the value behind the key ``default`` begins; 0 for no such key.
    depth_change
        1 for an opening bracket, -1 for a closing one, else 0.
    end_of_text
        The mark that ends a text on a line below; empty for none. It is the last sign of its line.
    """

    step: int
    key_end: int
    depth_change: int
    end_of_text: str


# The options of a line, and those of the lines around it, read the same lines.
@lru_cache(maxsize=2 * _MAX_LINES)
def _read_signs(text: str, column: int, comment_mark: str) -> tuple[Sequence[_Sign], int]:
    """Return the signs of a line from a column on (from 0), and how many letters, texts and comments are read."""
    signs: list[_Sign] = []
    steps, position = 0, column
    while (match := _ANY_SIGN.search(text, position)) is not None:
        steps += match.start() - position + 1
        position = match.start()
        is_word = position == 0 or not (text[position - 1].isalnum() or text[position - 1] in "_.$")
        key = _KEY.match(text, position) if is_word else None

        letter, length, depth_change, end_of_text = match[0], 1, 0, ""
        comment_end = comment_end_at(text, position, comment_mark)
        if comment_end > position:
            length = comment_end - position
        elif letter in "\"'`":
            quoted = quoted_at(text, position)
            if quoted is not None:
                length = len(quoted)
            elif text.startswith(letter * 3, position):
                end_of_text = letter * 3
        else:
            depth_change = (letter in "([{") - (letter in ")]}")

        if key is not None or depth_change or end_of_text:
            signs.append(_Sign(steps, 0 if key is None else key.end(), depth_change, end_of_text))
        if end_of_text:
            return signs, steps
        position += length

    return signs, steps + len(text) - position


def _value_at(lines: Sequence[str], line: int, column: int, path: str) -> DescribedValue | None:
    """Return the expression at a place (from 0), with its last line."""
    expression = read_expression(lines, line, column, path, ",;", ends_with_line=True)
    if expression is None:
        return None
    return DescribedValue(in_one_line(expression.text.rstrip(",;")), min(expression.line + 1, len(lines)))
