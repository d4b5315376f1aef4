"""Read an expression from a place in source text to the sign that ends it.

The text is read letter by letter. Comments are left out, literals and texts are taken as they are, and brackets are
counted, so that a comma or a closing bracket within them ends nothing. What may begin a literal without a certain end
makes the expression unreadable: no value is better than a wrong one.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.source.comment_marks import comment_mark_of
from sourcelight.engines.deepsearch.source.literals import LiteralPart, part_at, quoted_at

CLOSING = {")": "(", "]": "[", "}": "{"}
"""The opening bracket of each closing one."""

OPENING = frozenset(CLOSING.values())
"""Opening brackets."""

MAX_CHARS = 4_000
"""Letters of an expression beyond which it isn't read: the text of a repository is hostile, and may never end one."""

MAX_LINES, MAX_VALUE_LINES = 60, 40
"""Lines of an expression that are read, and of one that ends with its line."""

_QUOTATION_MARKS = frozenset("\"'`")

_PLAIN_SIGNS = frozenset(",;)]}")
"""Signs with which no comment, literal or text begins in any language; they are the most frequent ones."""

_CONTINUATION = re.compile(
    r"\s*(?:\??\.[A-Za-z_]|\?[\s.]|:\s|\|\||&&|[-+*/%|&^]\s|[=!]=|<<|(?:and|or|if|else|as|unless|otherwise)\b)"
)
"""The beginning of a line that goes on with the expression above: `.map(…)`, `+ 1`, `if ready`."""

_HERE_DOCUMENT = re.compile(r"<<[-~<]?\s*[\"'`]?[A-Za-z_]")
"""The beginning of a text that is on the next lines: `<<~TEXT`."""

_ENDED_BY_SIGN = re.compile(r"\.(?:java|c|h|cc|cpp|cxx|hh|hpp|hxx|cs|php|rs|dart|m|mm)$")
"""Languages whose statements end with a semicolon, and never with a line."""

_SPACES = re.compile(r"\"(?:[^\"\\]|\\.)*\"|'(?:[^'\\]|\\.)*'|`[^`]*`|(?P<spaces>\s+)")
"""Texts between quotation marks, and the spaces outside of them."""


@dataclass(frozen=True, slots=True)
class SourceExpression:
    """The text of an expression without comments; line (from 0) and column behind it, and the letter that ended it."""

    text: str
    line: int
    column: int
    end: str


def read_expression(
    lines: Sequence[str], line: int, column: int, path: str, stops: str = "", *, ends_with_line: bool = False
) -> SourceExpression | None:
    """Read from a place (from 0) to a letter of `stops` or a closing bracket that was not opened.

    With `ends_with_line` a line's end ends it too, unless brackets are open there. None if it does not end.
    """
    open_brackets: list[str] = []
    out: list[str] = []
    letters = 0
    comment_mark = comment_mark_of(path)
    max_lines = MAX_VALUE_LINES if ends_with_line else MAX_LINES
    for number in range(line, min(line + max_lines, len(lines))):
        text = lines[number]
        start = position = column if number == line else 0
        while position < len(text):
            letter = text[position]
            letters += 1
            if letters > MAX_CHARS:
                return None

            # Most letters are of words, in which nothing begins, opens or ends.
            if letter.isalnum() or letter.isspace():
                out.append(letter)
                position += 1
                continue

            if letter not in _PLAIN_SIGNS:
                part = _text_or_comment_at(text, position, start, path, comment_mark)
                if part is None:
                    return None
                if part.end > position:
                    out.append(part.text)
                    position = part.end
                    continue

            if letter in OPENING:
                open_brackets.append(letter)
            elif not open_brackets and (letter in CLOSING or letter in stops):
                return SourceExpression("".join(out).strip(), number, position + 1, letter)
            elif letter in CLOSING and open_brackets.pop() != CLOSING[letter]:
                return None

            out.append(letter)
            position += 1

        text_so_far = "".join(out).rstrip()
        if text_so_far.endswith("\\"):
            out = [text_so_far.removesuffix("\\")]
        elif ends_with_line and text_so_far and not open_brackets:
            return SourceExpression(text_so_far.strip(), number, len(text), "")

        out.append(" ")

    return None


def _text_or_comment_at(text: str, position: int, start: int, path: str, comment_mark: str) -> LiteralPart | None:
    """Return the comment, literal or text that begins at a place, which ends there for none.

    None if one may begin there and its end isn't certain; see `part_at` for the arguments.
    """
    part = part_at(text, position, start, path, comment_mark)
    letter = text[position]
    if part is None or part.end > position or letter not in _QUOTATION_MARKS:
        return part

    quoted = quoted_at(text, position)
    if quoted is None and letter != "'":
        return None
    # A lifetime of Rust has one apostrophe.
    quoted = quoted or letter
    return LiteralPart(quoted, position + len(quoted))


def in_one_line(text: str) -> str:
    """Return an expression with single spaces; those in texts between quotation marks stay."""
    return _SPACES.sub(lambda match: " " if match["spaces"] else match[0], text).strip()


def goes_on(lines: Sequence[str], expression: SourceExpression, path: str) -> bool:
    """Return whether an expression goes on below: a chain of calls, an operator, a text that begins there."""
    if expression.end == ";":
        return False
    if _HERE_DOCUMENT.match(expression.text) is not None:
        return True

    below = next((text for text in lines[expression.line + 1 : expression.line + 4] if text.strip()), "")
    is_item = expression.text.endswith(",")
    is_last = below.lstrip().startswith((")", "]", "}"))
    if _ENDED_BY_SIGN.search(path) is not None and not is_item and not is_last:
        return True

    is_python = path.endswith((".py", ".pyi"))
    return not is_item and not is_python and _CONTINUATION.match(below) is not None


def blank_brackets(text: str) -> str:
    """Blank the contents of brackets and quotation marks, so that positions stay."""
    out = list(text)
    depth = position = 0
    while position < len(text):
        letter = text[position]
        if letter in _QUOTATION_MARKS and (quoted := quoted_at(text, position)) is not None:
            out[position : position + len(quoted)] = " " * len(quoted)
            position += len(quoted)
            continue

        if letter in OPENING:
            depth += 1
        elif letter in CLOSING:
            depth = max(0, depth - 1)
        elif depth:
            out[position] = " "

        position += 1

    return "".join(out)


def blank_angles(text: str) -> str:
    """Blank the contents of angle brackets, also nested ones, so that positions stay."""
    while (blanked := re.sub(r"<[^<>]*>", lambda match: "_" * len(match[0]), text)) != text:
        text = blanked
    return text


def split_items(text: str) -> list[str]:
    """Split at commas outside of texts and brackets, including the angle brackets of type parameters."""
    blanked = blank_angles(blank_brackets(text))
    parts, start = [], 0
    for position, letter in enumerate([*blanked, ","]):
        if letter == ",":
            parts.append(text[start:position].strip())
            start = position + 1
    return [part for part in parts if part]
