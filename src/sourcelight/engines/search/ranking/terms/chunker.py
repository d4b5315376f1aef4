"""Cut files into chunks that start at definitions, headings or cells.

A change of these rules raises `tokenizer.RULES`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from sourcelight.engines.search.ranking.terms.borders import WITHIN, best_border, line_states

MIN_CHUNK_LINES = 8
MAX_CHUNK_LINES = 64
_MIN_CUT_LINES = 24
_MAX_LEAD_LINES = 60

_LEADS = (b"//", b"/*", b"*", b"#", b"--", b";;", b"@", b"%%")
"""Starts of lines above a definition that belong to it: comments, decorators, attributes."""

_NOT_LEADS = (
    b"#include", b"#endif", b"#if", b"#else", b"#define", b"#undef", b"#pragma", b"#!",
    b"# %%", b"#%%", b"// %%", b"-- %%",  # the line that starts a cell of a percent script
)  # fmt: skip
_HEADING = re.compile(rb"#{1,6} |={1,6} |[^\s`|>*-].{0,100}$")
_FENCE = re.compile(rb" {0,3}(```+|~~~+)")
_CELL = re.compile(rb'\s*"(?:cell_type|attachments)":')
_UNDERLINE = re.compile(rb"([=~^*\"'#+`-])\1{3,}\s*$")


def cut_chunks(
    lines: Sequence[bytes], definition_lines: Sequence[int], *, prose: bool = False, language: str = ""
) -> list[tuple[int, int]]:
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
    list of (int, int)
        First line and the line after the last, from 0; together they cover the file. At most `MAX_CHUNK_LINES` each,
        unless that would cut a longer comment or string.
    """
    count = len(lines)
    if count and not lines[-1]:
        count -= 1

    if not count:
        return []

    starts = _heading_lines(lines, count) if prose else sorted({lead_start(lines, line) for line in definition_lines})
    boundaries = [0]
    for start in starts:
        if start - boundaries[-1] >= MIN_CHUNK_LINES and start < count:
            boundaries.append(start)

    # A tiny last chunk joins the one before: it would rank by its few words alone.
    if len(boundaries) > 1 and count - boundaries[-1] < MIN_CHUNK_LINES // 2:
        boundaries.pop()

    boundaries.append(count)
    chunks: list[tuple[int, int]] = []
    for start_line, end_line in pairwise(boundaries):
        chunks += _split_long(lines, start_line, end_line, language)

    return chunks


def _split_long(lines: Sequence[bytes], start: int, end: int, language: str) -> list[tuple[int, int]]:
    """Cut a chunk that is too long, between two statements."""
    if end - start <= MAX_CHUNK_LINES:
        return [(start, end)]

    chunks = []
    offset = start
    states = line_states(lines, start, end, language)
    while end - start > MAX_CHUNK_LINES:
        middle = best_border(lines, states, offset, range(start + _MIN_CUT_LINES, start + MAX_CHUNK_LINES + 1))
        if middle is None:
            further = range(start + MAX_CHUNK_LINES + 1, min(start + 4 * MAX_CHUNK_LINES, end))
            middle = next((index for index in further if states[index - offset] < WITHIN), further.stop)
        if middle >= end:
            break
        chunks.append((start, middle))
        start = middle

    chunks.append((start, end))
    return chunks


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
    if lines[0].strip() == b"{":
        return _cell_lines(lines, count)

    heading_lines = []
    fence = b""
    for line_index in range(1, count):
        line = lines[line_index]
        mark = _FENCE.match(line)
        if mark is not None and (not fence or mark[1].startswith(fence)):
            # In a block of code, a line like a heading is a comment.
            fence = b"" if fence else mark[1]
        elif fence:
            continue
        elif line.startswith((b"#", b"= ", b"== ", b"=== ")) and _HEADING.match(line):
            heading_lines.append(line_index)
        elif line and line[0] in b"=~^*\"'#+`-" and _UNDERLINE.match(line) and lines[line_index - 1].strip():
            heading_lines.append(line_index - 1)

    return heading_lines


def _cell_lines(lines: Sequence[bytes], count: int) -> list[int]:
    """Return the lines at which the cells of a notebook begin."""
    return [index - 1 for index in range(2, count) if _CELL.match(lines[index]) and lines[index - 1].strip() == b"{"]
