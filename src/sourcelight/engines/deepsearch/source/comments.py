"""Find the prose of a source file: comments and documentation, without their marks, by the marks of each language.

No grammar is needed. Where a mark isn't certain, such as an apostrophe, a line counts as code.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from sourcelight.engines.deepsearch.source.comment_marks import MARKS_OF, CommentMarks

MAX_LINES, MAX_LINE_CHARACTERS = 20_000, 1_000
"""Lines of a file, and characters of a line, beyond which nothing is read: such files are generated."""


@dataclass(frozen=True, slots=True)
class ProseLine:
    """A line of a comment or a text of documentation.

    Attributes
    ----------
    number
        The line, from 1.
    text
        Its words without marks; empty between two paragraphs.
    is_trailing
        Whether code precedes it on its line.
    """

    number: int
    text: str
    is_trailing: bool = False


@dataclass(frozen=True, slots=True)
class _OpenedText:
    """A text that goes on below: the mark that closes it, and its words behind the opening mark."""

    closing: str
    text: str


_LINE_MARK = re.compile(r"(?:/{2,}[!<]?|#{1,40}[:!']?|-{2,}|;{1,40}|%{1,40}|!|\"|')?\s*(?:[|^*<]\s+)?")
"""The mark of a comment up to the end of its line, with the sign of documentation behind it."""
_STAR = re.compile(r"\*{1,40}(?:\s+|$)|[|!*]\s+")
"""The star before the words of a line within a block."""
_RULE = re.compile(r"[\s*/#=~;%!|_-]*")
"""A line of marks alone."""
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"|' + r"'(?:[^'\\]|\\.){0,60}'|`[^`]*`")
_TEXT_START = re.compile(r"[\s@\w:(\[{,=<>|^.-]*$")
"""Words before a text of documentation on its line: a macro, a definition, a prefix."""


def has_prose_marks(language: str) -> bool:
    """Return whether the comments of a language can be told from its code."""
    return language in MARKS_OF


def prose_lines(lines: Sequence[str], language: str) -> Iterator[ProseLine]:
    """Yield the lines of comments and of texts over several lines, in the order of the file.

    Parameters
    ----------
    lines
        The file.
    language
        The display name of its language. Without marks for it, nothing is yielded.
    """
    marks = MARKS_OF.get(language)
    if marks is None:
        return

    closing = ""
    for number, line in enumerate(lines[:MAX_LINES], 1):
        stripped = line[:MAX_LINE_CHARACTERS].strip()
        if closing:
            text = _until(stripped, closing)
            yield ProseLine(number, _without_star(text))
            closing = "" if len(text) < len(stripped) else closing
            continue

        block = next((block for block in marks.blocks if stripped.startswith(block[0])), None)
        if block is not None:
            inner = stripped[len(block[0]) :]
            text = _until(inner, block[1])
            yield ProseLine(number, _without_star(text.lstrip("*!")))
            closing = "" if len(text) < len(inner) else block[1]
        elif stripped.startswith(marks.line) and marks.line:
            yield ProseLine(number, _without_line_mark(stripped))
        else:
            whole_text = _whole_text(stripped, marks.texts)
            opened_text = None if whole_text else _opened_text(stripped, marks.texts)
            trailing = "" if whole_text or opened_text is not None else _trailing_comment(stripped, marks)
            if opened_text is not None:
                closing = opened_text.closing
                yield ProseLine(number, _without_star(opened_text.text))
            elif whole_text or trailing:
                yield ProseLine(number, whole_text or trailing, is_trailing=bool(trailing))


def _until(text: str, closing: str) -> str:
    """Return what stands before the mark that closes a comment or text; all of it without the mark."""
    end = text.find(closing)
    while closing == '"' and end > 0 and text[end - 1] == "\\":
        end = text.find(closing, end + 1)
    return text if end < 0 else text[:end]


def _whole_text(line: str, openings: Sequence[str]) -> str:
    """Return the words of a documentation text that begins and ends on one line; empty for any other line."""
    for opening in openings:
        inner = line[len(opening) : -len(opening)]
        is_whole = line.startswith(opening) and line.endswith(opening) and len(line) > 2 * len(opening)
        if len(opening) > 1 and is_whole and opening not in inner:
            return inner.strip()

    return ""


def _opened_text(line: str, openings: Sequence[str]) -> _OpenedText | None:
    """Return the text that a line opens and leaves open; None if it opens none."""
    for opening in openings:
        # Escaped quotation marks and letters of Lisp open nothing.
        bare = line.replace('\\"', "  ") if opening == '"' else line
        if bare.count(opening) % 2 == 0:
            continue

        start = bare.rfind(opening)
        is_comment = opening == '"' and ";" in _QUOTED.sub("", line)
        if not is_comment and (opening != '"' or _TEXT_START.match(bare[:start]) is not None or start == 0):
            return _OpenedText(opening, line[start + len(opening) :])

    return None


def _trailing_comment(line: str, marks: CommentMarks) -> str:
    """Return the words of a comment behind code; empty without one."""
    bare = _QUOTED.sub(lambda match: "_" * len(match[0]), line)
    starts = [bare.find(f" {mark}") for mark in (*marks.line, *(block[0] for block in marks.blocks))]
    start = min((start for start in starts if start > 0), default=-1)
    if start <= 0:
        return ""

    comment = line[start:].strip().removesuffix("*/")
    return _without_star(comment[2:]) if comment.startswith("/*") else _without_line_mark(comment)


def _without_line_mark(text: str) -> str:
    """Return the words of a comment up to the end of its line; empty for a rule."""
    return "" if _RULE.fullmatch(text) is not None else text[_match_end(_LINE_MARK, text) :].strip()


def _without_star(text: str) -> str:
    """Return the words of a line within a block; empty for a rule."""
    text = text.strip()
    return "" if _RULE.fullmatch(text) is not None else text[_match_end(_STAR, text) :].strip()


def _match_end(pattern: re.Pattern[str], text: str) -> int:
    match = pattern.match(text)
    return 0 if match is None else match.end()
