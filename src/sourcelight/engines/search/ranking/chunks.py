"""Cutting a file into chunks: some lines each, from the start of one definition to the start of another."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

LEAST_LINES = 8
MOST_LINES = 64
_LOOK_BACK = 16
_MOST_COMMENT = 30

_LEADS = (b"//", b"/*", b"*", b"#", b"--", b";;", b"@", b"%%")
"""How lines begin that stand above a definition and belong to it: comments, decorators, attributes."""

_NOT_LEADS = (b"#include", b"#endif", b"#if", b"#else", b"#define", b"#undef", b"#pragma", b"#!")
_HEADING = re.compile(rb"#{1,6} |={1,6} |[^\s`|>*-].{0,100}$")
_UNDERLINE = re.compile(rb"([=~^*\"'#+`-])\1{3,}\s*$")


def cut(lines: Sequence[bytes], begins: Sequence[int], *, prose: bool = False) -> list[tuple[int, int]]:
    """Cut a file.

    Parameters
    ----------
    lines
        The lines of the file.
    begins
        Lines, from 0, at which definitions begin.
    prose
        Whether the file is a text with headings, which are cut at in place of definitions.

    Returns
    -------
    list of (int, int)
        First line and the one after the last, from 0; together all lines, at most `MOST_LINES` each.
    """
    count = len(lines)
    if count and not lines[-1]:
        count -= 1
    if not count:
        return []
    starts = _headings(lines, count) if prose else sorted({with_lead(lines, begin) for begin in begins})
    bounds = [0]
    for start in starts:
        if start - bounds[-1] >= LEAST_LINES and start < count:
            bounds.append(start)
    if len(bounds) > 1 and count - bounds[-1] < LEAST_LINES // 2:
        bounds.pop()
    bounds.append(count)
    found: list[tuple[int, int]] = []
    for low, high in pairwise(bounds):
        found += _halved(lines, low, high)
    return found


def _halved(lines: Sequence[bytes], low: int, high: int) -> list[tuple[int, int]]:
    """Cut what is too long, at an empty line where there is one."""
    found = []
    while high - low > MOST_LINES:
        middle = low + MOST_LINES
        for place in range(middle, middle - _LOOK_BACK, -1):
            if not lines[place].strip():
                middle = place
                break
        found.append((low, middle))
        low = middle
    found.append((low, high))
    return found


def with_lead(lines: Sequence[bytes] | Sequence[str], begin: int) -> int:
    """Give the line at which the comments above a definition begin; both count from 0."""
    at = begin
    while at > 0 and begin - at < _MOST_COMMENT:
        line = lines[at - 1].strip()
        text = line.encode("utf-8", "replace") if isinstance(line, str) else line
        if not text.startswith(_LEADS) or text.startswith(_NOT_LEADS):
            break
        at -= 1
    return at


def _headings(lines: Sequence[bytes], count: int) -> list[int]:
    found = []
    for at in range(1, count):
        line = lines[at]
        if line.startswith((b"#", b"= ", b"== ", b"=== ")) and _HEADING.match(line):
            found.append(at)
        elif line and line[0] in b"=~^*\"'#+`-" and _UNDERLINE.match(line) and lines[at - 1].strip():
            found.append(at - 1)
    return found
