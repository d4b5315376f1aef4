"""Cut files into chunks that start at definitions, headings or cells.

A chunk is what a ranking finds and an answer quotes, so it should be one thing: a function with the comment above it, a
section, a cell of a notebook. The starts of these are boundaries, as far as no chunk gets too small. Between two
boundaries that are far apart, code is cut once more, between two statements (`borders`).

A change of these rules raises `tokenizer.RULES`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

from sourcelight.engines.search.ranking.terms.borders import IN_TEXT, best_border, line_states

MIN_CHUNK_LINES = 8
"""Lines of a chunk before which the next one doesn't start."""

MAX_CHUNK_LINES = 64
"""Lines of a chunk beyond which it is cut between two statements."""

_MIN_CUT_LINES = 24
"""Lines of the first part of such a chunk, so that the parts are of similar size."""

_MAX_TEXT_CHUNKS = 4
"""Factor of `MAX_CHUNK_LINES` beyond which a comment or a string is cut, too."""

_MAX_LEAD_LINES = 60
"""Lines above a definition that may belong to it."""

_LEADS = (b"//", b"/*", b"*", b"#", b"--", b";;", b"@", b"%%")
"""Starts of lines above a definition that belong to it: comments, decorators, attributes."""

_NOT_LEADS = (
    b"#include", b"#endif", b"#if", b"#else", b"#define", b"#undef", b"#pragma", b"#!",
    b"# %%", b"#%%", b"// %%", b"-- %%",  # the line that starts a cell of a percent script
)  # fmt: skip
"""Starts of lines that look like comments and belong to no definition."""

_HEADING_MARKS = (b"#", b"= ", b"== ", b"=== ")
_HEADING = re.compile(rb"#{1,6} |={1,6} |[^\s`|>*-].{0,100}$")
"""A heading of Markdown or AsciiDoc: `## Usage`, `== Usage`."""

_UNDERLINE_MARKS = b"=~^*\"'#+`-"
_UNDERLINE = re.compile(rb"([=~^*\"'#+`-])\1{3,}\s*$")
"""The line below a heading of reStructuredText: `=====`."""

_FENCE = re.compile(rb" {0,3}(```+|~~~+)")
"""The first or the last line of a block of code: ```` ```python ````."""

_CELL = re.compile(rb'\s*"(?:cell_type|attachments)":')
"""The first key of a cell of a notebook: `"cell_type": "code"`."""


class LineSpan(NamedTuple):
    """A first line and the line after the last, from 0."""

    start: int
    end: int


def cut_chunks(
    lines: Sequence[bytes], definition_lines: Sequence[int], *, prose: bool = False, language: str = ""
) -> list[LineSpan]:
    """Cut a file into chunks.

    Parameters
    ----------
    lines
        The lines of the file.
    definition_lines
        Lines, from 0, at which definitions begin.
    prose
        Whether to cut at headings or cells instead of definitions.
    language
        Display name of the language; empty: unknown.

    Returns
    -------
    list of LineSpan
        The chunks, which cover the file together. At most `MAX_CHUNK_LINES` each, unless that would cut a longer
        comment or string.
    """
    count = len(lines)
    if count and not lines[-1]:
        count -= 1

    if not count:
        return []

    starts = _heading_lines(lines, count) if prose else sorted({lead_start(lines, line) for line in definition_lines})
    chunks: list[LineSpan] = []
    for start, end in pairwise(_boundaries(starts, count)):
        chunks += _split_long(lines, start, end, language)

    return chunks


def _boundaries(starts: Sequence[int], count: int) -> list[int]:
    """Return the first line of each chunk, at some `starts` that are far enough apart, and the end of the file."""
    boundaries = [0]
    for start in starts:
        if start - boundaries[-1] >= MIN_CHUNK_LINES and start < count:
            boundaries.append(start)

    # A tiny last chunk joins the one before: it would rank by its few words alone.
    if len(boundaries) > 1 and count - boundaries[-1] < MIN_CHUNK_LINES // 2:
        boundaries.pop()

    return [*boundaries, count]


def _split_long(lines: Sequence[bytes], start: int, end: int, language: str) -> Iterator[LineSpan]:
    """Yield the parts of a chunk that is too long, cut between two statements; another chunk as it is."""
    if end - start > MAX_CHUNK_LINES:
        offset, states = start, line_states(lines, start, end, language)
        while end - start > MAX_CHUNK_LINES:
            window = range(start + _MIN_CUT_LINES, start + MAX_CHUNK_LINES + 1)
            border = best_border(lines, states, offset, window)
            if border is None:
                border = _end_of_text(
                    states, offset, range(window.stop, min(start + _MAX_TEXT_CHUNKS * MAX_CHUNK_LINES, end))
                )
            if border >= end:
                break
            yield LineSpan(start, border)
            start = border

    yield LineSpan(start, end)


def _end_of_text(states: Sequence[int], offset: int, window: range) -> int:
    """Return the first line of `window` that begins outside of comments and strings, or the end of the window."""
    return next((index for index in window if states[index - offset] < IN_TEXT), window.stop)


def lead_start(lines: Sequence[bytes] | Sequence[str], first_line: int) -> int:
    """Return the line at which the comments above a definition begin; both count from 0."""
    line_index = first_line
    while line_index > 0:
        text = _bytes_of(lines[line_index - 1])
        if text.endswith(b"*/") and not text.startswith(b"/*"):
            above = _block_start(lines, line_index - 1, first_line)
            if above is None:
                break
            line_index = above
        elif text.startswith(_LEADS) and not text.startswith(_NOT_LEADS):
            line_index -= 1
        else:
            break

        if first_line - line_index > _MAX_LEAD_LINES:
            # A chunk must not begin inside a comment: a part of a comment is worse than none.
            return first_line

    return line_index


def _block_start(lines: Sequence[bytes] | Sequence[str], last: int, first_line: int) -> int | None:
    """Return the line that opens the comment which line `last` closes, or None when it is too far above."""
    for index in range(last - 1, max(first_line - _MAX_LEAD_LINES, 0) - 1, -1):
        text = _bytes_of(lines[index])
        if b"*/" in text:
            return None
        if b"/*" in text:
            return index if text.startswith(b"/*") else None
    return None


def _bytes_of(line: bytes | str) -> bytes:
    text = line.strip()
    return text.encode("utf-8", "replace") if isinstance(text, str) else text


def _heading_lines(lines: Sequence[bytes], count: int) -> list[int]:
    """Return the lines, from 0, at which sections of a document or cells of a notebook begin."""
    is_notebook = lines[0].strip() == b"{"
    return list(_cell_lines(lines, count) if is_notebook else _section_lines(lines, count))


def _section_lines(lines: Sequence[bytes], count: int) -> Iterator[int]:
    fence = b""
    for index in range(1, count):
        line = lines[index]
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            fence = b"" if fence else mark[1]
        elif fence:
            # In a block of code, a line like a heading is a comment.
            continue
        elif line.startswith(_HEADING_MARKS) and _HEADING.match(line):
            yield index
        elif line and line[0] in _UNDERLINE_MARKS and _UNDERLINE.match(line) and lines[index - 1].strip():
            yield index - 1


def _cell_lines(lines: Sequence[bytes], count: int) -> Iterator[int]:
    for index in range(2, count):
        if _CELL.match(lines[index]) and lines[index - 1].strip() == b"{":
            yield index - 1
